"""The contract of estimators that all learners keep."""

import pickle
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from learners import (
    LEARNERS,
    X,
    Y,
    learned,
    make_instances,
    object_array,
    weight,
)
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_linkage_learn import (
    PiecewiseConstant,
    widest_optimal_interval,
)
from sklearn_linkage_learn.losses import cut_loss, hamming_loss


@pytest.fixture(scope="module", params=LEARNERS.values(), ids=LEARNERS.keys())
def make(request):
    return request.param


@pytest.fixture(scope="module")
def fitted(make):
    return make().fit(X, Y)


def named_cut_loss(Z, labels):
    return cut_loss(Z, labels)


def test_mean_curve_is_the_mean_of_the_instances(fitted):
    assert fitted.loss_curve_ == PiecewiseConstant.mean(fitted.instance_curves_)
    assert fitted.n_instances_ == len(fitted.instance_curves_) == len(X)


def test_parameter_is_the_middle_of_the_widest_optimal_interval(fitted):
    middle, (start, stop) = weight(fitted)
    assert (start, stop) == widest_optimal_interval(fitted.loss_curve_)
    assert middle == (start + stop) / 2
    assert fitted.loss_ == fitted.loss_curve_.min()
    assert fitted.loss_curve_(middle) == pytest.approx(fitted.loss_, abs=1e-15)


@pytest.mark.parametrize("loss", ["majority", "cut", "ari", "dendrogram_purity"])
def test_named_losses_can_be_learned_and_scored(make, loss):
    learner = make(loss=loss).fit(X[:2], Y[:2])
    assert learner.score(X[:2], Y[:2]) == pytest.approx(1 - learner.loss_, abs=1e-12)


def test_a_callable_loss_gives_the_curve_of_the_same_named_loss(make):
    named = make(loss="cut").fit(X[:2], Y[:2])
    called = make(loss=named_cut_loss).fit(X[:2], Y[:2])
    for ours, theirs in zip(
        called.instance_curves_, named.instance_curves_, strict=True
    ):
        at = np.linspace(0, 1, 1001)
        np.testing.assert_allclose(ours(at), theirs(at), atol=1e-12)
    assert called.score(X, Y) == pytest.approx(
        named.set_params(loss="ari").score(X, Y), abs=1e-12
    )


def test_a_callable_loss_gets_the_labels_as_they_are(make):
    seen = set()

    def loss(Z, labels):
        seen.update(labels)
        return 0.0

    make(loss=loss).fit(X[0], np.array(["no", "yes"])[Y[0]])
    assert seen == {"no", "yes"}


def test_names_of_labels_do_not_matter(make, fitted):
    words = [np.array(["spam", "ham"])[y] for y in Y]
    assert learned(make().fit(X, words)) == learned(fitted)


def test_all_forms_of_a_collection_are_learned_alike(make):
    points, labels = [x[:16] for x in X], [y[:16] for y in Y]
    expected = make().fit(points, labels)
    groups = np.repeat(list("cabed"), 16)
    table, flat = np.concatenate(points), np.concatenate(labels)
    for args in [
        (tuple(points), labels),
        (np.stack(points), np.stack(labels)),
        (object_array(points), object_array(labels)),
        (np.stack(points).tolist(), np.stack(labels).tolist()),
        (table, flat, groups),
        (pd.DataFrame(table, columns=["x", "y"]), pd.Series(flat), groups),
    ]:
        learner = make().fit(*args)
        assert learned(learner) == learned(expected)
        assert learner.n_features_in_ == 2


def test_predict_is_the_learned_clusterer_on_each_instance(fitted):
    new, _ = make_instances(seed=7)
    predicted = fitted.predict(new)
    assert isinstance(predicted, list)
    for labels, points in zip(predicted, new, strict=True):
        expected = clone(fitted.clusterer_).fit_predict(points)
        np.testing.assert_array_equal(labels, expected)
    np.testing.assert_array_equal(fitted.predict(new[0]), predicted[0])
    np.testing.assert_array_equal(fitted.predict(new[0].tolist()), predicted[0])


def test_predict_aligns_labels_of_a_stacked_collection_with_its_rows(fitted):
    new, _ = make_instances(seed=8)
    groups = np.repeat(np.arange(len(new)), list(map(len, new)))
    order = np.argsort(np.arange(len(groups)) % 7, kind="stable")
    table = np.concatenate(new)[order]
    labels = fitted.predict(table, groups=groups[order])
    assert labels.shape == (len(table),)
    for group in range(len(new)):
        inside = groups[order] == group
        expected = fitted.predict(table[inside])
        np.testing.assert_array_equal(labels[inside], expected)


def n_found(labels):
    return [len(np.unique(found)) for found in labels]


def test_number_of_clusters_is_told_taken_from_training_or_asked_for(make, fitted):
    assert n_found(fitted.predict(X)) == [2] * 5
    assert n_found(fitted.predict(X, n_clusters=4)) == [4] * 5
    assert n_found(fitted.predict(X, n_clusters=[1, 2, 3, 4, 5])) == [1, 2, 3, 4, 5]
    assert n_found([fitted.predict(X[0], n_clusters=3)]) == [3]
    three = make(n_clusters=3).fit(X[:1], Y[:1])
    assert n_found(three.predict(X)) == [3] * 5
    assert three.n_clusters_ == three.clusterer_.n_clusters == 3

    uneven = make().fit(X[:2], [Y[0], np.arange(len(Y[1])) % 3])
    assert uneven.n_clusters_ is None
    with pytest.raises(ValueError, match=r"from 2 to 3 classes.*[Pp]ass n_clusters"):
        uneven.predict(X)
    assert n_found(uneven.predict(X, n_clusters=2)) == [2] * 5
    with pytest.raises(ValueError, match="Exactly one of n_clusters"):
        clone(uneven.clusterer_).fit(X[0])


def test_distance_threshold_decides_where_merging_stops(make):
    learner = make(distance_threshold=0.5).fit(X, Y)
    for labels, points in zip(learner.predict(X), X, strict=True):
        heights = learner.linkage_matrix(points)[:, 2]
        assert len(np.unique(labels)) == 1 + np.count_nonzero(heights >= 0.5)
        np.testing.assert_array_equal(labels, learner.clusterer_.fit_predict(points))
    assert n_found(learner.predict(X, n_clusters=2)) == [2] * 5


def test_fit_predict_without_labels_never_learns(fitted, engine_calls):
    before = vars(fitted).copy()
    new, _ = make_instances(seed=9)
    for labels, expected in zip(
        fitted.fit_predict(new), fitted.predict(new), strict=True
    ):
        np.testing.assert_array_equal(labels, expected)
    assert engine_calls == []
    assert vars(fitted) == before


def test_fit_predict_with_labels_learns_first(make, fitted):
    learner = make()
    labels = learner.fit_predict(X, Y)
    assert learned(learner) == learned(fitted)
    for ours, expected in zip(labels, fitted.predict(X), strict=True):
        np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1), (2, 3), (4, 1), (5,)])
def test_partial_fit_equals_one_fit_on_all(make, fitted, sizes, engine_calls):
    learner, start = make(), 0
    for size in sizes:
        part = slice(start, start + size)
        assert learner.partial_fit(X[part], Y[part]) is learner
        start += size
    assert learned(learner) == learned(fitted)
    assert learner.clusterer_.get_params() == fitted.clusterer_.get_params()
    assert len(engine_calls) == len(X)


def test_partial_fit_takes_single_instances_and_stacked_ones(make, fitted):
    learner = make().partial_fit(X[0], Y[0])
    rest = slice(1, None)
    groups = np.repeat(np.arange(4), list(map(len, X[rest])))
    learner.partial_fit(np.concatenate(X[rest]), np.concatenate(Y[rest]), groups)
    assert learned(learner) == learned(fitted)


def test_partial_fit_does_not_change_lists_handed_out_before(make):
    learner = make().fit(X[:1], Y[:1])
    curves = learner.instance_curves_
    learner.partial_fit(X[1], Y[1])
    assert len(curves) == 1


def test_fit_forgets_earlier_instances(make, fitted):
    learner = make().fit(X[:1], Y[:1]).fit(X, Y)
    assert learned(learner) == learned(fitted)


def raise_in(position, error):
    """A loss that fails on the instance with as many points as that one."""

    def loss(Z, labels):
        if len(labels) == len(Y[position]):
            raise error
        return 0.5

    return loss


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError("disk"), "disk"),
        (ValueError("bad"), r"X\[3\]: loss loss: bad"),
        (KeyboardInterrupt("^C"), "C"),
    ],
)
def test_a_failed_fit_leaves_the_learner_as_it_was(make, n_jobs, error, message):
    fitted = make(n_jobs=n_jobs).fit(X[:2], Y[:2])
    fitted.set_params(loss=raise_in(3, error))
    for learner in (fitted, clone(fitted)):
        before = vars(learner).copy()
        with pytest.raises(type(error), match=message):
            learner.fit(X, Y)
        assert vars(learner) == before


def test_score_is_one_minus_the_mean_loss(fitted):
    new, labels = make_instances(seed=11)
    losses = np.array(
        [
            hamming_loss(fitted.linkage_matrix(points), target)
            for points, target in zip(new, labels, strict=True)
        ]
    )
    assert fitted.score(new, labels) == pytest.approx(1 - losses.mean())
    assert fitted.score(new[0], labels[0]) == pytest.approx(1 - losses[0])
    assert fitted.score(X, Y) == pytest.approx(1 - fitted.loss_)
    weights = np.arange(5)
    expected = 1 - np.average(losses, weights=weights)
    assert fitted.score(new, labels, weights) == pytest.approx(expected)

    sizes = list(map(len, new))
    stacked = np.concatenate(new), np.concatenate(labels)
    groups, rows = np.repeat(np.arange(5), sizes), np.repeat(weights, sizes)
    score = fitted.score(*stacked, sample_weight=rows, groups=groups)
    assert score == pytest.approx(expected)
    # Only ratios count, also where sums overflow or underflow.
    for factor in (1e307, 1e-320):
        score = fitted.score(new, labels, sample_weight=np.array(weights) * factor)
        assert score == pytest.approx(expected, rel=1e-3)


def test_score_takes_the_number_of_clusters_from_the_labels(fitted):
    assert fitted.score(X[0], np.arange(len(X[0]))) == 1
    assert fitted.score(X[0], np.zeros(len(X[0]))) == 1


def test_linkage_matrix_is_a_tree_of_scipy(fitted):
    Z = fitted.linkage_matrix(X[0])
    assert is_valid_linkage(Z)
    np.testing.assert_array_equal(Z, fitted.clusterer_.fit(X[0]).linkage_matrix_)
    np.testing.assert_array_equal(fitted.linkage_matrix(X)[0], Z)
    assert fitted.linkage_matrix(X[0][:1]).shape == (0, 4)


def test_learned_clusterer_is_the_last_step_of_a_pipeline(fitted):
    pipeline = make_pipeline(StandardScaler(), clone(fitted.clusterer_))
    expected = fitted.predict(StandardScaler().fit_transform(X[0]))
    np.testing.assert_array_equal(pipeline.fit_predict(X[0]), expected)


def test_memory_spares_curves_that_are_known(make, tmp_path, engine_calls, fitted):
    make(memory=str(tmp_path)).fit(X[:3], Y[:3])
    assert len(engine_calls) == 3
    words = [np.array(["a", "b"])[y] for y in Y]
    learner = make(memory=joblib.Memory(str(tmp_path), verbose=0)).fit(X, words)
    assert len(engine_calls) == 5
    assert learned(learner) == learned(fitted)
    make(memory=str(tmp_path), n_jobs=2).fit(X, Y)
    assert len(engine_calls) == 5
    make(memory=str(tmp_path), loss="cut").fit(X[:1], Y[:1])
    assert len(engine_calls) == 6


def test_memory_tells_losses_of_one_name_apart(make, tmp_path, monkeypatch):
    module = sys.modules[__name__]
    values = []
    for source in ("return 0.25", "return 0.75"):
        path = tmp_path / f"loss_{len(values)}.py"
        path.write_text(f"def named_loss(Z, labels):\n    {source}\n")
        space = {"__name__": __name__}
        exec(compile(path.read_text(), str(path), "exec"), space)
        monkeypatch.setattr(module, "named_loss", space["named_loss"], raising=False)
        learner = make(loss=module.named_loss, memory=str(tmp_path / "cache"))
        values.append(learner.fit(X[0], Y[0]).loss_)
    assert values == [0.25, 0.75]


def test_memory_refuses_a_loss_without_a_name(make, tmp_path, engine_calls):
    with pytest.raises(ValueError, match="cannot be used with memory"):
        make(loss=lambda Z, y: 0.0, memory=str(tmp_path)).fit(X, Y)
    assert engine_calls == []


def test_nothing_is_printed_unless_asked_for(make, capfd):
    make().fit(X, Y).predict(X)
    assert capfd.readouterr() == ("", "")
    make(verbose=1).fit(X, Y)
    out, err = capfd.readouterr()
    assert out == ""
    assert "5/5" in err


def test_progress_is_shown_without_tqdm(make, capfd, monkeypatch):
    for module in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, module, None)
    make(verbose=1).fit(X, Y)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.endswith("Linkage, learning: 5/5 instances, 0:00:00 passed\n")


def test_a_fitted_learner_can_be_pickled_and_its_parameters_cloned(make, fitted):
    loaded = pickle.loads(pickle.dumps(fitted))
    assert learned(loaded) == learned(fitted)
    np.testing.assert_array_equal(loaded.predict(X[0]), fitted.predict(X[0]))
    more = make_instances(n_instances=1, seed=3)
    assert learned(loaded.partial_fit(*more)) == learned(
        make().fit(X + more[0], Y + more[1])
    )
    fresh = clone(fitted)
    assert not hasattr(fresh, "loss_")
    assert fresh.get_params() == fitted.get_params()


def test_lists_of_instances_can_be_split_by_model_selection(make):
    points, labels = make_instances(n_instances=6)
    search = GridSearchCV(make(), {"loss": ["hamming", "majority"]}, cv=3)
    search.fit(object_array(points), object_array(labels))
    assert search.best_estimator_.n_instances_ == 6
    assert search.cv_results_["mean_test_score"].min() > 0.5


def test_stacked_instances_can_be_split_with_metadata_routing(make):
    points, labels = make_instances(n_instances=6)
    groups = np.repeat(np.arange(6), list(map(len, points)))
    table, flat = np.concatenate(points), np.concatenate(labels)
    with config_context(enable_metadata_routing=True):
        learner = make()
        learner.set_fit_request(groups=True).set_score_request(groups=True)
        pipeline = make_pipeline(StandardScaler(), learner)
        scores = cross_val_score(
            pipeline, table, flat, cv=GroupKFold(3), params={"groups": groups}
        )
    assert scores.shape == (3,)
    assert scores.min() > 0.5
