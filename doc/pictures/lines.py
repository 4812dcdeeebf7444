"""Distances of clusters as lines: which pair is nearest depends on alpha."""

from itertools import combinations

import matplotlib.pyplot as plt
from small_instance import CLASSES, POINTS, line, merges

clusters = ["a", "bd", "c", "e", "f"]
figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3.4), width_ratios=[1, 1.4], layout="constrained"
)

for i, names in enumerate(CLASSES):
    left.scatter(*zip(*[POINTS[p] for p in names], strict=True), c=f"C{i}", s=50)
for name, (x, y) in POINTS.items():
    left.annotate(name, (x, y), xytext=(6, 4), textcoords="offset points")
left.plot(
    *zip(POINTS["b"], POINTS["d"], strict=True), color="0.7", linewidth=8, zorder=0
)
left.set(aspect="equal", xticks=[], yticks=[], xlim=(3, 23), ylim=(-1, 12))
left.set_title("six points, of which b and d are merged", fontsize="medium")

for pair in combinations(clusters, 2):
    right.plot([0, 1], line(*pair), color="0.85", linewidth=1)
for i, (pair, start, stop) in enumerate(merges(clusters, 0.0, 1.0)):
    low, high = line(*pair)
    name = f"{pair[0]} and {pair[1]}"
    right.plot([0, 1], [low, high], color=f"C{i + 2}", linewidth=1, label=name)
    ends = [low + t * (high - low) for t in (start, stop)]
    right.plot([start, stop], ends, color=f"C{i + 2}", linewidth=4)
    if stop < 1:
        right.axvline(stop, color="0.4", linestyle=":", linewidth=1)
right.set(xlabel="alpha", ylabel="distance of two clusters", xlim=(0, 1), ylim=(3, 14))
right.legend(title="nearest", frameon=False, loc="upper left")
right.set_title("the next merge is the lowest line", fontsize="medium")
