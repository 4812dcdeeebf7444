"""
Learn while instances arrive
============================

Instances need not come all at once. `partial_fit` adds some, and the result equals
that of one `fit` on all instances so far. Only the curves of the new ones are computed.
"""

# %%
# One instance a day
# ------------------
#
# Each day brings one labelled instance, two crescents with noise. We note what has been
# learned by then, and how good it is on 200 instances that are kept aside. The curve of
# those is computed once: it tells the loss at any alpha.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from sklearn_linkage_learn import LearnedLinkage

moons = [make_moons(160, noise=0.1, random_state=seed) for seed in range(300)]
X, y = map(list, zip(*moons, strict=True))
aside = LearnedLinkage(("single", "complete"), loss="cut").fit(X[100:], y[100:])

learner = LearnedLinkage(("single", "complete"), loss="cut")
days = np.arange(1, 101)
alphas, starts, stops, losses, losses_aside = [], [], [], [], []
for points, labels in zip(X[:100], y[:100], strict=True):
    learner.partial_fit(points, labels)
    alphas.append(learner.alpha_)
    starts.append(learner.alpha_interval_[0])
    stops.append(learner.alpha_interval_[1])
    losses.append(learner.loss_)
    losses_aside.append(aside.loss_curve_(learner.alpha_))

# %%
# How it settles
# --------------
#
# One instance says little: a wide interval of weights is equally good on it, and its
# middle is good on others only by luck. Each further instance has its own breakpoints,
# so the interval shrinks. That it is narrow does *not* mean that alpha is known as
# well: the optimum still jumps.
#
# The loss on the training instances rises while that on others falls. They meet where
# there are instances enough, not far above the least loss that any alpha has on the
# instances kept aside.

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(7, 5.5), sharex=True, layout="constrained"
)
top.fill_between(days, starts, stops, step="mid", alpha=0.3, label="optimal interval")
top.plot(days, alphas, ".-", linewidth=0.8, label="alpha")
top.set(ylabel="alpha", ylim=(0, 0.3))
top.legend(frameon=False)
bottom.plot(days, losses, label="training instances")
bottom.plot(days, losses_aside, label="instances kept aside")
bottom.axhline(aside.loss_, color="C1", linestyle=":", label="least of all alpha there")
bottom.set(xlabel="instances so far", ylabel="mean loss", ylim=(0, None))
bottom.legend(frameon=False)
plt.show()

# %%
# Nothing is lost by learning bit by bit:

at_once = LearnedLinkage(("single", "complete"), loss="cut").fit(X[:100], y[:100])
print(at_once.alpha_ == learner.alpha_, at_once.loss_curve_ == learner.loss_curve_)
