"""Same input, same output, bit for bit."""

import hashlib
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest
from learners import X, Y, make_instances, weight

import sklearn_linkage_learn
from sklearn_linkage_learn import LearnedLinkage, LearnedMetricLinkage

LEARNERS = {
    "single-complete": LearnedLinkage,
    "average-complete": partial(LearnedLinkage, ("average", "complete")),
    "single-average": partial(LearnedLinkage, ("single", "average")),
    **{
        f"metric, {linkage}": partial(LearnedMetricLinkage, linkage=linkage)
        for linkage in ("single", "complete", "average")
    },
    **{
        f"metric, normalize={normalize}": partial(
            LearnedMetricLinkage, normalize=normalize
        )
        for normalize in ("mean", "max", "instance_max")
    },
}
NEW_X, NEW_Y = make_instances(n_instances=3, seed=1)


def bits_of_curve(curve):
    return [part.tobytes() for part in (curve.breakpoints, curve.values, curve.lower)]


def bits(learner):
    """All that a learner knows of a collection, and what it makes of new instances."""
    best, interval = weight(learner)
    numbers = best, *interval, learner.loss_, *(getattr(learner, "scales_", ()) or ())
    return [
        bits_of_curve(learner.loss_curve_),
        [float(number).hex() for number in numbers],
        [labels.tobytes() for labels in learner.predict(NEW_X)],
        [tree.tobytes() for tree in learner.linkage_matrix(NEW_X)],
        learner.score(X, Y).hex(),
    ]


def bits_of_instances(learner):
    return [bits_of_curve(curve) for curve in learner.instance_curves_]


def all_bits(learner):
    return bits(learner), bits_of_instances(learner)


def digest_of_all():
    """One string for what all learners find."""
    found = [all_bits(make().fit(X, Y)) for make in LEARNERS.values()]
    return hashlib.sha256(repr(found).encode()).hexdigest()


@pytest.fixture(scope="module", params=LEARNERS)
def make(request):
    return LEARNERS[request.param]


@pytest.fixture(scope="module")
def expected(make):
    return all_bits(make().fit(X, Y))


@pytest.mark.parametrize("n_jobs", [2, 4, -1])
def test_results_do_not_depend_on_the_number_of_threads(make, expected, n_jobs):
    for _ in range(3):
        assert all_bits(make(n_jobs=n_jobs).fit(X, Y)) == expected


def test_results_do_not_depend_on_processes(make, expected):
    with joblib.parallel_config(backend="loky"):
        assert all_bits(make(n_jobs=2).fit(X, Y)) == expected


def test_results_do_not_depend_on_the_order_of_instances(make, expected):
    rng = np.random.default_rng(0)
    for _ in range(5):
        order = rng.permutation(len(X))
        points, labels = [X[i] for i in order], [Y[i] for i in order]
        learner = make().fit(points, labels)
        of_all, of_instances = expected
        assert bits(learner) == of_all
        assert bits_of_instances(learner) == [of_instances[i] for i in order]
        assert learner.score(points, labels).hex() == of_all[-1]


def test_weighted_scores_do_not_depend_on_the_order_of_instances(make):
    rng = np.random.default_rng(0)
    learner, weights = make().fit(X, Y), rng.uniform(size=len(NEW_X))
    expected = learner.score(NEW_X, NEW_Y, weights)
    for order in ([1, 2, 0], [2, 1, 0]):
        points, labels = [NEW_X[i] for i in order], [NEW_Y[i] for i in order]
        assert learner.score(points, labels, weights[order]) == expected


def test_results_do_not_depend_on_what_a_learner_did_before(make, expected):
    learner = make().fit(NEW_X, NEW_Y)
    for _ in range(2):
        assert all_bits(learner.fit(X, Y)) == expected


def test_results_do_not_depend_on_pieces_and_a_store(make, expected, tmp_path):
    for n_first in (1, 3):
        learner = make(memory=str(tmp_path)).fit(X[:n_first], Y[:n_first])
        learner.partial_fit(X[n_first:], Y[n_first:])
        assert all_bits(learner) == expected
        assert all_bits(make(memory=str(tmp_path)).fit(X, Y)) == expected


@pytest.mark.parametrize("seed", ["0", "4294967295"])
def test_results_do_not_depend_on_the_process_and_its_hashes(seed):
    paths = [Path(__file__).parent, Path(sklearn_linkage_learn.__file__).parents[1]]
    program = "import test_determinism; print(test_determinism.digest_of_all())"
    printed = subprocess.run(
        [sys.executable, "-c", program],
        cwd=paths[0],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=120,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "PYTHONHASHSEED": seed,
        },
    ).stdout
    assert printed.strip() == digest_of_all()
