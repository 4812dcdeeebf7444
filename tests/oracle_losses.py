"""Losses of cluster trees by plain enumeration, in exact fractions.

A tree is a list of merges ``(left, right)``; the i-th one makes node ``n + i``, where
``n = len(merges) + 1`` is the number of leaves 0..n-1. Every result is a Fraction.
"""

from fractions import Fraction
from itertools import combinations, permutations


def leaves(merges, node):
    """Leaves below a node."""
    n = len(merges) + 1
    if node < n:
        return [node]
    left, right = merges[node - n]
    return leaves(merges, left) + leaves(merges, right)


def prunings(merges, node, size):
    """All ways to divide the subtree of a node into exactly `size` subtrees."""
    n = len(merges) + 1
    if size == 1:
        yield [node]
    elif node >= n:
        left, right = merges[node - n]
        for in_left in range(1, size):
            for first in prunings(merges, left, in_left):
                for second in prunings(merges, right, size - in_left):
                    yield first + second


def counts(merges, node, labels):
    """Number of points of each label below a node, labels in sorted order."""
    below = [labels[leaf] for leaf in leaves(merges, node)]
    return [below.count(label) for label in sorted(set(labels))]


def best_bijection(table):
    """Most points on the diagonal of a square table over all column orders."""
    k = len(table)
    return max(sum(table[i][p[i]] for i in range(k)) for p in permutations(range(k)))


def least_loss(merges, labels, matched):
    """One minus the best matched fraction over all prunings into k subtrees."""
    n, k = len(labels), len(set(labels))
    best = max(
        matched([counts(merges, node, labels) for node in pruning])
        for pruning in prunings(merges, 2 * n - 2, k)
    )
    return Fraction(n - best, n)


def hamming(merges, labels):
    return least_loss(merges, labels, best_bijection)


def majority(merges, labels):
    return least_loss(merges, labels, lambda table: sum(map(max, table)))


def flat(merges, labels):
    """Nodes left when the last k - 1 merges are undone."""
    n, k = len(labels), len(set(labels))
    nodes = set(range(n))
    for i in range(n - k):
        nodes -= set(merges[i])
        nodes.add(n + i)
    return sorted(nodes)


def cut(merges, labels):
    table = [counts(merges, node, labels) for node in flat(merges, labels)]
    return Fraction(len(labels) - best_bijection(table), len(labels))


def flat_labels(merges, labels):
    """Cluster of each point in the flat cut."""
    result = [None] * len(labels)
    for cluster, node in enumerate(flat(merges, labels)):
        for leaf in leaves(merges, node):
            result[leaf] = cluster
    return result


def ari(merges, labels):
    """One minus Hubert and Arabie's index, from the pairs of points."""
    predicted = flat_labels(merges, labels)
    pairs = list(combinations(range(len(labels)), 2))
    together = sum(
        labels[i] == labels[j] and predicted[i] == predicted[j] for i, j in pairs
    )
    in_target = sum(labels[i] == labels[j] for i, j in pairs)
    in_cut = sum(predicted[i] == predicted[j] for i, j in pairs)
    expected = Fraction(in_target * in_cut, len(pairs)) if pairs else Fraction(0)
    largest = Fraction(in_target + in_cut, 2)
    if largest == expected:
        return Fraction(0)
    return 1 - (together - expected) / (largest - expected)


def dendrogram_purity(merges, labels):
    """Mean purity at the lowest common ancestor of all pairs of equal label."""
    n = len(labels)
    purities = []
    for i, j in combinations(range(n), 2):
        if labels[i] == labels[j]:
            # Merges come in order, so the first one above both points is the lowest.
            below = next(
                found
                for found in (leaves(merges, node) for node in range(n, 2 * n - 1))
                if i in found and j in found
            )
            same = sum(labels[leaf] == labels[i] for leaf in below)
            purities.append(Fraction(same, len(below)))
    return sum(purities) / len(purities) if purities else Fraction(1)


# As the package names them: 0 is perfect.
LOSSES = {
    "hamming": hamming,
    "majority": majority,
    "cut": cut,
    "ari": ari,
    "dendrogram_purity": lambda *tree: 1 - dendrogram_purity(*tree),
}
