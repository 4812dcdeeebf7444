"""Learners inside scikit-learn's own tools, as its users would put them there."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from learners import LEARNERS, learned, make_instances, object_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr
from sklearn.utils.fixes import parse_version

from sklearn_linkage_learn import InterpolatedLinkage, LearnedMetricLinkage

# Before this version nothing is routed to the score of a pipeline that is validated.
ROUTED_SCORE = parse_version(sklearn.__version__) >= parse_version("1.8")
N = 9
X, Y = make_instances(N)
WEIGHTS = np.arange(1.0, N + 1)
GROUPS = np.repeat(np.arange(N), list(map(len, X)))
TABLE, LABELS, ROW_WEIGHTS = np.concatenate(X), np.concatenate(Y), WEIGHTS[GROUPS]
LOSSES = ["hamming", "majority", "cut"]
COLLECTIONS = {
    "list": (X, Y),
    "objects": (object_array(X), object_array(Y)),
    "3-D": (np.stack([x[:16] for x in X]), np.stack([y[:16] for y in Y])),
}


@pytest.fixture(params=LEARNERS.values(), ids=LEARNERS.keys())
def make(request):
    return request.param


@pytest.fixture(params=COLLECTIONS.values(), ids=COLLECTIONS.keys())
def collection(request):
    return request.param


def fold_scores(learner, points, labels, weights=None):
    """What three-fold cross-validation means, by hand."""
    scores = []
    for start in (0, 3, 6):
        held_out = range(start, start + 3)
        rest = [i for i in range(N) if i not in held_out]
        learner = clone(learner).fit(
            [points[i] for i in rest],
            [labels[i] for i in rest],
            instance_weight=None if weights is None else weights[rest],
        )
        scores.append(
            learner.score([points[i] for i in held_out], [labels[i] for i in held_out])
        )
    return scores


@pytest.mark.parametrize(
    "search",
    [
        lambda learner: GridSearchCV(learner, {"loss": LOSSES}, cv=3),
        lambda learner: RandomizedSearchCV(
            learner, {"loss": LOSSES}, n_iter=3, cv=3, random_state=0
        ),
    ],
    ids=["grid", "randomized"],
)
def test_searches_split_collections_by_instance(make, collection, search):
    points, labels = collection
    search = search(make()).fit(points, labels)
    found = search.cv_results_
    for loss, mean in zip(found["param_loss"], found["mean_test_score"], strict=True):
        expected = np.mean(fold_scores(make(loss=loss), points, labels))
        assert mean == pytest.approx(expected)
    best = make(**search.best_params_).fit(points, labels)
    assert learned(search.best_estimator_) == learned(best)
    assert len(search.predict(points)) == N


def test_a_halving_search_gives_candidates_ever_more_instances(make, collection):
    search = HalvingGridSearchCV(
        make(), {"loss": LOSSES}, cv=KFold(3), factor=3, min_resources=3, random_state=0
    )
    search.fit(*collection)
    assert search.n_resources_ == [3, 9]
    assert search.best_estimator_.n_instances_ == N
    assert search.best_score_ > 0.5


def test_cross_validation_scores_held_out_instances(make, collection):
    found = cross_validate(
        make(), *collection, cv=3, return_train_score=True, return_estimator=True
    )
    assert found["test_score"] == pytest.approx(fold_scores(make(), *collection))
    for learner, score in zip(found["estimator"], found["train_score"], strict=True):
        assert score == pytest.approx(1 - learner.loss_)
        assert learner.n_instances_ == 6


@pytest.mark.parametrize("incremental", [False, True])
def test_learning_curves_count_instances(make, collection, incremental):
    sizes, train, test = learning_curve(
        make(),
        *collection,
        cv=3,
        train_sizes=[2, 4, 6],
        exploit_incremental_learning=incremental,
    )
    assert sizes.tolist() == [2, 4, 6]
    assert train.shape == (3, 3)
    assert test[-1] == pytest.approx(fold_scores(make(), *collection))


def test_validation_curves_take_parameters_of_learners(make, collection):
    _, test = validation_curve(
        make(), *collection, param_name="loss", param_range=LOSSES, cv=3
    )
    for loss, scores in zip(LOSSES, test, strict=True):
        assert scores == pytest.approx(fold_scores(make(loss=loss), *collection))


def test_searches_hand_instance_weights_to_fit(make):
    search = GridSearchCV(make(), {"loss": ["hamming"]}, cv=3)
    search.fit(X, Y, instance_weight=WEIGHTS)
    expected = fold_scores(make(), X, Y, WEIGHTS)
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(np.mean(expected))
    best = make().fit(X, Y, instance_weight=WEIGHTS)
    assert learned(search.best_estimator_) == learned(best)


def routed(learner):
    """The learner in a pipeline on a table, with all that has to be passed to it."""
    learner.set_fit_request(groups=True, instance_weight=True)
    learner.set_score_request(groups=True, sample_weight=True)
    learner.set_predict_request(groups=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    return make_pipeline(scaler, PCA(2), learner)


def by_hand(make, train, test):
    """The score of a fold."""
    inside = np.isin(GROUPS, train)
    before = make_pipeline(StandardScaler(), PCA(2)).fit(TABLE[inside])
    learner = make().fit(
        [before.transform(X[i]) for i in train],
        [Y[i] for i in train],
        instance_weight=WEIGHTS[train],
    )
    new, labels = [before.transform(X[i]) for i in test], [Y[i] for i in test]
    if not ROUTED_SCORE:
        return learner.score(np.concatenate(new), np.concatenate(labels))
    return learner.score(new, labels)


def test_stacked_instances_are_split_by_group_and_routed_with_their_weights(make):
    params = {"groups": GROUPS, "instance_weight": ROW_WEIGHTS}
    cv = GroupKFold(3)
    with config_context(enable_metadata_routing=True):
        pipeline = routed(make())
        scores = cross_val_score(pipeline, TABLE, LABELS, cv=cv, params=params)
        name = pipeline.steps[-1][0]
        search = GridSearchCV(pipeline, {f"{name}__loss": LOSSES}, cv=cv)
        search.fit(TABLE, LABELS, **params)
        _, by_loss = validation_curve(
            pipeline,
            TABLE,
            LABELS,
            param_name=f"{name}__loss",
            param_range=LOSSES,
            cv=cv,
            params=params,
        )
        labels = search.best_estimator_.predict(TABLE, groups=GROUPS)
    expected = []
    for train, test in cv.split(TABLE, groups=GROUPS):
        train, test = np.unique(GROUPS[train]), np.unique(GROUPS[test])
        assert not set(train) & set(test)
        expected.append(by_hand(make, train, test))
    assert scores == pytest.approx(expected)
    assert by_loss[0] == pytest.approx(expected)
    found = dict(
        zip(
            search.cv_results_[f"param_{name}__loss"],
            search.cv_results_["mean_test_score"],
            strict=True,
        )
    )
    assert found["hamming"] == pytest.approx(np.mean(expected))
    assert labels.shape == (len(TABLE),)


def test_weights_of_stacked_instances_are_routed_to_score(make):
    params = {"groups": GROUPS, "sample_weight": ROW_WEIGHTS}
    cv = GroupKFold(3)
    with config_context(enable_metadata_routing=True):
        learner = routed(make())[-1]
        scores = cross_val_score(learner, TABLE, LABELS, cv=cv, params=params)
    for score, (train, test) in zip(
        scores, cv.split(TABLE, groups=GROUPS), strict=True
    ):
        fitted = make().fit(TABLE[train], LABELS[train], GROUPS[train])
        expected = fitted.score(
            TABLE[test], LABELS[test], ROW_WEIGHTS[test], GROUPS[test]
        )
        assert score == pytest.approx(expected)


def test_a_pipeline_passes_sample_weight_to_score(make):
    pipeline = make_pipeline("passthrough", make()).fit(X, Y)
    learner = make().fit(X, Y)
    weights = WEIGHTS[::-1]
    score = pipeline.score(X, Y, sample_weight=weights)
    assert score == learner.score(X, Y, sample_weight=weights)
    assert score != pipeline.score(X, Y)
    with config_context(enable_metadata_routing=True):
        pipeline = routed(make()).fit(TABLE, LABELS, groups=GROUPS)
        score = pipeline.score(TABLE, LABELS, groups=GROUPS, sample_weight=ROW_WEIGHTS)
        assert score != pipeline.score(TABLE, LABELS, groups=GROUPS)


def test_what_is_not_requested_is_refused_rather_than_dropped(make):
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), make())
        with pytest.raises(ValueError, match="groups"):
            pipeline.fit(TABLE, LABELS, groups=GROUPS)


def test_float32_input_is_learned_as_the_same_numbers_in_float64(make):
    single = [x.astype(np.float32) for x in X]
    double = [x.astype(np.float64) for x in single]
    ours, theirs = make().fit(single, Y), make().fit(double, Y)
    assert learned(ours) == learned(theirs)
    for a, b in zip(ours.predict(single), theirs.predict(double), strict=True):
        np.testing.assert_array_equal(a, b)


def read_only_maps(arrays, directory):
    maps = []
    for i, array in enumerate(arrays):
        path = directory / f"{array.dtype}_{i}.npy"
        np.save(path, array)
        maps.append(np.load(path, mmap_mode="r"))
    return maps


def test_instances_may_be_read_only_memory_maps(make, tmp_path):
    points, labels = read_only_maps(X, tmp_path), read_only_maps(Y, tmp_path)
    assert not points[0].flags.writeable
    learner = make().fit(points, labels)
    assert learned(learner) == learned(make().fit(X, Y))
    expected = learner.predict(X)
    for found, wanted in zip(learner.predict(points), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    table = read_only_maps([TABLE], tmp_path)[0]
    stacked = make().fit(table, LABELS, GROUPS)
    assert learned(stacked) == learned(learner)


def test_distances_may_be_read_only_memory_maps(tmp_path):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(2, 12, 1))
    pair = np.abs(points - points.transpose(0, 2, 1))
    (stored,) = read_only_maps([pair], tmp_path)
    labels = np.repeat([0, 1], 6)
    ours = LearnedMetricLinkage("precomputed").fit(stored, labels)
    theirs = LearnedMetricLinkage("precomputed").fit(pair, labels)
    assert learned(ours) == learned(theirs)


def as_frames(names):
    return [pd.DataFrame(x, columns=names) for x in X]


def test_names_of_features_are_remembered_and_compared(make):
    learner = make().fit(as_frames(["across", "up"]), Y)
    assert learner.feature_names_in_.tolist() == ["across", "up"]
    assert learner.n_features_in_ == 2
    learner.predict(as_frames(["across", "up"]))
    new = as_frames(["across", "up"])
    new[2] = new[2][["up", "across"]]
    with pytest.raises(ValueError, match=r"X\[2\]: The feature names should match"):
        learner.predict(new)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        learner.predict(X[0])


def test_learners_show_themselves_in_notebooks(make):
    learner = make(loss="cut")
    assert "Not fitted" in estimator_html_repr(learner)
    html = estimator_html_repr(learner.fit(X, Y))
    assert "Fitted" in html
    assert "cut" in html
    search = GridSearchCV(make_pipeline(StandardScaler(), learner), {})
    assert type(learner).__name__ in estimator_html_repr(search)


def test_parameters_can_be_set_through_a_pipeline(make):
    pipeline = make_pipeline(StandardScaler(), make())
    name = pipeline.steps[-1][0]
    pipeline.set_params(**{f"{name}__loss": "ari", f"{name}__n_jobs": 2})
    assert pipeline[-1].loss == "ari"
    assert clone(pipeline)[-1].n_jobs == 2
    with pytest.raises(ValueError, match="Invalid parameter 'loss_'"):
        pipeline[-1].set_params(loss_="ari")


def test_the_learned_clusterer_ends_an_ordinary_pipeline(make):
    scaled = [StandardScaler().fit_transform(x) for x in X]
    learner = make().fit(scaled, Y)
    pipeline = make_pipeline(StandardScaler(), clone(learner.clusterer_))
    for points, expected in zip(X, learner.predict(scaled), strict=True):
        np.testing.assert_array_equal(pipeline.fit_predict(points), expected)
    assert isinstance(pipeline[-1], InterpolatedLinkage)
