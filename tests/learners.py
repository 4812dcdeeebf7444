"""What tests of all learners share: instances, learners, and what they have learned."""

from functools import partial

import numpy as np
from sklearn.datasets import make_moons

from sklearn_linkage_learn import LearnedLinkage, LearnedMetricLinkage

# Each takes the parameters that all learners have.
LEARNERS = {
    "linkage": LearnedLinkage,
    "metric": LearnedMetricLinkage,
    "scaled metric": partial(LearnedMetricLinkage, normalize="mean"),
}


def make_instances(n_instances=5, n=16, seed=0):
    """Noisy moons: neither linkage is right for all of them."""
    made = [
        make_moons(n + i, noise=0.15, random_state=100 * seed + i)
        for i in range(n_instances)
    ]
    return [X for X, _ in made], [y for _, y in made]


X, Y = make_instances()


def object_array(items):
    out = np.empty(len(items), dtype=object)
    out[:] = items
    return out


def weight(learner):
    """The learned parameter and its interval."""
    name = "alpha" if isinstance(learner, LearnedLinkage) else "beta"
    return getattr(learner, f"{name}_"), getattr(learner, f"{name}_interval_")


def learned(learner):
    """All that a learner has learned."""
    names = (
        "loss_",
        "loss_curve_",
        "instance_curves_",
        "n_clusters_",
        "n_instances_",
        "algorithm_",
    )
    found = {name: getattr(learner, name) for name in names}
    return {
        **found,
        "instance_weight": learner.instance_weight_.tolist(),
        "weight": weight(learner),
        "scales": getattr(learner, "scales_", None),
    }


def midpoints(curve):
    return (curve.breakpoints[1:] + curve.breakpoints[:-1]) / 2
