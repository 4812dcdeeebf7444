"""Slow, exact answers to compare the engines with.

Plain Python on `Fraction`: every merge value is computed from the points of the two
clusters, every choice by looking at all cluster pairs. Nothing here is shared with
the package.

Distances may be given as a square matrix or in condensed form, as floats or
Fractions; floats are taken at their exact value. A cluster is a frozenset of point
numbers, a run is a list of merges ``(A, B, height)`` with ``min(A) < min(B)``.

**Order of two cluster pairs.** The nearer one has the smaller value at the given
weights; if equal, the smaller value of the last merge function, then of the one
before it, and so on; if all are equal, the earlier deciding point pair. With weights
``(1 - t, t)`` and ``t < 1``, equal values and a smaller last value mean a smaller
slope, so this is the order just right of ``t``; at ``t = 1`` it is the order just
left of 1.

**Deciding point pair.** As if each distance d(i, j), i < j, were lowered by an
infinitesimal that is by orders of magnitude larger for earlier (i, j): the minimum
is then attained at the earliest of the tied pairs, the maximum at the latest, and of
a mean the earliest pair matters most. Of several merge functions (those of weight
zero as well) the earliest of their deciding pairs counts.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations, count
from math import isqrt


def exact(d):
    """Square list of lists of Fractions, from a square or condensed matrix."""

    def fraction(x):
        return x if isinstance(x, Fraction) else Fraction(float(x))

    if len(d) and hasattr(d[0], "__len__"):
        return [[fraction(x) for x in row] for row in d]
    n = (1 + isqrt(1 + 8 * len(d))) // 2
    square = [[Fraction(0)] * n for _ in range(n)]
    for (i, j), x in zip(combinations(range(n), 2), d, strict=True):
        square[i][j] = square[j][i] = fraction(x)
    return square


def point_pairs(A, B):
    """All (i, j) with i < j, one from each cluster."""
    return [(min(a, b), max(a, b)) for a in A for b in B]


def rank(weights, values, pair):
    """Sort key of a cluster (or point) pair: smaller is nearer."""
    return (weigh(weights, values), *reversed(values), pair)


def weigh(weights, values):
    return sum(w * v for w, v in zip(weights, values, strict=True))


def point_lines(metrics, A, B):
    """The distances of each point pair under all metrics, with the pair."""
    return [(tuple(d[i][j] for d in metrics), (i, j)) for i, j in point_pairs(A, B)]


def merge_line(metrics, beta, linkage, A, B):
    """One merge function under each metric, and its deciding point pair.

    The minimum or maximum is that of the metrics mixed by `beta`. Ward's criterion
    takes the metrics to be squared distances.
    """
    lines = point_lines(metrics, A, B)
    if linkage == "single":
        return min(lines, key=lambda line: rank(beta, *line))
    if linkage == "complete":
        return max(lines, key=lambda line: rank(beta, *line))
    measure = {"average": mean, "ward": ward}[linkage]
    return tuple(measure(d, A, B) for d in metrics), min(pair for _, pair in lines)


def mean(d, A, B):
    return sum(d[i][j] for i, j in point_pairs(A, B)) / Fraction(len(A) * len(B))


def ward(d, A, B):
    """How much the sum of squares about the centroids grows in the merge."""

    def scatter(C):
        return sum((d[i][j] for i, j in combinations(C, 2)), Fraction(0)) / len(C)

    return scatter(A | B) - scatter(A) - scatter(B)


def family(metrics, beta, linkages):
    """`measure(A, B)`: all merge functions under all metrics, and the deciding pair.

    It depends on the two point sets only, so that results may be cached.
    """

    @cache
    def measure(A, B):
        found = [merge_line(metrics, beta, linkage, A, B) for linkage in linkages]
        values = tuple(value for line, _ in found for value in line)
        return values, min(pair for _, pair in found)

    return measure


def singletons(n):
    return [frozenset({i}) for i in range(n)]


def merged(clusters, A, B):
    """The clusters after merging A and B, ordered by first point."""
    return sorted([C for C in clusters if C not in (A, B)] + [A | B], key=min)


def nearest_pair(clusters, measure, weights):
    pairs = combinations(clusters, 2)
    return min(pairs, key=lambda pair: rank(weights, *measure(*pair)))


def greedy_steps(n, measure, weights):
    """Yield (clusters alive, A, B) for each merge of the nearest pair."""
    clusters = singletons(n)
    while len(clusters) > 1:
        A, B = nearest_pair(clusters, measure, weights)
        yield clusters, A, B
        clusters = merged(clusters, A, B)


def run_of(n, measure, weights):
    return [
        (A, B, weigh(weights, measure(A, B)[0]))
        for _, A, B in greedy_steps(n, measure, weights)
    ]


def line_weights(t):
    return 1 - Fraction(t), Fraction(t)


def greedy(d, linkages, t):
    """The paper's Algorithm 1 for two merge functions at t."""
    return greedy_weighted([d], [1], linkages, line_weights(t))


def greedy_metric(d0, d1, linkage, b):
    """The same for two metrics and one merge function at b."""
    return greedy_weighted([d0, d1], line_weights(b), [linkage], [1])


def greedy_weighted(d_list, beta, linkages, alpha):
    """Algorithm 1 for any number of merge functions and metrics."""
    metrics = [exact(d) for d in d_list]
    alpha, beta = [Fraction(w) for w in alpha], [Fraction(w) for w in beta]
    weights = [a * b for a in alpha for b in beta]
    return run_of(len(metrics[0]), family(metrics, beta, linkages), weights)


def breakpoints_and_runs(d, linkages):
    """Maximal intervals of one merge sequence: [(start, end, run at start)].

    An interval holds its start; the last one holds 1 as well.
    """
    d = exact(d)
    measure = family([d], [1], linkages)
    return sweep(len(d), lambda t: measure, lambda A, B: [measure(A, B)[0]])


def breakpoints_and_runs_metric(d0, d1, linkage):
    """The same for one merge function on two metrics."""
    metrics = exact(d0), exact(d1)

    def measure_at(t):
        return family(metrics, line_weights(t), [linkage])

    def lines(A, B):
        if linkage in ("single", "complete"):
            return [line for line, _ in point_lines(metrics, A, B)]
        return [merge_line(metrics, None, linkage, A, B)[0]]

    return sweep(len(metrics[0]), measure_at, lines)


def sweep(n, measure_at, lines):
    """Run at t, go to the first crossing of a chosen line with any other, repeat."""
    pieces, t = [], Fraction(0)
    while t < 1:
        measure, weights = measure_at(t), line_weights(t)
        run, end = [], Fraction(1)
        for clusters, A, B in greedy_steps(n, measure, weights):
            chosen, _ = measure(A, B)
            run.append((A, B, weigh(weights, chosen)))
            for pair in combinations(clusters, 2):
                for other in lines(*pair):
                    c = crossing(chosen, other)
                    if c is not None and t < c < end:
                        end = c
        if pieces and order_of(pieces[-1][2]) == order_of(run):
            pieces[-1] = (pieces[-1][0], end, pieces[-1][2])
        else:
            pieces.append((t, end, run))
        t = end
    return pieces


def crossing(p, q):
    """Where (1-t) p[0] + t p[1] equals (1-t) q[0] + t q[1]; None if parallel."""
    at_0, at_1 = p[0] - q[0], p[1] - q[1]
    return None if at_0 == at_1 else at_0 / (at_0 - at_1)


def curve(d, linkages, loss):
    """Breakpoints 0 = b_0 < ... < b_M = 1 and the M values of `loss(merges)`."""
    return curve_of(breakpoints_and_runs(d, linkages), loss)


def curve_of(pieces, loss):
    """The same from any list of (start, end, run)."""
    breakpoints, values = [Fraction(0)], []
    for _, end, run in pieces:
        value = loss(run)
        if values and values[-1] == value:
            breakpoints[-1] = end
        else:
            breakpoints.append(end)
            values.append(value)
    return breakpoints, values


def order_of(merges):
    """The merges without their heights."""
    return [(A, B) for A, B, *_ in merges]


def tree_of(merges):
    """The leaf sets of all inner nodes, whatever the order of the merges."""
    return frozenset(A | B for A, B, *_ in merges)


def children(merges):
    """Node numbers of each merge as in scipy: leaves first, then merges in order."""
    n = len(merges) + 1
    number = dict(zip(singletons(n), count()))
    rows = []
    for A, B, *_ in merges:
        rows.append(tuple(sorted((number[A], number[B]))))
        number[A | B] = len(number)
    return rows


def mutual_nearest_pairs(clusters, measure, weights):
    """All pairs that are nearest to each other, in the order of `clusters`."""

    def nearest(A):
        others = [C for C in clusters if C != A]
        return min(others, key=lambda C: rank(weights, *measure(A, C)))

    return [
        (A, B)
        for A, B in combinations(clusters, 2)
        if nearest(A) == B and nearest(B) == A
    ]


def mutual_nearest_run(d, linkages, t, choose):
    """Merge mutually nearest pairs; `choose` takes one from a list of them."""
    d, weights = exact(d), line_weights(t)
    measure, clusters, run = family([d], [1], linkages), singletons(len(d)), []
    while len(clusters) > 1:
        A, B = choose(mutual_nearest_pairs(clusters, measure, weights))
        run.append((A, B, weigh(weights, measure(A, B)[0])))
        clusters = merged(clusters, A, B)
    return run


def is_greedy_run(d, linkages, t, merges):
    """Whether each merge joins the nearest of all pairs alive, down to one cluster."""
    return follows(d, linkages, t, merges, lambda *alive: [nearest_pair(*alive)])


def is_mutual_nearest_run(d, linkages, t, merges):
    """Whether each merge joins two clusters that are nearest to each other."""
    return follows(d, linkages, t, merges, mutual_nearest_pairs)


def follows(d, linkages, t, merges, allowed):
    d, weights = exact(d), line_weights(t)
    measure, clusters = family([d], [1], linkages), singletons(len(d))
    for A, B, *_ in merges:
        pairs = allowed(clusters, measure, weights) if len(clusters) > 1 else []
        if {A, B} not in [set(pair) for pair in pairs]:
            return False
        clusters = merged(clusters, A, B)
    return len(clusters) == 1
