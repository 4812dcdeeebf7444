"""The execution tree of six points: every run for every weight."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
from small_instance import CLASSES, POINTS, execution_tree

from sklearn_linkage_learn import LearnedLinkage

nodes = list(execution_tree())
merged = sorted({path[-1] for path, _, _ in nodes}, key=lambda name: (len(name), name))
colours = dict(zip(merged, plt.get_cmap("Set3").colors, strict=False))

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(8, 5), height_ratios=[3, 1], sharex=True, layout="constrained"
)
for path, start, stop in nodes:
    row = -len(path)
    box = Rectangle((start, row), stop - start, 1, facecolor=colours[path[-1]])
    box.set(edgecolor="white", linewidth=3)
    top.add_patch(box)
    middle = (start + stop) / 2, row + 0.5
    top.annotate(path[-1], middle, ha="center", va="center")
n_merges = len(POINTS) - 1
top.set(ylim=(-n_merges, 0), yticks=np.arange(-n_merges, 0) + 0.5)
top.set_yticklabels([f"merge {i}" for i in range(n_merges, 0, -1)])
top.tick_params(length=0)
top.spines[:].set_visible(False)

labels = [next(i for i, c in enumerate(CLASSES) if p in c) for p in POINTS]
learner = LearnedLinkage().fit(list(POINTS.values()), labels)
learner.loss_curve_.plot(bottom, linewidth=2)
bottom.set(xlabel="alpha", ylabel="loss", xlim=(0, 1), ylim=(-0.05, 0.45))
