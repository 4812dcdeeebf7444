"""Curves of single instances, and their mean."""

import matplotlib.pyplot as plt

from sklearn_linkage_learn import LearnedLinkage
from sklearn_linkage_learn.datasets import make_rings_and_disks
from sklearn_linkage_learn.plotting import LossCurveDisplay

X, y = make_rings_and_disks(12, n_per_cluster=50, random_state=0)
learner = LearnedLinkage().fit(X, y)

figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for curve in learner.instance_curves_[:4]:
    curve.plot(ax, color="0.75", linewidth=0.8)
LossCurveDisplay.from_estimator(learner, ax=ax, band=None)
