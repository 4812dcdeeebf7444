"""
Learn a linkage on rings and disks
==================================

Single linkage finds rings, and chains disks that touch into one cluster. Complete
linkage finds disks, and cuts rings in pieces. An instance that has both needs a mix of
the two. How much of each is learned from instances whose clustering is known.
"""

# %%
# The data
# --------
#
# An instance is a whole data set: two rings and two disks. All instances come from one
# distribution, and no two of them are the same.

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import to_tree
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from sklearn_linkage_learn import InterpolatedLinkage, LearnedLinkage
from sklearn_linkage_learn.datasets import make_rings_and_disks
from sklearn_linkage_learn.plotting import LossCurveDisplay

X, y = make_rings_and_disks(40, n_per_cluster=100, random_state=0)
X_train, y_train, X_new, y_new = X[:20], y[:20], X[20:], y[20:]

# %%
# Learn
# -----
#
# The learner computes the loss of *every* mix on all twenty instances. The mean of
# these curves is exact: between two breakpoints nothing changes.

learner = LearnedLinkage(("single", "complete")).fit(X_train, y_train)
print(learner.loss_curve_)
print(f"alpha = {learner.alpha_:.4f}, the middle of {learner.alpha_interval_}")

# %%
# All mixes from 0.1 to 0.25 are nearly equally good. Both ends misplace a fifth of the
# points or more.

LossCurveDisplay.from_estimator(learner)
plt.show()

# %%
# Cluster new instances
# ---------------------
#
# On instances that it has never seen, the learned mix does as well.

print(f"mean loss on new instances: {1 - learner.score(X_new, y_new):.3f}")

# %%
# What the Hamming loss promises
# ------------------------------
#
# The loss is that of the best *pruning* of the tree: four subtrees that hold all
# points, wherever they are in the tree. The tree has the right clusters in it. Which
# subtrees they are is only known with the labels, or to a person who looks at the tree.
# `predict` does not know: it undoes the last three merges. That is called a cut.
#
# There are few prunings into four subtrees, so we can try all of them.


def prunings(node, k):
    """Yield all ways to split a node into k subtrees."""
    if k == 1:
        yield [node]
    elif not node.is_leaf():
        for i in range(1, k):
            for left in prunings(node.left, i):
                for right in prunings(node.right, k - i):
                    yield left + right


def labels_of(pruning, n_points):
    labels = np.empty(n_points, dtype=int)
    for cluster, node in enumerate(pruning):
        labels[node.pre_order()] = cluster
    return labels


def misplaced(labels, target):
    counts = contingency_matrix(target, labels)
    return 1 - counts[linear_sum_assignment(-counts)].sum() / len(target)


def best_pruning(Z, target):
    candidates = [labels_of(p, len(target)) for p in prunings(to_tree(Z), 4)]
    return min(candidates, key=lambda labels: misplaced(labels, target))


# %%
# A new instance at single linkage, at the learned mix, and at complete linkage: the
# best pruning above, and what `predict` returns below.

figure, axes = plt.subplots(2, 3, figsize=(9, 5), layout="constrained")
for column, alpha in zip(axes.T, [0, learner.alpha_, 1], strict=True):
    clusterer = InterpolatedLinkage(
        n_clusters=4, linkages=("single", "complete"), alpha=alpha
    )
    cut = clusterer.fit_predict(X_new[0])
    pruned = best_pruning(clusterer.linkage_matrix_, y_new[0])
    column[0].set_title(f"alpha = {alpha:.3f}")
    for ax, labels in zip(column, [pruned, cut], strict=True):
        ax.scatter(*X_new[0].T, c=labels, cmap="tab10", vmax=9, s=8)
        ax.set(aspect="equal", xticks=[], yticks=[])
        ax.set_xlabel(f"{misplaced(labels, y_new[0]):.0%} misplaced")
axes[0, 0].set_ylabel("best pruning")
axes[1, 0].set_ylabel("cut")
plt.show()

# %%
# If flat clusters are what you want, learn with a loss that judges flat clusters. Rings
# and disks are hard for cuts: with `loss="cut"` no mix is good, and the curve says so.

flat = LearnedLinkage(("single", "complete"), loss="cut").fit(X_train, y_train)
LossCurveDisplay.from_estimator(flat)
plt.show()

# sphinx_gallery_thumbnail_number = 2
