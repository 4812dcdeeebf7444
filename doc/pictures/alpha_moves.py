"""Clusters and trees of one instance at several weights."""

import matplotlib.pyplot as plt
from matplotlib.colors import to_hex
from scipy.cluster.hierarchy import dendrogram
from sklearn.datasets import make_moons

from sklearn_linkage_learn import InterpolatedLinkage
from sklearn_linkage_learn.losses import cut_loss

points, labels = make_moons(160, noise=0.1, random_state=19)
colours = [to_hex(plt.get_cmap("tab10")(i)) for i in range(2)]

alphas = [0, 0.05, 0.12, 0.5, 1]
figure, axes = plt.subplots(2, 5, figsize=(9, 4), layout="constrained")
for alpha, (top, bottom) in zip(alphas, axes.T, strict=True):
    clusterer = InterpolatedLinkage(
        n_clusters=2, linkages=("single", "complete"), alpha=alpha
    )
    found = clusterer.fit_predict(points)
    Z = clusterer.linkage_matrix_
    top.scatter(*points.T, c=found, cmap="Set2", vmin=0, vmax=7, s=7)
    title = f"alpha = {alpha}\n{cut_loss(Z, labels):.0%} misplaced"
    top.set_title(title, fontsize="medium")
    top.set(aspect="equal", xticks=[], yticks=[])

    leaves = dendrogram(
        Z, ax=bottom, color_threshold=0, above_threshold_color="0.4", no_labels=True
    )["leaves"]
    depth = Z[-1, 2] / 12
    bottom.bar(
        [10 * i + 5 for i in range(len(leaves))],
        -depth,
        width=10,
        color=[colours[labels[leaf]] for leaf in leaves],
    )
    bottom.set(yticks=[], ylim=(-depth, 1.05 * Z[-1, 2]))
    bottom.spines[:].set_visible(False)
axes[1, 0].set_ylabel("tree, above the\nright clusters")
axes[0, 0].set_ylabel("clusters found")
