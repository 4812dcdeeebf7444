"""
Look at what was learned
========================

Three pictures answer three questions. How good is every mix, on all instances? What
does the learned mix do on one instance? And what would others have done?
"""

# %%
# Thirty instances of two crescents to learn from, and a new one.

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from sklearn_linkage_learn import LearnedLinkage
from sklearn_linkage_learn.plotting import (
    ClusterStripDisplay,
    DendrogramDisplay,
    LossCurveDisplay,
)

moons = [make_moons(160, noise=0.1, random_state=seed) for seed in range(60)]
X, y = map(list, zip(*moons, strict=True))
X_new, y_new = X[34], y[34]
learner = LearnedLinkage(("single", "complete"), loss="cut").fit(X[:30], y[:30])

# %%
# All instances: the loss curve
# -----------------------------
#
# The mean loss at every alpha, and the range in which half of the instances lie. Look
# for three things. Is the optimum inside, or at an end? Is the valley wide, or a narrow
# dip that other instances may not have? And how far apart are the instances?

LossCurveDisplay.from_estimator(learner)
plt.show()

# %%
# Several learners go into one picture. Here are other linkages, on the same instances.

average = LearnedLinkage(("average", "complete"), loss="cut").fit(X[:30], y[:30])
learners = {"single + complete": learner, "average + complete": average}
LossCurveDisplay.from_estimators(learners, band=None)
plt.show()

# %%
# One instance: the tree
# ----------------------
#
# The tree at the learned alpha. Below the leaves are the right classes, and a merge has
# the colour of its class as long as it is pure. Grey merges below the dashed line are
# mistakes of the flat clusters; grey merges above it are to be undone.

DendrogramDisplay.from_estimator(learner, X_new, y_new)
plt.show()

# %%
# One instance: its clusters at every alpha
# -----------------------------------------
#
# A row is a point, and its colour is its cluster. The picture is exact: colours change
# where the clusters do. Left of the learned alpha, single linkage has joined the
# crescents. Right of it they are cut in pieces.

ClusterStripDisplay.from_estimator(learner, X_new, y_new)
plt.show()

# sphinx_gallery_thumbnail_number = 4
