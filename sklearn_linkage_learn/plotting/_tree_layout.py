"""Where the parts of a cluster tree are drawn.

Nothing is recursive: a tree may be as deep as it has points.
"""

import numpy as np


def leaf_places(Z):
    """Place of each leaf when the tree is drawn, left children to the left."""
    n = len(Z) + 1
    children = Z[:, :2].astype(np.intp)
    sizes = np.ones(2 * n - 1, dtype=np.intp)
    for i, (left, right) in enumerate(children):
        sizes[n + i] = sizes[left] + sizes[right]
    first = np.zeros(2 * n - 1, dtype=np.intp)
    # Parents come after their children.
    for i in range(n - 2, -1, -1):
        left, right = children[i]
        first[left] = first[n + i]
        first[right] = first[n + i] + sizes[left]
    return first[:n]


def last_merges(Z, n_leaves):
    """The tree above the first merges, and the points of each of its leaves."""
    n = len(Z) + 1
    done = n - n_leaves
    members = {i: [i] for i in range(n)}
    for i, (left, right) in enumerate(Z[:done, :2].astype(np.intp).tolist()):
        # The longer list grows, so that all of them take O(n log n).
        small, large = sorted((members.pop(left), members.pop(right)), key=len)
        large += small
        members[n + i] = large
    # Nodes of the tree above: what is left, by first point, and the merges.
    left_over = sorted(members, key=lambda node: min(members[node]))
    number = np.zeros(2 * n - 1, dtype=np.intp)
    number[left_over] = np.arange(n_leaves)
    number[n + done :] = np.arange(n_leaves, 2 * n_leaves - 1)
    tree = Z[done:].copy()
    tree[:, :2] = number[Z[done:, :2].astype(np.intp)]
    return tree, [np.sort(members[node]) for node in left_over]


def links(tree, places, codes):
    """The line of each merge, and its class or -1."""
    n = len(places)
    x = np.append(places + 0.5, np.zeros(n - 1))
    height = np.append(np.zeros(n), tree[:, 2])
    codes = np.append(codes, np.full(n - 1, -1))
    shapes = np.empty((n - 1, 4, 2))
    for i, (left, right) in enumerate(tree[:, :2].astype(np.intp)):
        node = n + i
        x[node] = (x[left] + x[right]) / 2
        codes[node] = codes[left] if codes[left] == codes[right] else -1
        shapes[i, :, 0] = x[left], x[left], x[right], x[right]
        shapes[i, :, 1] = height[left], height[node], height[node], height[right]
    return shapes, codes[n:]


def separating_height(Z, n_clusters):
    """A height above all merges that make the clusters and below those that join."""
    done = len(Z) + 1 - n_clusters
    low, high = Z[:done, 2].max(initial=0.0), Z[done:, 2].min()
    return (low + high) / 2 if low < high else None
