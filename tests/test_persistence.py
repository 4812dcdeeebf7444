"""Estimators that one process keeps and another one loads, perhaps a later version."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from learners import X, Y, learned, make_instances
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone

from sklearn_linkage_learn import (
    InterpolatedLinkage,
    LearnedLinkage,
    LearnedMetricLinkage,
    from_json,
    to_json,
)

DATA = Path(__file__).parent / "data"
BLOCKS = [("across", "euclidean", "x"), ("up", "cityblock", slice("y", "y"))]
KEEP = {
    "pickle": lambda estimator, path: path.write_bytes(pickle.dumps(estimator)),
    "joblib": joblib.dump,
    "json": lambda estimator, path: path.write_text(to_json(estimator)),
}
LOAD = {
    "pickle": lambda path: pickle.loads(path.read_bytes()),
    "joblib": joblib.load,
    "json": lambda path: from_json(path.read_text()),
}


def as_frame(points):
    return pd.DataFrame(points, columns=["x", "y"])


def as_matrix(points):
    return squareform(pdist(points))


def as_matrices(points):
    return np.stack([squareform(pdist(points, m)) for m in ("euclidean", "chebyshev")])


# Estimators, and the form of an instance that they take.
ESTIMATORS = {
    "clusterer": (InterpolatedLinkage(linkages=("single", "complete")), np.array),
    "linkage": (LearnedLinkage(), np.array),
    "linkage, precomputed": (LearnedLinkage(metric="precomputed"), as_matrix),
    "metric, precomputed": (LearnedMetricLinkage("precomputed"), as_matrices),
    "blocks": (LearnedMetricLinkage(BLOCKS, normalize="mean"), as_frame),
    **{
        f"metric, {normalize}": (LearnedMetricLinkage(normalize=normalize), np.array)
        for normalize in (None, "mean", "max", "instance_max")
    },
}
# Of a clusterer, JSON keeps the parameters and not the clusters.
KEPT = [
    (name, way)
    for name in ESTIMATORS
    for way in KEEP
    if (name, way) != ("clusterer", "json")
]


def results(estimator, form):
    """What an estimator knows and does, before and after it learns something new."""
    new, labels = make_instances(seed=7)
    new = [form(points) for points in new]
    if isinstance(estimator, InterpolatedLinkage):
        tree = estimator.linkage_matrix_.tolist()
        return tree, estimator.labels_.tolist(), estimator.fit_predict(new[0]).tolist()
    found = []
    for _ in range(2):
        predicted = [clusters.tolist() for clusters in estimator.predict(new)]
        trees = [tree.tolist() for tree in estimator.linkage_matrix(new)]
        found += [learned(estimator), predicted, trees, estimator.score(new, labels)]
        estimator.partial_fit(new[:2], labels[:2])
    return found


def load_all(folder):
    """Called in a fresh process: load what another one kept and return the results."""
    return {
        (name, way): results(LOAD[way](folder / f"{name}.{way}"), ESTIMATORS[name][1])
        for name, way in KEPT
    }


def test_a_fresh_process_loads_estimators_that_do_the_same_and_learn_on(tmp_path):
    expected = {}
    for name, (estimator, form) in ESTIMATORS.items():
        instances = [form(points) for points in X]
        if name == "clusterer":
            estimator = clone(estimator).fit(instances[0])
        else:
            estimator = clone(estimator).fit(instances, Y)
        for way in [way for kept, way in KEPT if kept == name]:
            KEEP[way](estimator, tmp_path / f"{name}.{way}")
        expected[name] = results(estimator, form)

    code = (
        "import pickle, sys; from pathlib import Path; "
        "from test_persistence import load_all; "
        "sys.stdout.buffer.write(pickle.dumps(load_all(Path(sys.argv[1]))))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", code, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        check=True,
    )
    found = pickle.loads(done.stdout)
    assert list(found) == KEPT
    for (name, way), result in found.items():
        assert result == expected[name], (name, way)


def grid(seed, n=12):
    """Points that are the same on all machines and for ever."""
    i = np.arange(2 * n, dtype=np.float64) + 3 * seed
    return (i**3 % 101).reshape(n, 2)


def test_what_the_first_version_wrote_of_linkages_is_read_for_ever():
    learner = from_json((DATA / "learned_linkage_1.json").read_text())
    assert learner.alpha_ == 0.8333333333333333
    assert learner.alpha_interval_ == (0.6666666666666666, 1.0)
    assert learner.loss_ == 0.22863562091503267
    assert learner.n_instances_ == 4
    assert learner.n_clusters_ is None
    assert learner.instance_curves_[3].lower.tolist() == [0.5, 0.2, 0.1]
    predicted = learner.predict(grid(9), n_clusters=3)
    assert predicted.tolist() == [0, 0, 0, 0, 2, 0, 1, 1, 1, 1, 2, 0]
    learner.partial_fit(grid(11), np.arange(12) % 3)
    assert learner.alpha_ == pytest.approx(0.7670963047349082, abs=1e-12)


def test_what_the_first_version_wrote_of_metrics_is_read_for_ever():
    learner = from_json((DATA / "learned_metric_linkage_1.json").read_text())
    assert learner.beta_ == 0.820629112329826
    assert learner.beta_interval_ == (0.8058876841266203, 0.8353705405330318)
    assert learner.loss_ == 0.19526143790849673
    assert learner.scales_ == (31.952124183006536, 66.32712418300655)
    assert learner.n_clusters_ == 3
    predicted = learner.predict(as_frame(grid(9)))
    assert predicted.tolist() == [1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 2, 1]
    learner.partial_fit(as_frame(grid(11)), np.arange(12) % 3)
    assert learner.beta_ == pytest.approx(0.8215976548246362, abs=1e-12)


def test_what_the_first_version_wrote_of_a_clusterer_is_read_for_ever():
    clusterer = from_json((DATA / "interpolated_linkage_1.json").read_text())
    predicted = clusterer.fit_predict(as_frame(grid(9)))
    assert predicted.tolist() == [1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 2, 1]
