from contextvars import copy_context
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import pairwise_distances

from sklearn_linkage_learn import InterpolatedLinkage, _distances
from sklearn_linkage_learn._core.interrupts import on_check
from sklearn_linkage_learn._distances import METRICS, condensed_distances, read_metrics


def test_one_and_two_points_have_no_and_one_distance():
    assert condensed_distances(np.ones((1, 2)), "euclidean").shape == (0,)
    assert condensed_distances(np.ones((2, 2)), "euclidean").shape == (1,)
    assert condensed_distances(np.zeros((1, 1)), "precomputed").shape == (0,)


def test_precomputed_distances_are_taken_above_the_diagonal():
    matrix = np.array([[0.0, 0.3], [0.1 + 0.2, 1e-17]])
    np.testing.assert_array_equal(condensed_distances(matrix, "precomputed"), [0.3])


BOOLEAN = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_metrics_agree_with_sklearn_and_duplicates_are_one_place(metric):
    rng = np.random.default_rng(3)
    places = rng.uniform(0.1, 1.0, size=(6, 2 if metric == "haversine" else 3))
    X = np.concatenate([places, places[:3], 3 * places])
    if metric in BOOLEAN:
        X = np.where(rng.uniform(size=(15, 7)) < 0.6, 2.0, 0.0)
        X[6:9] = X[:3]
    d = squareform(condensed_distances(X, metric))
    expected = pairwise_distances(X != 0 if metric in BOOLEAN else X, metric=metric)
    np.testing.assert_allclose(d, expected, rtol=1e-6, atol=1e-7)
    if metric != "russellrao":  # which is no metric: d(x, x) > 0
        np.testing.assert_array_equal(d[np.arange(3), np.arange(6, 9)], 0)
    others = np.setdiff1d(np.arange(15), [0, 1, 2, 6, 7, 8])
    np.testing.assert_array_equal(d[:3][:, others], d[6:9][:, others])


@pytest.mark.parametrize("exponent", [-1000, 1000])
@pytest.mark.parametrize(
    "metric", ["euclidean", "minkowski", "cosine", "correlation", "seuclidean", "l2"]
)
def test_tiny_and_huge_coordinates_have_the_distances_of_usual_ones(metric, exponent):
    X = np.random.default_rng(4).normal(size=(9, 4))
    usual = condensed_distances(X, metric)
    extreme = condensed_distances(np.ldexp(X, exponent), metric)
    if metric in ("euclidean", "minkowski", "l2"):
        usual = np.ldexp(usual, exponent)
    np.testing.assert_array_equal(extreme, usual)


def test_distances_beyond_all_floats_are_refused():
    X = np.array([[-1.7e308], [1.7e308]])
    with pytest.raises(ValueError, match="metric 'euclidean' gives inf"):
        condensed_distances(X, "euclidean")


@pytest.mark.parametrize("metric", sorted(METRICS - {"haversine"}))
@pytest.mark.parametrize("step", [1, 500, 4000])
def test_distances_in_steps_are_those_of_pdist(metric, step, monkeypatch):
    rng = np.random.default_rng(4)
    X = rng.lognormal(sigma=3, size=(40, 3))
    X[-3:] = X[:3]
    if metric in BOOLEAN:
        X = np.where(X > 1, 2.0, 0.0)
        X[:, 0] = 1
    kind = bool if metric in BOOLEAN else float
    name = {"l1": "cityblock", "manhattan": "cityblock", "l2": "euclidean"}.get(metric)
    expected = pdist(X.astype(kind), name or metric)
    if metric in ("cosine", "correlation"):
        # Rounding is taken out of these.
        at_zero = squareform(np.tile(np.eye(37), (2, 2))[:40, :40] > 0, checks=False)
        expected = np.where(at_zero, 0.0, np.maximum(expected, 0.0))
    monkeypatch.setattr(_distances, "_STEP", step)
    assert condensed_distances(X, metric).tobytes() == expected.tobytes()


def test_haversine_distances_in_steps_are_those_of_sklearn(monkeypatch):
    X = np.random.default_rng(5).uniform(-1, 1, size=(40, 2))
    expected = squareform(pairwise_distances(X, metric="haversine"), checks=False)
    for step in (1, 500, 10**6):
        monkeypatch.setattr(_distances, "_STEP", step)
        found = condensed_distances(X, "haversine")
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("metric", ["mahalanobis", "euclidean", "haversine", "call"])
def test_long_computations_of_distances_can_be_stopped(metric, monkeypatch):
    def stop():
        seen.append(None)
        if len(seen) == 3:
            raise InterruptedError

    seen = []
    metric = (lambda u, v: abs(u[0] - v[0])) if metric == "call" else metric
    monkeypatch.setattr(_distances, "_STEP", 10)
    context = copy_context()
    context.run(on_check.set, stop)
    X = np.random.default_rng(6).uniform(size=(40, 2))
    with pytest.raises(InterruptedError):
        context.run(condensed_distances, X, metric)
    assert len(seen) == 3


def test_too_few_points_for_a_covariance_are_an_error(monkeypatch):
    monkeypatch.setattr(_distances, "_STEP", 1)
    with pytest.raises(ValueError, match="too small"):
        condensed_distances(np.eye(3), "mahalanobis")


def test_cosine_distance_of_duplicates_is_exactly_zero():
    rng = np.random.default_rng(0)
    places = rng.normal(size=(200, 5))
    X = places.repeat(2, axis=0)
    pairs = np.arange(0, 400, 2), np.arange(1, 400, 2)
    assert squareform(pdist(X, "cosine"))[pairs].any()
    np.testing.assert_array_equal(
        squareform(condensed_distances(X, "cosine"))[pairs], 0
    )


def test_a_callable_metric_gets_two_rows():
    X = np.array([[0.0, 1.0], [2.0, 3.0], [5.0, 5.0]])
    d = condensed_distances(X, lambda u, v: abs(u[0] - v[0]))
    np.testing.assert_array_equal(d, [2, 5, 3])


def test_the_points_of_a_distance_that_is_none_are_named():
    points = np.arange(7.0)[:, None]
    for i, j in combinations(range(7), 2):

        def metric(u, v, i=i, j=j):
            return np.nan if (u[0], v[0]) >= (i, j) else 1.0

        with pytest.raises(ValueError, match=f"nan between points {i} and {j}, expect"):
            condensed_distances(points, metric)


def features(names=None, n=5):
    out = SimpleNamespace(n_features_in_=n)
    if names is not None:
        out.feature_names_in_ = np.array(names, dtype=object)
    return out


NAMES = list("abcde")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (2, (2,)),
        (np.int64(2), (2,)),
        (-1, (4,)),
        ([3, 1, -1], (3, 1, 4)),
        (np.array([0, 4]), (0, 4)),
        ((0, 4), (0, 4)),
        (range(2, 4), (2, 3)),
        (slice(1, 3), (1, 2)),
        (slice(3, None), (3, 4)),
        (slice(None, None, 2), (0, 2, 4)),
        ([True, False, False, True, False], (0, 3)),
        (np.array(NAMES) == "b", (1,)),
        ("c", (2,)),
        (["e", "a"], (4, 0)),
        (np.array(["e", "a"]), (4, 0)),
        (pd.Index(["b"]), (1,)),
        (slice("b", "d"), (1, 2, 3)),
        (slice(None, "b"), (0, 1)),
        (slice("d", None), (3, 4)),
    ],
)
def test_columns_of_a_block_are_found_as_in_a_column_transformer(columns, expected):
    [metric] = read_metrics("metrics", [("block", "cityblock", columns)])
    bound = metric.bind(features(NAMES))
    assert bound.columns == expected
    assert bound.bind(features(NAMES)) == bound
    X = np.random.default_rng(0).normal(size=(6, 5))
    np.testing.assert_array_equal(
        bound.distances(X), pdist(X[:, list(expected)], "cityblock")
    )


@pytest.mark.parametrize(
    ("columns", "names", "message"),
    [
        (5, None, "'block': There is no column 5: X has 5 columns"),
        ([0, -6], None, "no column -6"),
        ("a", None, "no column 'a': X has no column names"),
        (slice("a", None), None, "X has no column names"),
        (["a", "z"], NAMES, r"no column 'z': X has \['a', 'b'"),
        (slice("z", "a"), NAMES, "no column 'z'"),
        ([True, False], None, "mask .* of the 5 columns"),
        (True, None, "mask .* of the 5 columns"),
        ([False] * 5, None, "selects none of 5 columns"),
        ([], None, "selects none of 5 columns"),
        (slice(5, None), None, "selects none of 5 columns"),
        (1.5, None, "1.5 is no column"),
        ([None], None, "None is no column"),
        ([[0, 1]], None, "1-D sequence"),
    ],
)
def test_columns_that_do_not_exist_are_refused(columns, names, message):
    [metric] = read_metrics("metrics", [("block", "cityblock", columns)])
    with pytest.raises(ValueError, match=message):
        metric.bind(features(names))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((), "metrics is empty"),
        (["cosine", "cosin"], r"metrics\[1\] is 'cosin', expected one of .*'cosine'"),
        (["cosine", 3], r"metrics\[1\] is 3, expected one of .* or a callable or a"),
        (["cosine", np.eye(2)], r"metrics\[1\] is array"),
        (["cosine", ("a", "cosine")], r"metrics\[1\] is \('a', 'cosine'\), expected"),
        ([(1, "cosine", 0)], r"metrics\[0\] is .* a str as name, found 1"),
        ([("a", "cosin", 0)], r"metrics\[0\]: the metric of 'a' is 'cosin'"),
        ([("a", "precomputed", 0)], r"metrics\[0\]: the metric of 'a' is 'precomp"),
        ([("a", "cosine", None)], r"metrics\[0\]: the columns of 'a' are None"),
        (["cosine", "precomputed"], "'precomputed' cannot stand in a sequence"),
    ],
)
def test_entries_that_are_no_metrics_are_refused(value, message):
    with pytest.raises(ValueError, match=message):
        read_metrics("metrics", value)


def test_bad_distances_name_the_block():
    [metric] = read_metrics("metrics", [("colour", "cosine", [0])])
    with pytest.raises(ValueError, match="metric 'colour': metric 'cosine' gives nan"):
        metric.bind(features()).distances(np.arange(15.0).reshape(3, 5))


def test_blocks_are_metrics_of_their_columns_in_a_single_run():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 5))
    parts = np.array([pairwise_distances(X[:, :2]), pairwise_distances(X[:, 2:])])
    blocks = [("left", "euclidean", slice(0, 2)), ("right", "euclidean", [2, 3, 4])]
    ours = InterpolatedLinkage(metric=blocks, beta=0.3).fit(X)
    expected = InterpolatedLinkage(metric="precomputed", beta=0.3).fit(parts)
    np.testing.assert_array_equal(ours.children_, expected.children_)
    np.testing.assert_allclose(ours.distances_, expected.distances_)

    frame = pd.DataFrame(X, columns=NAMES)
    named = [("left", "euclidean", ["a", "b"]), ("right", "euclidean", slice("c", "e"))]
    clusterer = InterpolatedLinkage(metric=named, beta=0.3)
    np.testing.assert_array_equal(
        clusterer.fit(frame).linkage_matrix_, ours.linkage_matrix_
    )
    # Names stay with their columns.
    np.testing.assert_array_equal(
        clusterer.fit(frame[list("cdeab")]).linkage_matrix_, ours.linkage_matrix_
    )
    with pytest.raises(ValueError, match="'left': There is no column 'a'"):
        clusterer.fit(X)
