"""One repair of the kinetic engine, and how large all repairs are."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import dendrogram

from sklearn_linkage_learn import InterpolatedLinkage, LearnedLinkage
from sklearn_linkage_learn.datasets import make_digits_instances

LINKAGES = ("single", "complete")
(points,), (labels,) = make_digits_instances(1, n_per_class=9, random_state=0)


def clusters_of(Z):
    """The points of each merged cluster."""
    clusters = [frozenset([i]) for i in range(len(Z) + 1)]
    for left, right in Z[:, :2].astype(int):
        clusters.append(clusters[left] | clusters[right])
    return clusters[len(Z) + 1 :]


def tree_at(alpha):
    clusterer = InterpolatedLinkage(linkages=LINKAGES, alpha=alpha).fit(points)
    return clusterer.linkage_matrix_


# A loss that tells all trees apart has a breakpoint wherever the tree changes.
known = {}


def number(Z, labels):
    return float(known.setdefault(frozenset(clusters_of(Z)), len(known)))


curve = LearnedLinkage(LINKAGES, loss=number).fit(points, labels).loss_curve_
edges = curve.breakpoints
middles = (edges[:-1] + edges[1:]) / 2
trees = [set(clusters_of(tree_at(alpha))) for alpha in middles]
changed = np.array([len(b - a) for a, b in pairwise(trees)])
# A repair that is larger than most, so that there is something to see.
at = int(np.argmax(changed >= 3))


def draw(ax, i, other, colour):
    Z = tree_at(middles[i])
    new = {
        len(points) + row
        for row, cluster in enumerate(clusters_of(Z))
        if cluster not in trees[other]
    }
    dendrogram(
        Z,
        ax=ax,
        no_labels=True,
        link_color_func=lambda node: colour if node in new else "0.75",
    )
    ax.set(yticks=[])
    ax.spines[:].set_visible(False)


figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
draw(axes[0], at, at + 1, "C3")
axes[0].set_title(f"before alpha = {edges[at + 1]:.4f}", fontsize="medium")
draw(axes[1], at + 1, at, "C0")
axes[1].set_title("after it", fontsize="medium")
axes[2].hist(changed, bins=np.arange(0.5, changed.max() + 1), color="0.6")
axes[2].set_title(f"all {len(changed)} repairs", fontsize="medium")
axes[2].set(xlabel=f"new clusters, of {len(points) - 1}", ylabel="repairs")
