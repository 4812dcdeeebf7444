import sys
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from learners import make_instances
from scipy import stats
from scipy.spatial.distance import pdist, squareform
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    AgglomerativeClustering,
    KMeans,
    SpectralClustering,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_linkage_learn import (
    InterpolatedLinkage,
    LearnedLinkage,
    LearnedMetricLinkage,
)
from sklearn_linkage_learn.model_selection import PerInstanceClusterer, compare
from sklearn_linkage_learn.model_selection._compare import _as_table
from sklearn_linkage_learn.preprocessing import PerInstance

X, Y = make_instances(7)
TABLE, LABELS = np.concatenate(X), np.concatenate(Y)
GROUPS = np.repeat(np.arange(7), list(map(len, X)))
AVERAGE = AgglomerativeClustering(linkage="average")


# Clusterers whose labels depend on the order of points are not listed.
@parametrize_with_checks(
    [
        PerInstanceClusterer(AgglomerativeClustering()),
        PerInstanceClusterer(AVERAGE, loss="ari", n_clusters=2),
        PerInstanceClusterer(InterpolatedLinkage(), n_jobs=2),
    ]
)
def test_clusterers_pass_the_checks_of_sklearn(estimator, check):
    check(estimator)


def least_misplaced(labels, found):
    """The cut loss by its definition: all matchings are tried."""
    classes, clusters = list(np.unique(labels)), list(np.unique(found))
    size = max(len(classes), len(clusters))
    classes += [None] * (size - len(classes))
    best = 0
    for order in permutations(classes):
        match = dict(zip(clusters, order, strict=False))
        best = max(best, sum(match[f] == c for f, c in zip(found, labels, strict=True)))
    return 1 - best / len(labels)


@pytest.mark.parametrize(
    "clusterer",
    [
        AVERAGE,
        KMeans(n_init=1, random_state=0),
        HDBSCAN(min_cluster_size=3, copy=True),
        DBSCAN(eps=0.3),
        InterpolatedLinkage(linkages=("single", "complete"), alpha=0.3),
        make_pipeline(StandardScaler(), KMeans(n_init=1, random_state=0)),
    ],
    ids=lambda clusterer: type(clusterer).__name__,
)
@pytest.mark.parametrize("loss", ["cut", "ari"])
def test_each_instance_is_clustered_and_judged_by_itself(clusterer, loss):
    three = [np.arange(len(y)) % 3 for y in Y[:2]] + Y[2:]
    adapter = PerInstanceClusterer(clusterer, loss=loss).fit(X, three)
    found, losses = adapter.predict(X, [3, 3, 2, 2, 2, 2, 2]), []
    last = clusterer[-1] if hasattr(clusterer, "steps") else clusterer
    for points, labels, clusters in zip(X, three, found, strict=True):
        expected = clone(clusterer)
        if "n_clusters" in last.get_params():
            final = expected[-1] if hasattr(expected, "steps") else expected
            final.set_params(n_clusters=len(np.unique(labels)))
        np.testing.assert_array_equal(clusters, expected.fit_predict(points))
        if loss == "cut":
            losses.append(least_misplaced(labels, clusters))
        else:
            losses.append(1 - adjusted_rand_score(labels, clusters))
    assert adapter.score(X, three) == pytest.approx(1 - np.mean(losses))
    weights = np.arange(7)
    assert adapter.score(X, three, weights) == pytest.approx(
        1 - np.average(losses, weights=weights)
    )


def n_found(labels):
    return [len(np.unique(found)) for found in labels]


def test_the_number_of_clusters_comes_from_who_knows_it():
    adapter = PerInstanceClusterer(AgglomerativeClustering(5))
    assert n_found(adapter.fit(X).predict(X)) == [5] * 7
    assert n_found(adapter.fit(X, Y).predict(X)) == [2] * 7
    assert n_found(adapter.predict(X, n_clusters=3)) == [3] * 7
    assert n_found(adapter.set_params(n_clusters=4).fit_predict(X, Y)) == [4] * 7
    threshold = AgglomerativeClustering(None, distance_threshold=0.5)
    ours = PerInstanceClusterer(threshold).fit(X, Y).predict(X)
    assert n_found(ours) == n_found([clone(threshold).fit_predict(x) for x in X])
    assert adapter.predict(X[0][:1], n_clusters=1).tolist() == [0]


def test_all_forms_of_instances_are_clustered_alike():
    adapter = PerInstanceClusterer(AVERAGE).fit(X, Y)
    expected = adapter.predict(X)
    np.testing.assert_array_equal(adapter.predict(X[0]), expected[0])
    stacked = adapter.predict(TABLE, groups=GROUPS)
    np.testing.assert_array_equal(stacked, np.concatenate(expected))
    score = adapter.score(TABLE, LABELS, groups=GROUPS)
    assert score == pytest.approx(adapter.score(X, Y))
    matrices = [squareform(pdist(points)) for points in X]
    precomputed = clone(AVERAGE).set_params(metric="precomputed")
    ours = PerInstanceClusterer(precomputed).fit(matrices, Y).predict(matrices)
    for a, b in zip(ours, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_results_do_not_depend_on_n_jobs():
    for clusterer in (AVERAGE, KMeans(n_init=1, random_state=0)):
        one = PerInstanceClusterer(clusterer).fit(X, Y).predict(X)
        two = PerInstanceClusterer(clusterer, n_jobs=2).fit(X, Y).predict(X)
        for a, b in zip(one, two, strict=True):
            np.testing.assert_array_equal(a, b)


def test_clusterers_can_be_searched_like_learners():
    search = GridSearchCV(
        PerInstanceClusterer(AgglomerativeClustering()),
        {"clusterer__linkage": ["single", "average", "ward"]},
        cv=KFold(3),
    )
    search.fit(X, Y)
    means = search.cv_results_["mean_test_score"]
    scores = cross_val_score(
        PerInstanceClusterer(AgglomerativeClustering(linkage="single")), X, Y, cv=3
    )
    assert means[0] == pytest.approx(scores.mean())


CANDIDATES = {
    "average": AVERAGE,
    "learned": LearnedLinkage(loss="cut"),
    "scaled": make_pipeline(
        PerInstance(StandardScaler()), LearnedMetricLinkage(loss="cut")
    ),
    "searched": GridSearchCV(
        LearnedLinkage(), {"loss": ["hamming", "cut"]}, cv=KFold(2)
    ),
}


def by_hand(name, splits):
    """The mean loss of each held-out instance."""
    losses = {}
    for train, test in splits:
        model = clone(CANDIDATES[name])
        for i in test:
            if name == "average":
                found = model.set_params(n_clusters=2).fit_predict(X[i])
            else:
                model.fit([X[j] for j in train], [Y[j] for j in train])
                found = model.predict([X[i]])[0]
            losses.setdefault(i, []).append(least_misplaced(Y[i], found))
    return np.array([np.mean(losses[i]) for i in sorted(losses)])


def interval(values):
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return stats.t.interval(0.9, len(values) - 1, np.mean(values), error)


@pytest.mark.parametrize(
    "cv",
    [
        3,
        KFold(2, shuffle=True, random_state=0),
        RepeatedKFold(n_splits=2, n_repeats=2, random_state=0),
        ShuffleSplit(3, test_size=2, random_state=0),
    ],
    ids=["3", "shuffled", "repeated", "random"],
)
def test_candidates_are_compared_on_the_same_held_out_instances(cv):
    table = compare(CANDIDATES, X, Y, cv=cv, confidence=0.9, baseline="learned")
    splitter = KFold(cv) if isinstance(cv, int) else cv
    splits = list(splitter.split(X))
    reference = by_hand("learned", splits)
    assert list(table["candidate"]) == list(CANDIDATES)
    for row in table.itertuples():
        losses = by_hand(row.candidate, splits)
        difference = losses - reference
        assert row.n_instances == len(losses)
        assert row.loss == pytest.approx(losses.mean())
        assert row.difference == pytest.approx(difference.mean())
        assert (row.loss_low, row.loss_high) == pytest.approx(interval(losses))
        found = row.difference_low, row.difference_high
        if difference.any():
            assert found == pytest.approx(interval(difference))
        else:
            assert found == (0, 0)
        assert row.better == np.count_nonzero(difference < 0)
        assert row.equal == np.count_nonzero(difference == 0)
        assert row.worse == np.count_nonzero(difference > 0)
        assert row.fit_seconds > 0


def test_details_are_one_row_for_each_held_out_instance():
    cv = RepeatedKFold(n_splits=3, n_repeats=2, random_state=1)
    details = compare(CANDIDATES, X, Y, cv=cv, details=True)
    assert list(details.columns) == ["candidate", "split", "instance", "loss"]
    assert len(details) == len(CANDIDATES) * 2 * len(X)
    table = compare(CANDIDATES, X, Y, cv=cv)
    means = details.groupby("candidate")["loss"].mean()
    for row in table.itertuples():
        assert row.loss == pytest.approx(means[row.candidate])
    for split, (_, test) in enumerate(cv.split(X)):
        held_out = details[(details.split == split) & (details.candidate == "learned")]
        assert list(held_out.instance) == list(test)


def test_forms_threads_and_routing_do_not_change_a_comparison():
    columns = ["candidate", "loss", "difference_high", "worse"]
    expected = compare(CANDIDATES, X, Y, cv=3)[columns]
    stacked = compare(CANDIDATES, TABLE, LABELS, groups=GROUPS, cv=3, n_jobs=2)
    pd.testing.assert_frame_equal(stacked[columns], expected)
    with config_context(enable_metadata_routing=True):
        routed = compare(CANDIDATES, X, Y, cv=3)
    pd.testing.assert_frame_equal(routed[columns], expected)


def test_splitters_of_groups_split_instances():
    candidates = {"average": AVERAGE, "learned": LearnedLinkage(loss="cut")}
    expected = compare(candidates, X, Y, cv=LeaveOneOut())
    found = compare(candidates, TABLE, LABELS, groups=GROUPS, cv=LeaveOneGroupOut())
    assert list(found["loss"]) == list(expected["loss"])
    details = compare(candidates, X, Y, cv=GroupKFold(3), details=True)
    assert sorted(details["instance"]) == sorted([*range(7), *range(7)])


def test_candidates_may_mix_precomputed_metrics():
    pairs = [
        np.stack([squareform(pdist(points[:, [c]])) for c in (0, 1)]) for points in X
    ]
    candidates = {
        "across": InterpolatedLinkage(metric="precomputed", beta=0.0),
        "both": InterpolatedLinkage(metric="precomputed", beta=[1, 1]),
        "learned": LearnedMetricLinkage("precomputed", loss="cut"),
    }
    blocks = [("across", "euclidean", [0]), ("up", "euclidean", [1])]
    expected = compare(
        {
            "across": InterpolatedLinkage(metric=blocks, beta=0.0),
            "both": InterpolatedLinkage(metric=blocks, beta=[1, 1]),
            "learned": LearnedMetricLinkage(blocks, loss="cut"),
        },
        X,
        Y,
        cv=3,
    )
    for form in (pairs, [list(pair) for pair in pairs]):
        table = compare(candidates, form, Y, cv=3)
        assert list(table["loss"]) == list(expected["loss"])
    with pytest.raises(ValueError, match=r"y\[1\]: Found 16 label\(s\) for 17 point"):
        compare(candidates, pairs, [Y[0], Y[0], *Y[2:]], cv=3)
    one = PerInstanceClusterer(candidates["across"]).fit(pairs, Y)
    assert one.predict(pairs[0][:, :1, :1], n_clusters=1).tolist() == [0]


def test_candidates_may_have_to_find_the_number_of_clusters():
    candidates = {"five": AgglomerativeClustering(5), "hdbscan": HDBSCAN(copy=True)}
    seen = []

    def count(labels, found):
        seen.append(len(np.unique(found)))
        return 0.0

    three = [np.arange(len(y)) % 3 if i % 2 else y for i, y in enumerate(Y)]
    compare({"five": candidates["five"]}, X, three, loss=count, cv=3)
    assert seen == [2, 3, 2, 3, 2, 3, 2]
    seen.clear()
    compare(candidates, X, three, loss=count, n_clusters=None, cv=[([0, 1], [2, 3])])
    assert seen[:2] == [5, 5]


def test_a_loss_may_be_a_function():
    def worst(labels, found):
        return float(np.max(labels) + len(np.unique(found)))

    table = compare({"average": AVERAGE}, X, Y, loss=worst, cv=3)
    assert table["loss"][0] == 3
    with pytest.raises(ValueError, match=r"X\[0\]: loss <lambda> must be a finite"):
        compare({"average": AVERAGE}, X, Y, loss=lambda a, b: np.nan, cv=3)


def test_without_pandas_a_table_is_a_dict_of_lists(monkeypatch):
    rows = [{"candidate": "a", "loss": 0.5}, {"candidate": "b", "loss": 0.25}]
    expected = {"candidate": ["a", "b"], "loss": [0.5, 0.25]}
    pd.testing.assert_frame_equal(_as_table(rows), pd.DataFrame(expected))
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert _as_table(rows) == expected


def test_progress_of_a_comparison_is_shown_if_asked_for(capfd):
    compare({"average": AVERAGE}, X, Y, cv=3)
    assert capfd.readouterr() == ("", "")
    compare({"average": AVERAGE}, X, Y, cv=3, verbose=1)
    out, err = capfd.readouterr()
    assert out == ""
    assert "3/3" in err


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"candidates": {}}, ValueError, "candidates is empty"),
        ({"candidates": [AVERAGE]}, ValueError, "'candidates' parameter"),
        ({"candidates": {1: AVERAGE}}, TypeError, "must have names, got the key 1"),
        (
            {"candidates": {"a": AVERAGE, "b": LogisticRegression()}},
            TypeError,
            r"candidates\['b'\] must be a learner, or a clusterer",
        ),
        ({"candidates": {"a": KMeans}}, TypeError, r"candidates\['a'\] must be"),
        ({"baseline": "b"}, ValueError, r"baseline must be one of \['a'\], got 'b'"),
        ({"y": None}, ValueError, "y is needed"),
        ({"y": [*Y[:2], Y[2][1:], *Y[3:]]}, ValueError, r"y\[2\]: Found 17 label"),
        ({"y": Y[:3]}, ValueError, "y holds the labels of 3 instances"),
        ({"X": X[:1], "y": Y[:1]}, ValueError, "at least two instances"),
        ({"cv": 9}, ValueError, "n_splits=9"),
        ({"loss": "hamming"}, ValueError, "'loss' parameter"),
        ({"confidence": 1}, ValueError, "'confidence' parameter"),
        ({"n_clusters": 3}, ValueError, "'n_clusters' parameter"),
    ],
)
@pytest.mark.usefixtures("no_work")
def test_bad_arguments_are_refused_before_any_work(change, error, message):
    arguments = {"candidates": {"a": LearnedLinkage()}, "X": X, "y": Y, **change}
    candidates, points, labels = (arguments.pop(k) for k in ("candidates", "X", "y"))
    with pytest.raises(error, match=message):
        compare(candidates, points, labels, **arguments)


def test_errors_name_the_candidate_and_the_instance():
    candidates = {"a": AVERAGE, "b": SpectralClustering(affinity="nonsense")}
    with pytest.raises(TypeError, match=r"candidates\['b'\], split 0: X\[0\]: "):
        compare(candidates, X, Y, cv=3)
    adapter = PerInstanceClusterer(AVERAGE).fit(X, Y)
    with pytest.raises(ValueError, match=r"X\[1\]: n_clusters=40 is more than"):
        adapter.predict(X, n_clusters=[2, 40, 2, 2, 2, 2, 2])
    with pytest.raises(ValueError, match="sample_weight must not be zero"):
        adapter.score(X, Y, sample_weight=[0] * 7)
    before = vars(adapter).copy()
    with pytest.raises(ValueError, match=r"X\[2\]: X has 1 features"):
        adapter.fit([*X[:2], X[2][:, :1]], Y[:3])
    assert vars(adapter) == before
