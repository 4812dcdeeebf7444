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
# Each day brings one labelled instance. We note what has been learned by then, and how
# good it is on a hundred instances that are kept aside.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_linkage_learn import LearnedLinkage
from sklearn_linkage_learn.datasets import make_rings_and_disks

X, y = make_rings_and_disks(60, n_per_cluster=50, random_state=0)
X_aside, y_aside = make_rings_and_disks(100, n_per_cluster=50, random_state=1)

learner = LearnedLinkage(("single", "complete"))
days = np.arange(1, len(X) + 1)
alphas, starts, stops, losses, losses_aside = [], [], [], [], []
for points, labels in zip(X, y, strict=True):
    learner.partial_fit(points, labels)
    alphas.append(learner.alpha_)
    starts.append(learner.alpha_interval_[0])
    stops.append(learner.alpha_interval_[1])
    losses.append(learner.loss_)
    losses_aside.append(1 - learner.score(X_aside, y_aside))

# %%
# How it settles
# --------------
#
# One instance says little: a wide interval of weights is equally good on it, and its
# middle need not be good on others. Each further instance has its own breakpoints, so
# the interval shrinks. That it is narrow does *not* mean that alpha is known as well:
# the curve is flat around it, and the optimum may still jump.
#
# The loss on the training instances rises while that on others falls. They meet where
# there are instances enough.

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(7, 5.5), sharex=True, layout="constrained"
)
top.fill_between(days, starts, stops, step="mid", alpha=0.3, label="optimal interval")
top.plot(days, alphas, ".-", linewidth=0.8, label="alpha")
top.set(ylabel="alpha", ylim=(0, 0.4))
top.legend(frameon=False)
bottom.plot(days, losses, label="training instances")
bottom.plot(days, losses_aside, label="instances kept aside")
bottom.set(xlabel="instances so far", ylabel="mean loss", ylim=(0, None))
bottom.legend(frameon=False)
plt.show()

# %%
# Nothing is lost by learning bit by bit:

at_once = LearnedLinkage(("single", "complete")).fit(X, y)
print(at_once.alpha_ == learner.alpha_, at_once.loss_curve_ == learner.loss_curve_)
