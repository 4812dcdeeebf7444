"""The mean curve of the same instances by each loss."""

import matplotlib.pyplot as plt

from sklearn_linkage_learn import LearnedLinkage
from sklearn_linkage_learn.datasets import make_digits_instances

X, y = make_digits_instances(20, n_classes=5, n_per_class=40, random_state=0)

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
losses = ["ari", "cut", "dendrogram_purity", "hamming", "majority"]
for i, loss in enumerate(losses):
    learner = LearnedLinkage(("average", "complete"), loss=loss).fit(X, y)
    learner.loss_curve_.plot(ax, color=f"C{i}", label=loss)
    ax.plot(learner.alpha_, learner.loss_, "o", color=f"C{i}", markeredgecolor="white")
ax.set(xlabel="alpha", ylabel="mean loss", xlim=(0, 1), ylim=(0, None))
ax.set_xticks([0, 0.5, 1], ["0\naverage", "0.5", "1\ncomplete"])
ax.legend(frameon=False, ncols=3, loc="lower right", fontsize="small")
