import pickle

import numpy as np
import pandas as pd
import pytest
from learners import learned, make_instances, object_array
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.utils import estimator_html_repr
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_linkage_learn import LearnedLinkage
from sklearn_linkage_learn.preprocessing import PerInstance

SCALES = [1.0, 10.0, 0.1, 5.0, 2.0, 7.0]
X, Y = make_instances(6)
X = [points * scale + scale for points, scale in zip(X, SCALES, strict=True)]
TABLE, LABELS = np.concatenate(X), np.concatenate(Y)
GROUPS = np.repeat(np.arange(6), list(map(len, X)))
SHUFFLED = np.random.default_rng(0).permutation(len(TABLE))


# A scaler that is fitted on each instance is not listed: one of the checks wants single
# rows to be transformed as if they were among the others.
@parametrize_with_checks(
    [
        PerInstance(Normalizer()),
        PerInstance(StandardScaler(), fit_on="all"),
        PerInstance(PCA(1), fit_on="all"),
    ]
)
def test_transformers_pass_the_checks_of_sklearn(estimator, check):
    check(estimator)


def scaled_by(points, mean, deviation):
    return (points - mean) / deviation


def test_each_instance_is_transformed_by_itself():
    transformed = PerInstance(StandardScaler()).fit(X[:3]).transform(X)
    assert isinstance(transformed, list)
    for ours, points in zip(transformed, X, strict=True):
        expected = scaled_by(points, points.mean(axis=0), points.std(axis=0))
        np.testing.assert_allclose(ours, expected)


def test_all_instances_are_transformed_by_what_the_first_ones_had_in_common():
    transformed = PerInstance(StandardScaler(), fit_on="all").fit(X[:3]).transform(X)
    known = np.concatenate(X[:3])
    for ours, points in zip(transformed, X, strict=True):
        expected = scaled_by(points, known.mean(axis=0), known.std(axis=0))
        np.testing.assert_allclose(ours, expected)


@pytest.mark.parametrize("fit_on", ["each", "all"])
def test_all_forms_are_transformed_alike_and_keep_their_form(fit_on):
    scaler = PerInstance(MinMaxScaler(), fit_on=fit_on)
    expected = scaler.fit_transform(X)
    for form in (tuple, object_array, list):
        for ours, theirs in zip(scaler.fit_transform(form(X)), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    same = [points[:16] for points in X]
    for ours, theirs in zip(
        scaler.fit_transform(np.stack(same)), scaler.fit_transform(same), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)

    stacked = scaler.fit_transform(TABLE[SHUFFLED], groups=GROUPS[SHUFFLED])
    assert stacked.shape == TABLE.shape
    for group in range(6):
        rows = np.flatnonzero(GROUPS[SHUFFLED] == group)
        place = SHUFFLED[rows] - np.flatnonzero(group == GROUPS)[0]
        np.testing.assert_array_equal(stacked[rows], expected[group][place])
    again = scaler.transform(TABLE[SHUFFLED], groups=GROUPS[SHUFFLED])
    np.testing.assert_array_equal(again, stacked)

    single = scaler.fit(X[0]).transform(X[0])
    np.testing.assert_array_equal(single, MinMaxScaler().fit_transform(X[0]))


def test_a_transformer_without_fit_transform_will_do():
    class Centred(BaseEstimator):
        def fit(self, X, y=None):
            self.mean_ = np.mean(X, axis=0)
            return self

        def transform(self, X):
            return X - self.mean_

    for ours, points in zip(PerInstance(Centred()).fit_transform(X), X, strict=True):
        np.testing.assert_allclose(ours, points - points.mean(axis=0))


def test_labels_help_a_transformer_that_is_fitted_on_all():
    supervised = PerInstance(LinearDiscriminantAnalysis(), fit_on="all")
    expected = LinearDiscriminantAnalysis().fit(TABLE, LABELS)
    for ours, points in zip(supervised.fit_transform(X, Y), X, strict=True):
        np.testing.assert_allclose(ours, expected.transform(points))
    seen = []

    class Spy(FunctionTransformer):
        def fit(self, X, y=None):
            seen.append(y)
            return super().fit(X)

    PerInstance(Spy()).fit(X, Y)
    assert seen == [None] * 6


def test_tables_of_words_become_tables_of_numbers():
    frames = [
        pd.DataFrame({"kind": ["a", "b", "a"], "size": [1.0, 2.0, 3.0 + i]})
        for i in range(3)
    ]
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["kind"]), (StandardScaler(), ["size"])
    )
    numbers = PerInstance(columns, fit_on="all").fit_transform(frames)
    assert [table.shape for table in numbers] == [(3, 3)] * 3
    np.testing.assert_array_equal(numbers[0][:, :2], [[1, 0], [0, 1], [1, 0]])


@pytest.mark.parametrize("fit_on", ["each", "all"])
def test_output_of_pandas_has_names(fit_on):
    frames = [pd.DataFrame(points, columns=["x", "y"]) for points in X]
    scaler = PerInstance(StandardScaler(), fit_on=fit_on).set_output(transform="pandas")
    made = scaler.fit_transform(frames)
    assert all(list(frame.columns) == ["x", "y"] for frame in made)
    assert scaler.get_feature_names_out().tolist() == ["x", "y"]
    assert scaler.feature_names_in_.tolist() == ["x", "y"]
    table = pd.DataFrame(TABLE, columns=["x", "y"])
    stacked = scaler.fit_transform(table, groups=GROUPS)
    assert list(stacked.columns) == ["x", "y"]
    np.testing.assert_array_equal(stacked, np.concatenate(made))
    assert isinstance(
        scaler.set_output(transform="default").transform(frames[0]), np.ndarray
    )


@pytest.mark.parametrize("fit_on", ["each", "all"])
def test_rows_of_a_stacked_frame_keep_their_names(fit_on):
    scaler = PerInstance(StandardScaler(), fit_on=fit_on).set_output(transform="pandas")
    names = [f"row {i}" for i in SHUFFLED]
    table = pd.DataFrame(TABLE[SHUFFLED], index=names, columns=["x", "y"])
    groups = GROUPS[SHUFFLED]
    made = scaler.fit_transform(table, groups=groups)
    assert list(made.index) == names
    pd.testing.assert_frame_equal(made, scaler.transform(table, groups=groups))
    unnamed = scaler.fit_transform(TABLE[SHUFFLED], groups=groups)
    assert list(unnamed.index) == list(range(len(TABLE)))
    np.testing.assert_allclose(made, unnamed)


@pytest.mark.parametrize("fit_on", ["each", "all"])
def test_stacked_tables_of_polars_stay_such(fit_on):
    pl = pytest.importorskip("polars")
    scaler = PerInstance(StandardScaler(), fit_on=fit_on).set_output(transform="polars")
    table = pl.DataFrame(TABLE[SHUFFLED], schema=["x", "y"])
    made = scaler.fit_transform(table, groups=GROUPS[SHUFFLED])
    assert isinstance(made, pl.DataFrame)
    assert made.columns == ["x", "y"]
    expected = clone(scaler).set_output(transform="default")
    expected = expected.fit_transform(TABLE[SHUFFLED], groups=GROUPS[SHUFFLED])
    np.testing.assert_allclose(made.to_numpy(), expected)


def test_sparse_tables_stay_sparse():
    tables = [sparse.csr_matrix(points) for points in X]
    scaler = PerInstance(StandardScaler(with_mean=False), fit_on="all")
    made = scaler.fit_transform(tables)
    expected = StandardScaler(with_mean=False).fit(TABLE)
    for ours, points in zip(made, X, strict=True):
        np.testing.assert_allclose(ours.toarray(), expected.transform(points))


def test_a_learner_in_a_pipeline_sees_transformed_instances():
    pipeline = make_pipeline(PerInstance(StandardScaler()), LearnedLinkage())
    pipeline.fit(X, Y)
    scaled = [StandardScaler().fit_transform(points) for points in X]
    expected = LearnedLinkage().fit(scaled, Y)
    assert learned(pipeline[-1]) == learned(expected)
    for ours, theirs in zip(pipeline.predict(X), expected.predict(scaled), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    weights = np.arange(6.0)
    assert pipeline.score(X, Y, sample_weight=weights) == expected.score(
        scaled, Y, weights
    )


def test_what_a_transformer_is_fitted_on_can_be_searched_for():
    pipeline = make_pipeline(PerInstance(StandardScaler()), LearnedLinkage())
    grid = {
        "perinstance__fit_on": ["each", "all"],
        "perinstance__transformer__with_std": [True, False],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    assert len(search.cv_results_["params"]) == 4
    assert np.ptp(search.cv_results_["mean_test_score"]) > 0


def test_groups_are_routed_through_a_pipeline():
    with config_context(enable_metadata_routing=True):
        before = PerInstance(StandardScaler())
        before.set_fit_request(groups=True).set_transform_request(groups=True)
        learner = LearnedLinkage()
        learner.set_fit_request(groups=True).set_score_request(groups=True)
        learner.set_predict_request(groups=True)
        pipeline = make_pipeline(before, learner)
        cross_val_score(
            pipeline, TABLE, LABELS, cv=GroupKFold(3), params={"groups": GROUPS}
        )
        pipeline.fit(TABLE, LABELS, groups=GROUPS)
        score = pipeline.score(TABLE, LABELS, groups=GROUPS)
        labels = pipeline.predict(TABLE, groups=GROUPS)
    expected = make_pipeline(PerInstance(StandardScaler()), LearnedLinkage())
    assert score == expected.fit(X, Y).score(X, Y)
    np.testing.assert_array_equal(labels, np.concatenate(expected.predict(X)))


def test_it_can_be_shown_cloned_and_pickled():
    scaler = PerInstance(StandardScaler(), fit_on="all").fit(X)
    assert "StandardScaler" in estimator_html_repr(scaler)
    assert not hasattr(clone(scaler), "transformer_")
    loaded = pickle.loads(pickle.dumps(scaler))
    np.testing.assert_array_equal(loaded.transform(X[0]), scaler.transform(X[0]))
    scaler.set_params(transformer__with_mean=False)
    assert not scaler.transformer.with_mean


BAD = [*X[:2], np.full((5, 2), np.nan), *X[3:]]
NARROW = [*X[:2], X[2][:, :1], *X[3:]]


@pytest.mark.parametrize("fit_on", ["each", "all"])
@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((NARROW,), {}, r"X\[2\]: X has 1 features"),
        (([],), {}, "X holds no instances"),
        ((X,), {"groups": GROUPS}, "already a collection"),
        ((TABLE,), {"groups": GROUPS[1:]}, r"groups: Found \d+ group"),
        ((X[0][:, 0],), {}, "X: Expected 2D array"),
        ((X, Y[:2]), {}, "y holds the labels of 2 instances, but X holds 6"),
    ],
)
def test_bad_input_is_refused_and_leaves_it_as_it_was(fit_on, args, kwargs, message):
    if fit_on == "each" and len(args) == 2:
        args, message = (NARROW,), "X has 1"
    scaler = PerInstance(StandardScaler(), fit_on=fit_on).fit(X)
    before = vars(scaler).copy()
    with pytest.raises(ValueError, match=message):
        scaler.fit(*args, **kwargs)
    assert vars(scaler) == before


def test_an_error_of_the_transformer_names_the_instance():
    with pytest.raises(ValueError, match=r"X\[2\]: Input X contains NaN"):
        PerInstance(Normalizer()).fit(BAD)
    scaler = PerInstance(StandardScaler()).fit(X)
    with pytest.raises(ValueError, match=r"X\[2\]: X has 1 features"):
        scaler.transform(NARROW)
    with pytest.raises(ValueError, match=r"X\[groups == 2\]: Input X contains NaN"):
        PerInstance(Normalizer()).fit(
            np.concatenate(BAD), groups=np.repeat(np.arange(6), list(map(len, BAD)))
        )
    with pytest.raises(NotFittedError):
        PerInstance(StandardScaler()).transform(X)
    with pytest.raises(ValueError, match="The 'fit_on' parameter"):
        PerInstance(StandardScaler(), fit_on="some").fit(X)
