import json
from copy import deepcopy
from functools import partial

import numpy as np
import pandas as pd
import pytest
from learners import X, Y, learned
from scipy.spatial.distance import pdist, squareform
from sklearn.exceptions import NotFittedError

from sklearn_linkage_learn import (
    InterpolatedLinkage,
    LearnedLinkage,
    LearnedMetricLinkage,
    PiecewiseConstant,
    __version__,
    from_json,
    to_json,
)
from sklearn_linkage_learn._base import TrainingInstance
from sklearn_linkage_learn.losses import LOSSES, cut_loss

BLOCKS = (("left", "euclidean", [0, 1]), ("right", "euclidean", slice(2, 4)))
FAMILIES = [
    *(
        partial(LearnedLinkage, linkages)
        for linkages in [("single", "complete"), ["average", "complete"]]
    ),
    *(
        partial(LearnedMetricLinkage, BLOCKS, linkage=linkage, normalize=normalize)
        for linkage in ("single", "complete", "average", "ward")
        for normalize in (None, "mean", "max", "instance_max")
    ),
]


def make_tables(rng, sizes):
    """Points with ties, in blocks of columns of different units."""
    points = [
        rng.integers(0, 4, size=(n, 4)) * np.repeat(rng.uniform(0.1, 50, size=2), 2)
        for n in sizes
    ]
    return points, [rng.integers(0, 3, size=n) for n in sizes]


def assert_same(ours, theirs):
    """Two learners are the same, and do the same with new instances."""
    assert learned(ours) == learned(theirs)
    assert ours._training == theirs._training
    assert vars(ours).keys() == vars(theirs).keys()
    assert to_json(ours) == to_json(theirs)
    assert to_json(ours.clusterer_) == to_json(theirs.clusterer_)


def assert_same_results(ours, theirs, new, labels):
    assert ours.score(new, labels) == theirs.score(new, labels)
    for one, other in zip(
        [*ours.predict(new, 2), *ours.linkage_matrix(new)],
        [*theirs.predict(new, 2), *theirs.linkage_matrix(new)],
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_learner_is_the_same_after_json_and_learns_on(loss):
    rng = np.random.default_rng(0)
    for make in FAMILIES:
        # An instance of one point has no mean distance.
        X, y = make_tables(rng, [*rng.integers(2, 12, size=4), 1])
        weights = rng.choice([0.3, 1, 2], size=4)
        learner = make(loss=loss).fit(X[1:], y[1:], instance_weight=weights)
        loaded = from_json(to_json(learner))
        assert_same(loaded, learner)
        assert_same_results(loaded, learner, X[:4], y[:4])
        assert_same(loaded.partial_fit(X[0], y[0]), learner.partial_fit(X[0], y[0]))


def test_curves_that_are_not_exact_keep_their_bounds():
    learner = LearnedLinkage().fit(X[0], Y[0])
    curve = PiecewiseConstant([0, 0.3, 1], [0.5, 1 / 3], [0.5, 0.1])
    learner._restore([TrainingInstance(curve, 2, 0.5), *learner._training])
    loaded = from_json(to_json(learner))
    assert loaded.instance_curves_[0] == curve
    assert not loaded.loss_curve_.is_exact
    assert_same(loaded, learner)


@pytest.mark.parametrize(
    "columns",
    [
        0,
        -1,
        np.int64(1),
        np.array(1),
        [0, 2],
        (0, 2),
        np.array([2, 0], dtype=np.uint8),
        range(1, 3),
        [True, False, True, False],
        np.array([True, False, True, False]),
        slice(None),
        slice(np.int64(1), None, 2),
        slice("b", "c"),
        slice("b", None, -1),
        "c",
        ["a", "c"],
        np.array(["a", "c"]),
        pd.Index(["d", "a"]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("outer", [tuple, list])
def test_columns_of_all_forms_are_kept(columns, outer):
    points, labels = make_tables(np.random.default_rng(0), [6, 8])
    frames = [pd.DataFrame(x, columns=list("abcd")) for x in points]
    metrics = outer([("some", "l2", columns), "cosine"])
    learner = LearnedMetricLinkage(metrics).fit(frames, labels)
    loaded = from_json(to_json(learner))
    assert loaded._family == learner._family
    assert loaded.feature_names_in_.dtype == object
    assert_same(loaded, learner)
    assert_same_results(loaded, learner, frames, labels)
    assert_same(
        loaded.partial_fit(frames[0], labels[0]),
        learner.partial_fit(frames[0], labels[0]),
    )
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frames[0].rename(columns={"a": "z"}))


@pytest.mark.parametrize("make", [LearnedLinkage, LearnedMetricLinkage])
def test_precomputed_instances_have_no_features(make):
    points, labels = make_tables(np.random.default_rng(0), [6, 8])
    matrices = [squareform(pdist(x)) for x in points]
    if make is LearnedMetricLinkage:
        matrices = [np.stack([m, m**2]) for m in matrices]
    name = "metric" if make is LearnedLinkage else "metrics"
    learner = make(**{name: "precomputed"}).fit(matrices, labels)
    document = json.loads(to_json(learner))
    assert document["n_features_in"] is document["feature_names_in"] is None
    loaded = from_json(to_json(learner))
    assert_same(loaded, learner)
    assert_same_results(loaded, learner, matrices, labels)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"n_clusters": np.int64(3)}, 3),
        ({"distance_threshold": np.float32(0.3)}, float(np.float32(0.3))),
        ({"distance_threshold": 1}, 1),
        ({"algorithm": "execution_tree"}, "execution_tree"),
    ],
)
def test_parameters_of_predict_are_kept_as_plain_values(params, expected):
    learner = LearnedLinkage(**params).fit(X, Y)
    loaded = from_json(to_json(learner))
    value = getattr(loaded, *params)
    assert (type(value), value) == (type(expected), expected)
    assert loaded.algorithm_ == learner.algorithm_
    for ours, theirs in zip(loaded.predict(X), learner.predict(X), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_parameters_of_a_machine_are_not_written(tmp_path):
    learner = LearnedLinkage(n_jobs=2, memory=str(tmp_path), verbose=0).fit(X, Y)
    text = to_json(learner)
    assert tmp_path.name not in text
    assert text == to_json(LearnedLinkage().fit(X, Y))
    assert from_json(text).n_jobs is None


def test_every_other_parameter_is_written():
    for estimator in (
        LearnedLinkage().fit(X, Y),
        LearnedMetricLinkage().fit(X, Y),
        InterpolatedLinkage(),
    ):
        written = json.loads(to_json(estimator))["params"].keys()
        left_out = estimator.get_params().keys() - written
        assert left_out <= {"n_jobs", "memory", "verbose"}


def test_the_learned_weight_stands_in_front_for_other_programs():
    learner = LearnedMetricLinkage(normalize="max", n_clusters=3).fit(X, Y)
    text = to_json(learner)
    document = json.loads(text)
    assert text.isascii()
    assert list(document)[4] == "beta"
    assert document["beta"] == learner.beta_
    assert tuple(document["beta_interval"]) == learner.beta_interval_
    assert document["mean_loss"] == learner.loss_
    assert tuple(document["scales"]) == learner.scales_
    assert document["n_clusters"] == 3
    assert document["package_version"] == __version__
    assert f'\n  "beta": {learner.beta_!r},\n' in text


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"linkages": ("single", "average"), "alpha": np.array([1, 2])},
        {"linkages": ["single", "complete"], "alpha": 0.3, "n_clusters": 3},
        {"metric": list(BLOCKS), "beta": np.float64(0.25), "scale": np.array([1, 0.5])},
        {"metric": BLOCKS, "scale": "max", "linkages": "ward"},
        {"distance_threshold": 1.5, "n_clusters": None},
    ],
)
def test_a_clusterer_keeps_its_parameters(params):
    points = make_tables(np.random.default_rng(0), [12])[0][0]
    clusterer = InterpolatedLinkage(**params).fit(points)
    loaded = from_json(to_json(clusterer))
    assert vars(loaded).keys() == loaded.get_params().keys()
    assert to_json(loaded) == to_json(clusterer)
    loaded.fit(points)
    np.testing.assert_array_equal(loaded.linkage_matrix_, clusterer.linkage_matrix_)
    np.testing.assert_array_equal(loaded.labels_, clusterer.labels_)


def test_the_clusterer_of_a_learner_is_all_it_takes_to_cluster():
    learner = LearnedMetricLinkage(normalize="mean").fit(X, Y)
    text = to_json(learner.clusterer_)
    assert len(text) < 500
    np.testing.assert_array_equal(
        from_json(text).fit_predict(X[0]), learner.predict(X[0])
    )


def named_loss(Z, labels):
    return cut_loss(Z, labels)


def first_difference(x, y):
    return abs(x[0] - y[0])


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LearnedLinkage(loss=named_loss), "loss is a function, .*named_loss"),
        (LearnedLinkage(metric=first_difference), "metric is a function"),
        (
            LearnedMetricLinkage(["l1", ("x", first_difference, [0])]),
            r"metrics\[1\]\[1\] is a function, .*first_difference.*precomputed",
        ),
        (InterpolatedLinkage(metric=first_difference), "metric is a function"),
    ],
)
def test_functions_are_refused(estimator, message):
    fitted = estimator.fit(X[0], Y[0])
    with pytest.raises(ValueError, match=message):
        to_json(fitted)


@pytest.mark.parametrize("weight", [np.inf, np.nan, 1j, {1}, object()])
def test_what_json_cannot_hold_is_refused(weight):
    clusterer = InterpolatedLinkage(linkages=("single", "complete"), alpha=[1, weight])
    with pytest.raises(ValueError, match=r"alpha\[1\] is .*JSON cannot hold"):
        to_json(clusterer)


def test_only_fitted_estimators_of_this_package_are_written():
    class Mine(LearnedLinkage):
        pass

    with pytest.raises(NotFittedError):
        to_json(LearnedLinkage())
    for other in (Mine().fit(X, Y), "learner", None, LearnedLinkage):
        with pytest.raises(TypeError, match="must be one of InterpolatedLinkage, "):
            to_json(other)
    with pytest.raises(ValueError, match="'linkages' parameter"):
        to_json(InterpolatedLinkage(linkages="centroid"))


@pytest.mark.parametrize(
    ("fitted", "changed", "message"),
    [
        ({}, {"loss": "ari"}, "to_json cannot write curves of another family or loss"),
        ({}, {"normalize": "max"}, "another family"),
        ({}, {"linkage": "single"}, "another family"),
        ({}, {"n_clusters": 2, "distance_threshold": 1.0}, "At most one of"),
        ({"n_clusters": 5}, {"n_clusters": None}, "set to None after fit"),
        (
            {"distance_threshold": 0.5},
            {"distance_threshold": None},
            "set to None after fit",
        ),
    ],
)
def test_parameters_that_did_not_lead_to_what_was_learned_are_refused(
    fitted, changed, message
):
    learner = LearnedMetricLinkage(**fitted).fit(X, Y).set_params(**changed)
    before = vars(learner).copy()
    with pytest.raises(ValueError, match=message):
        to_json(learner)
    assert vars(learner) == before


@pytest.mark.parametrize(
    "changed",
    [{"n_clusters": 3}, {"distance_threshold": 0.5}, {"n_jobs": 2}, {"verbose": 1}],
)
def test_parameters_that_predict_follows_at_once_may_be_changed(changed):
    learner = LearnedMetricLinkage().fit(X, Y).set_params(**changed)
    loaded = from_json(to_json(learner))
    for ours, theirs in zip(loaded.predict(X), learner.predict(X), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def documents():
    rng = np.random.default_rng(0)
    points, labels = make_tables(rng, [14, 9])
    frames = [pd.DataFrame(x, columns=list("abcd")) for x in points]
    learners = [
        LearnedLinkage().fit(points, labels),
        LearnedMetricLinkage(BLOCKS, normalize="mean").fit(frames, labels),
        LearnedMetricLinkage(normalize="instance_max").fit(points, labels),
    ]
    learners.append(learners[1].clusterer_)
    return [json.loads(to_json(learner)) for learner in learners]


LINKAGE, METRIC, SCALED, CLUSTERER = documents()


def edited(document, path, value):
    document = deepcopy(document)
    *parents, last = path
    inner = document
    for key in parents:
        inner = inner[key]
    if value is DELETED:
        del inner[last]
    else:
        inner[last] = value
    return json.dumps(document)


DELETED = object()
FIRST = ("instances", 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "^text must be JSON, not the name of a file"),
        ("learner.json", "^text must be JSON, not the name of a file"),
        ('{"format": ', "^text must be JSON, not the name of a file"),
        ("\x80\x04.", "^text must be JSON, not the name of a file"),
        ('{"format": NaN}', "text must be JSON.*NaN is no number"),
        ('{"format": -Infinity}', "-Infinity is no number"),
        ('{"format": 1' + 400 * "0" + "}", "is too large"),
        ('{"format": 1' + 9000 * "0" + "}", "is too large"),
        (100_000 * "[", "text (is nested too deeply|must be JSON)"),
        ("[]", "text is not from to_json: its field 'format'"),
        ("{}", "text is not from to_json"),
        ("null", "text is not from to_json"),
        ('{"format": "nbformat"}', "text is not from to_json"),
    ],
    ids=lambda text: text[:20],
)
def test_other_texts_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        from_json(text)


@pytest.mark.parametrize(
    ("document", "path", "value", "message"),
    [
        (LINKAGE, ("format_version",), DELETED, "'format_version' is missing"),
        (LINKAGE, ("format_version",), "1", "format_version must be an integer"),
        (LINKAGE, ("format_version",), True, "format_version must be an integer"),
        (LINKAGE, ("format_version",), 0, "format_version must be positive"),
        (LINKAGE, ("format_version",), 2, "format_version 2 is newer .* Upgrade to"),
        (LINKAGE, ("class",), DELETED, "'class' is missing"),
        (LINKAGE, ("class",), ["KMeans"], "class must be a string"),
        (LINKAGE, ("class",), "KMeans", "class must be one of .*, got 'KMeans'"),
        (LINKAGE, ("class",), "LearnedMetricLinkage", "params: .*has no parameter"),
        (LINKAGE, ("params",), [], "params must be an object"),
        (LINKAGE, ("params", "loss"), DELETED, "params: The field 'loss' is missing"),
        (LINKAGE, ("params", "n_jobs"), 2, "LearnedLinkage has no parameter 'n_jobs'"),
        (LINKAGE, ("params", "loss"), "zero_one", "The 'loss' parameter"),
        (LINKAGE, ("params", "linkages"), ["single"], "linkages must be two"),
        (LINKAGE, ("params", "linkages"), "single", "The 'linkages' parameter"),
        (LINKAGE, ("params", "metric"), {"a": 1}, "params: metric must not be an obj"),
        (LINKAGE, ("params", "metric"), "precomputed", "n_features_in must be null if"),
        (LINKAGE, ("params", "n_clusters"), 2.0, "The 'n_clusters' parameter"),
        (LINKAGE, ("params", "distance_threshold"), 1, "n_clusters is 3, but"),
        (METRIC, ("params", "metrics"), ["l1"], "metrics must hold two metrics"),
        (METRIC, ("params", "metrics", 0, 1), "cubic", r"metrics\[0\]: the metric of"),
        (METRIC, ("params", "metrics", 0, 2), None, r"metrics\[0\]: the columns of"),
        (METRIC, ("params", "metrics", 0, 2), [7], "'left': There is no column 7"),
        (METRIC, ("params", "metrics", 0, 2), 0.5, "'left': 0.5 is no column"),
        (METRIC, ("params", "metrics", 1, 2, "slice"), [0, 4], "must not be an object"),
        (METRIC, ("params", "metrics", 1, 2, "slice", 0), 1.5, r"\[2\]: start of the"),
        (METRIC, ("params", "metrics", 1, 2, "slice", 2), "a", "step of the slice"),
        (METRIC, ("params", "metrics", 1, 2, "slice", 2), 0, "cannot be zero"),
        (METRIC, ("params", "normalize"), "std", "The 'normalize' parameter"),
        (METRIC, ("params", "normalize"), "max", "beta.* is .* but the instances give"),
        (LINKAGE, ("n_features_in",), DELETED, "'n_features_in' is missing"),
        (LINKAGE, ("n_features_in",), 4.0, "n_features_in must be an integer or null"),
        (LINKAGE, ("n_features_in",), 0, "n_features_in must be from 1"),
        (LINKAGE, ("n_features_in",), 10**15, "n_features_in must be from 1"),
        (LINKAGE, ("n_features_in",), None, "n_features_in must be null if"),
        (METRIC, ("feature_names_in",), DELETED, "'feature_names_in' is missing"),
        (METRIC, ("feature_names_in",), "abcd", "feature_names_in must be a list"),
        (METRIC, ("feature_names_in",), ["a"], "feature_names_in must be null or one"),
        (METRIC, ("feature_names_in", 1), 1, "feature_names_in must be null or one"),
        (LINKAGE, ("alpha",), DELETED, "'alpha' is missing"),
        (LINKAGE, ("alpha",), 0.123, "alpha is 0.123, but the instances give 0"),
        (LINKAGE, ("alpha",), np.nextafter(LINKAGE["alpha"], 1), "alpha is 0"),
        (LINKAGE, ("alpha_interval", 0), "x", "alpha_interval is .* but the instances"),
        (LINKAGE, ("mean_loss",), 0, "mean_loss is 0, but the instances give 0"),
        (LINKAGE, ("n_clusters",), 2, "n_clusters is 2, but the instances give 3"),
        (METRIC, ("scales", 1), 1.0, "scales is .* but the instances give"),
        (LINKAGE, ("instances",), DELETED, "'instances' is missing"),
        (LINKAGE, ("instances",), {}, "instances must be a list"),
        (LINKAGE, ("instances",), [], "instances must not be empty"),
        (LINKAGE, FIRST, [], r"instances\[0\]: An instance must be an object"),
        (LINKAGE, (*FIRST, "n_labels"), DELETED, "'n_labels' is missing"),
        (LINKAGE, (*FIRST, "n_labels"), 0, r"instances\[0\]: n_labels must be posit"),
        (LINKAGE, (*FIRST, "n_labels"), 2.0, "n_labels must be an integer"),
        (LINKAGE, (*FIRST, "weight"), -1, r"instances\[0\]: weight must be a finite"),
        (LINKAGE, (*FIRST, "weight"), "1", "weight must be a finite number"),
        (LINKAGE, (*FIRST, "weight"), True, "weight must be a finite number"),
        (LINKAGE, (*FIRST, "weight"), 7, "is .* but the instances give"),
        (
            LINKAGE,
            (*FIRST, "values"),
            DELETED,
            r"instances\[0\]: .*'values' is missing",
        ),
        (LINKAGE, (*FIRST, "values"), 0.5, "values must be a list"),
        (LINKAGE, (*FIRST, "values"), [[0.5]], "values must be a list of numbers"),
        (LINKAGE, (*FIRST, "values"), [], "values must have one number for each"),
        (LINKAGE, (*FIRST, "values", 0), None, "values must be a list of numbers"),
        (LINKAGE, (*FIRST, "values", 0), "0.5", "values must be a list of numbers"),
        (LINKAGE, (*FIRST, "values", 0), True, "values must be a list of numbers"),
        (LINKAGE, (*FIRST, "values"), [0, 0, 0], "alpha is .* but the instances give"),
        (LINKAGE, (*FIRST, "breakpoints"), DELETED, "'breakpoints' is missing"),
        (LINKAGE, (*FIRST, "breakpoints"), [], "breakpoints must be a 1-D array"),
        (LINKAGE, (*FIRST, "breakpoints", 0), 0.1, "breakpoints must begin at 0"),
        (LINKAGE, (*FIRST, "breakpoints", 1), 1, "breakpoints must increase strictly"),
        (LINKAGE, (*FIRST, "lower"), None, "lower must be a list"),
        (LINKAGE, (*FIRST, "lower"), [0.5], "lower must have one number for each"),
        (METRIC, (*FIRST, "units"), DELETED, "'units' is missing"),
        (METRIC, (*FIRST, "units"), None, "units must be a list"),
        (METRIC, (*FIRST, "units"), [1], "units must be two exponents"),
        (METRIC, (*FIRST, "units", 0), 1.0, "units must be two exponents"),
        (METRIC, (*FIRST, "units", 0), 2000, "units must be two exponents"),
        (METRIC, (*FIRST, "summary"), DELETED, "'summary' is missing"),
        (METRIC, (*FIRST, "summary"), [1.0], "summary must be two finite numbers"),
        (METRIC, (*FIRST, "summary", 0), -1, "summary must be two finite numbers"),
        (METRIC, (*FIRST, "summary", 0), "1", "summary must be a list of numbers"),
        (SCALED, (*FIRST, "summary"), None, "summary must be a list"),
        (CLUSTERER, ("params", "linkages"), "cubic", "The 'linkages' parameter"),
        (CLUSTERER, ("params", "metric", 0), "cubic", r"metric\[0\] is 'cubic'"),
        (CLUSTERER, ("params", "beta"), 2, "The 'beta' parameter"),
    ],
)
def test_an_edited_text_is_refused_and_the_field_named(document, path, value, message):
    from_json(json.dumps(document))
    with pytest.raises(ValueError, match=message):
        from_json(edited(document, path, value))


def test_numbers_beyond_float64_are_refused():
    text = edited(LINKAGE, (*FIRST, "values", 0), "HUGE").replace('"HUGE"', "1e999")
    with pytest.raises(ValueError, match=r"instances\[0\]: values must be finite"):
        from_json(text)
    text = edited(METRIC, (*FIRST, "summary", 0), "HUGE").replace('"HUGE"', "1e999")
    with pytest.raises(ValueError, match="summary must be two finite numbers"):
        from_json(text)


def paths(value, path=()):
    """The places of all values in a document."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value[:3]):
            yield from paths(inner, (*path, i))


# NumPy 1.23 warns of ragged columns before they are refused.
@pytest.mark.filterwarnings("ignore:Creating an ndarray from ragged")
@pytest.mark.parametrize("document", [LINKAGE, METRIC, SCALED, CLUSTERER])
def test_no_edit_leads_to_another_error_or_to_a_contradiction(document):
    junk = [None, True, -1, 0, 3, 10**300, 0.5, 1e308, "", "mean", [], [[]], {}]
    junk += [["a", "b", "c"], [0, 1], {"slice": [0, 1, 1]}, DELETED]
    learned_fields = {"alpha", "beta", "alpha_interval", "beta_interval", "mean_loss"}
    loaded = 0
    for path in list(paths(document))[1:]:
        for value in junk:
            try:
                learner = from_json(edited(document, path, value))
            except ValueError:
                continue
            loaded += 1
            written = json.loads(to_json(learner))
            for name in learned_fields & document.keys():
                assert written[name] == document[name]
    assert loaded


def test_other_versions_and_fields_of_users_are_read():
    document = {**LINKAGE, "package_version": "7.0", "trained on": "letters"}
    assert from_json(json.dumps(document)).alpha_ == LINKAGE["alpha"]
    del document["package_version"]
    assert from_json(json.dumps(document, indent=4)).alpha_ == LINKAGE["alpha"]
