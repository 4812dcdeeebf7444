"""The best pruning of a tree need not be a cut of it."""

import matplotlib.pyplot as plt
from scipy.cluster.hierarchy import dendrogram

from sklearn_linkage_learn import InterpolatedLinkage
from sklearn_linkage_learn.losses import cut_loss, hamming_loss

points = [[0.0], [1.0], [2.2], [3.1], [6.0], [7.2], [8.0], [16.0], [22.0], [27.0]]
classes = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]
clusterer = InterpolatedLinkage(n_clusters=3, linkages="single").fit(points)
Z = clusterer.linkage_matrix_

leaves = [{i} for i in range(len(points))]
for left, right in clusterer.children_:
    leaves.append(leaves[left] | leaves[right])


def draw(ax, groups, title):
    """Colour what lies inside one of the groups."""

    def colour(node):
        inside = {groups[leaf] for leaf in leaves[node]}
        return f"C{inside.pop()}" if len(inside) == 1 else "0.75"

    order = dendrogram(Z, ax=ax, link_color_func=colour)["leaves"]
    ax.set_xticklabels(["ABC"[classes[leaf]] for leaf in order])
    for tick, leaf in zip(ax.get_xticklabels(), order, strict=True):
        tick.set(color=colour(leaf), fontweight="bold")
    ax.set(yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_title(title, fontsize="medium")


figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
draw(axes[0], classes, f"best pruning: Hamming loss {hamming_loss(Z, classes):.1f}")
draw(
    axes[1], clusterer.labels_, f"cut at a height: cut loss {cut_loss(Z, classes):.1f}"
)
axes[1].axhline((Z[-3, 2] + Z[-2, 2]) / 2, color="0.4", linestyle=":")
