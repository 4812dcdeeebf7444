"""What was learned on the crescents of "Getting started"."""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from sklearn_linkage_learn import LearnedLinkage
from sklearn_linkage_learn.plotting import LossCurveDisplay

moons = [make_moons(160, noise=0.1, random_state=seed) for seed in range(30)]
learner = LearnedLinkage(loss="cut").fit(*map(list, zip(*moons, strict=True)))
_, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
LossCurveDisplay.from_estimator(learner, ax=ax)
