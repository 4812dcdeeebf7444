"""Labelled instances to learn from, and a new one that is clustered."""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from sklearn_linkage_learn import LearnedLinkage

moons = [make_moons(160, noise=0.1, random_state=seed) for seed in range(35)]
X, y = zip(*moons, strict=True)
learner = LearnedLinkage(loss="cut").fit(X[:30], y[:30])

figure, axes = plt.subplots(
    1, 5, figsize=(9, 1.8), sharex=True, sharey=True, layout="constrained"
)
style = {"cmap": "tab10", "vmin": 0, "vmax": 9, "s": 7}
for i, ax in enumerate(axes[:3]):
    ax.scatter(*X[i].T, c=y[i], **style)
    ax.set_title(f"X[{i}], y[{i}]", fontsize="medium")
axes[3].scatter(*X[34].T, color="0.6", s=style["s"])
axes[3].set_title("a new instance", fontsize="medium")
axes[4].scatter(*X[34].T, c=learner.predict(X[34]), **style)
axes[4].set_title("predict", fontsize="medium")
for ax in axes:
    ax.set(aspect="equal", xticks=[], yticks=[])
