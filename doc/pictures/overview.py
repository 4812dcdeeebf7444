"""Labelled instances, the curve that is learned from them, and a new instance."""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from sklearn_linkage_learn import LearnedLinkage
from sklearn_linkage_learn.plotting import LossCurveDisplay

moons = [make_moons(160, noise=0.1, random_state=seed) for seed in range(60)]
X, y = zip(*moons, strict=True)
learner = LearnedLinkage(("single", "complete"), loss="cut").fit(X[:30], y[:30])

figure, axes = plt.subplot_mosaic(
    [["a", "curve", "new"], ["b", "curve", "clustered"]],
    figsize=(9, 3.4),
    width_ratios=[1, 2, 1],
    layout="constrained",
)
style = {"cmap": "tab10", "vmin": 0, "vmax": 9, "s": 7}
axes["a"].scatter(*X[3].T, c=y[3], **style)
axes["b"].scatter(*X[19].T, c=y[19], **style)
axes["new"].scatter(*X[34].T, color="0.6", s=style["s"])
axes["clustered"].scatter(*X[34].T, c=learner.predict(X[34]), **style)
titles = {
    "a": "instances with\nknown clusters",
    "curve": "the mean loss at every alpha",
    "new": "a new instance,\nclustered at the optimum",
}
for name, title in titles.items():
    axes[name].set_title(title, fontsize="medium")
for name in ("a", "b", "new", "clustered"):
    axes[name].set(aspect="equal", xticks=[], yticks=[])
LossCurveDisplay.from_estimator(learner, ax=axes["curve"])
