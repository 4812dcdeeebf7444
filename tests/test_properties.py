"""Engines, runs and fractions agree on whatever instance hypothesis comes up with."""

import numpy as np
import pytest
from cases import Case, check, check_with_fractions
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from test_families import PAIRS
from test_metric_families import LINKAGES

from sklearn_linkage_learn import (
    LearnedLinkage,
    LearnedMetricLinkage,
)
from sklearn_linkage_learn.losses import LOSSES

FAMILIES = [*PAIRS, *((linkage,) for linkage in LINKAGES)]


def last_bit(step):
    """A neighbour of one."""
    return float((np.float64(1).view(np.int64) + step).view(np.float64))


# Each makes a distance of a small integer, so that equal ones are frequent.
VALUES = {
    "integers": float,
    "smallest": lambda i: i * 5e-324,
    "last bit": lambda i: last_bit(i - 2),
    "almost parallel": lambda i: i % 3 + (i // 3) * 2.0**-50,
    "powers": lambda i: 2.0 ** (-60 * i),
    "thirds": lambda i: i / 3,
}


@st.composite
def of_values(draw, n):
    """Any dissimilarities, of few different values or of all kinds."""
    n_pairs = n * (n - 1) // 2
    kind = draw(st.sampled_from([*VALUES, "floats"]))
    if kind == "floats":
        sizes = st.floats(1e-100, 1) | st.just(0.0)
        return draw(st.lists(sizes, min_size=n_pairs, max_size=n_pairs))
    steps = st.integers(0, draw(st.integers(1, 6)))
    drawn = draw(st.lists(steps, min_size=n_pairs, max_size=n_pairs))
    return [VALUES[kind](i) for i in drawn]


@st.composite
def of_points(draw, n):
    """Points of a small grid: duplicated, on a line, at equal distances."""
    dimension = draw(st.integers(1, 3))
    place = st.tuples(*[st.integers(0, 3)] * dimension)
    points = draw(st.lists(place, min_size=n, max_size=n))
    return pdist(points).tolist() if n > 1 else []


@st.composite
def cases(draw, linkages, max_points):
    n = draw(st.integers(1, max_points))
    labels = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    euclidean = linkages == ("ward",)
    kind = of_points(n) if euclidean else of_points(n) | of_values(n)
    unit = draw(st.sampled_from([1.0, 0.1, 1e-300, 1e300]))
    distances = [unit * np.array(draw(kind)) for _ in range(3 - len(linkages))]
    # Larger spans are refused.
    positive = [d[d > 0] for d in distances if d.any()]
    if positive:
        positive = np.concatenate(positive)
        assume(np.log2(positive.max()) - np.log2(positive.min()) < 1000)
    if not euclidean and draw(st.booleans()):
        # Points of different classes at no distance at all.
        i, j = np.triu_indices(n, 1)
        apart = np.not_equal(*np.array(labels)[[i, j]])
        distances = [np.where(apart, 0.0, d) for d in distances]
    normalize = [None]
    if len(linkages) == 1:
        normalize += ["mean", "max", "instance_max"]
    case = Case(
        tuple(tuple(d.tolist()) for d in distances),
        tuple(labels),
        linkages,
        draw(st.sampled_from(list(LOSSES))),
        draw(st.sampled_from(normalize)),
    )
    return case


@pytest.mark.parametrize("linkages", FAMILIES, ids="-".join)
@given(data=st.data())
def test_engines_and_runs_agree_with_fractions(linkages, data):
    check_with_fractions(data.draw(cases(linkages, max_points=6)))


@pytest.mark.parametrize("linkages", FAMILIES, ids="-".join)
@given(data=st.data())
def test_engines_and_runs_agree(linkages, data):
    check(data.draw(cases(linkages, max_points=14)))


@pytest.mark.parametrize(
    "linkages", [f for f in FAMILIES if f != ("ward",)], ids="-".join
)
@given(data=st.data())
@settings(max_examples=30)
def test_estimators_do_what_is_checked_of_their_families(linkages, data):
    case = data.draw(cases(linkages, max_points=8))
    if len(linkages) == 2:
        learner = LearnedLinkage(linkages, metric="precomputed", loss=case.loss)
    else:
        learner = LearnedMetricLinkage(
            "precomputed", linkage=linkages[0], normalize=case.normalize, loss=case.loss
        )
    learner.fit([case.points], [case.labels])
    family, curve = case.learn("kinetic")
    assert learner.instance_curves_ == [curve]
    best = getattr(learner, f"{learner._parameter}_")
    tree = family.tree(case.points, best)
    np.testing.assert_array_equal(learner.linkage_matrix(case.points), tree)
    clusterer = learner.clusterer_.fit(case.points)
    np.testing.assert_array_equal(clusterer.linkage_matrix_, tree)
