"""What tests of all learners share: instances, learners, and what they have learned."""

import copy
from functools import partial

import numpy as np
import pytest
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
        "weight": weight(learner),
        "scales": getattr(learner, "scales_", None),
    }


def midpoints(curve):
    return (curve.breakpoints[1:] + curve.breakpoints[:-1]) / 2


def assert_failures_change_nothing(make, params, args, error, message):
    """Neither an unfitted nor a fitted learner is changed by a fit that fails."""
    unfitted = make(**params)
    before = vars(unfitted).copy()
    for method in (unfitted.fit, unfitted.partial_fit, unfitted.fit_predict):
        if method == unfitted.fit_predict and args[1] is None:
            continue
        with pytest.raises(error, match=message):
            method(*args[:2], **dict(zip(["groups"], args[2:], strict=False)))
    assert vars(unfitted) == before

    learner = make().fit(X[:2], Y[:2]).set_params(**params)
    before = vars(learner).copy()
    state = copy.deepcopy(learned(learner))
    for method in (learner.fit, learner.partial_fit):
        # Another family is refused before its instances are looked at.
        allowed = "another family" if params and method == learner.partial_fit else ""
        wanted = (ValueError, error) if allowed else error
        with pytest.raises(
            wanted, match=f"{message}|{allowed}" if allowed else message
        ):
            method(*args)
    assert vars(learner) == before
    assert learned(learner) == state
