"""What is refused: by the right error, in the name of what is wrong, and at once.

No error may come after work has begun, except those that only distances or losses can
show: then the instances before have been worked on, and those behind have not.
"""

import copy
import pickle
import re
import sys
from functools import partial

import bad_input as bad
import numpy as np
import pandas as pd
import pytest
from bad_input import BLOCK, CLUSTERER, FITTED, HUGE, PAIRS, TREE, D, X, Y, second
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sklearn_linkage_learn import (
    InterpolatedLinkage,
    LearnedLinkage,
    LearnedMetricLinkage,
    PiecewiseConstant,
    metrics,
)
from sklearn_linkage_learn.__main__ import main

LEARNING = "fit", "partial_fit", "fit_predict"
LABELLED = *LEARNING, "score"
METHODS = *LABELLED, "predict", "linkage_matrix"


def table(rows, names):
    """Parametrise by the rows of a table that begin with an id."""
    return pytest.mark.parametrize(
        names, [pytest.param(*row[1:], id=row[0]) for row in rows]
    )


def tables(by_name, names):
    """The same for several tables, with the name of the table as first column."""
    rows = [
        (f"{name}: {row[0]}", name, *row[1:])
        for name, rows in by_name.items()
        for row in rows
    ]
    return table(rows, names)


def state(estimator):
    """Its attributes, and what is learned by value too; functions cannot change."""
    fixed = {*estimator.get_params(deep=False), "_family", "_fitted_loss"}
    learned = {name: v for name, v in vars(estimator).items() if name not in fixed}
    return vars(estimator).copy(), pickle.dumps(learned)


def assert_refused(call, error, *words, estimator=None):
    """Refused by an error with these words, and the estimator is as it was."""
    before = None if estimator is None else state(estimator)
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    for part in words:
        assert part in message
    # No user is helped by an address, or by what numpy says of ragged lists.
    assert not re.search("0x[0-9a-f]{6}|inhomogeneous", message)
    if estimator is not None:
        attributes, learned = state(estimator)
        assert attributes.keys() == before[0].keys()
        assert all(attributes[name] is value for name, value in before[0].items())
        assert learned == before[1]


def refused_by(estimators, method, args, error, *words):
    for estimator in estimators:
        call = partial(getattr(estimator, method), *args)
        assert_refused(call, error, *words, estimator=estimator)


def learners(form, method):
    """A learner that has learned and, if it may be asked to, one that has not."""
    fitted = copy.deepcopy(FITTED[form])
    return [fitted, clone(fitted)] if method in LEARNING else [fitted]


@pytest.mark.parametrize("method", METHODS)
@tables(
    {
        "points": bad.BAD_POINTS,
        "points, two metrics": bad.BAD_POINTS,
        "matrices": bad.BAD_MATRICES,
        "pairs": bad.BAD_PAIRS,
    },
    "form, item, error, words",
)
def test_a_bad_instance_is_refused(no_work, form, item, error, words, method):
    good = {"matrices": D, "pairs": PAIRS}.get(form, X)
    args = (second(good, item), Y)[: 2 if method in LABELLED else 1]
    refused_by(learners(form, method), method, args, error, "X[2]: ", words)


@pytest.mark.parametrize("form", ["points", "pairs"])
@pytest.mark.parametrize("method", LABELLED)
@table(bad.BAD_LABELS, "item, error, words")
def test_bad_labels_are_refused(no_work, form, item, error, words, method):
    args = PAIRS if form == "pairs" else X, second(Y, item)
    refused_by(learners(form, method), method, args, error, "y[2]: ", words)


@pytest.mark.parametrize("method", LABELLED)
@table(bad.BAD_COLLECTIONS, "points, labels, groups, error, words")
def test_a_bad_collection_is_refused(
    no_work, points, labels, groups, error, words, method
):
    for learner in learners("points", method):
        call = partial(getattr(learner, method), points, labels, groups=groups)
        assert_refused(call, error, words, estimator=learner)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("form", FITTED)
def test_labels_are_needed(no_work, form, method):
    words = "requires y to be passed, but the target y is None"
    refused_by(learners(form, method), method, (X,), ValueError, words)


@pytest.mark.parametrize("method", METHODS[2:])
@pytest.mark.parametrize("learner", [LearnedLinkage(), LearnedMetricLinkage()])
def test_a_learner_that_has_not_learned_says_so(no_work, learner, method):
    refused_by([learner], method, (X,), NotFittedError, "is not fitted yet")


@pytest.mark.parametrize("method", LEARNING)
@pytest.mark.parametrize(
    "params, words", bad.BAD_FOR_ALL_LEARNERS + bad.BAD_FOR_LEARNED_LINKAGE
)
def test_learned_linkage_refuses_bad_parameters(no_work, params, words, method):
    made = [made.set_params(**params) for made in learners("points", method)]
    refused_by(made, method, (X, Y), ValueError, words)


@pytest.mark.parametrize("method", LEARNING)
@pytest.mark.parametrize(
    "params, words", bad.BAD_FOR_ALL_LEARNERS + bad.BAD_FOR_LEARNED_METRIC
)
def test_learned_metric_refuses_bad_parameters(no_work, params, words, method):
    made = [m.set_params(**params) for m in learners("points, two metrics", method)]
    refused_by(made, method, (X, Y), ValueError, words)


@pytest.mark.parametrize("params, words", bad.BAD_FOR_CLUSTERER)
def test_the_clusterer_refuses_bad_parameters(no_work, params, words):
    for clusterer in (InterpolatedLinkage(), copy.deepcopy(CLUSTERER)):
        clusterer.set_params(**params)
        refused_by([clusterer], "fit", (X[0],), ValueError, words)
        refused_by([clusterer], "fit_predict", (X[0],), ValueError, words)


@tables(
    {"euclidean": bad.NO_TABLES, "precomputed": bad.BAD_MATRICES},
    "metric, item, error, words",
)
def test_the_clusterer_refuses_a_bad_instance(no_work, metric, item, error, words):
    if metric == "precomputed" and words == "dim 3":
        words = "metric 0: A precomputed distance matrix must be square"
    for clusterer in (InterpolatedLinkage(), copy.deepcopy(CLUSTERER)):
        clusterer.set_params(metric=metric)
        refused_by([clusterer], "fit", (item,), error, "X: ", words)


@tables(
    {
        "estimators": bad.BAD_CALLS,
        "metrics": bad.BAD_OBJECTS,
        "curves": bad.BAD_CURVES,
        "plots": bad.BAD_PLOTS,
    },
    "name, call, error, words",
)
def test_other_bad_calls_are_refused(no_work, name, call, error, words):
    assert_refused(call, error, words)
    if name == "plots":
        plt = pytest.importorskip("matplotlib.pyplot")
        assert not plt.get_fignums()


@pytest.mark.parametrize("loss", bad.LOSSES.values(), ids=bad.LOSSES)
@table(bad.BAD_TREES, "Z, error, words")
def test_losses_refuse_bad_trees(loss, Z, error, words):
    assert_refused(partial(loss, Z, Y[0]), error, words)


@pytest.mark.parametrize("loss", bad.LOSSES.values(), ids=bad.LOSSES)
@table(bad.BAD_LABELS, "labels, error, words")
def test_losses_refuse_bad_labels(loss, labels, error, words):
    assert_refused(partial(loss, TREE, labels), error, "labels: ", words)


@table(bad.NO_TABLES, "stroke, error, words")
def test_bad_strokes_are_refused(stroke, error, words):
    call = partial(metrics.stroke_distances, [X[0], X[1], stroke])
    assert_refused(call, error, "trajectories[2]: ", words)


@pytest.mark.parametrize("breakpoints, words", bad.BAD_BREAKPOINTS)
def test_bad_breakpoints_are_refused(breakpoints, words):
    assert_refused(partial(PiecewiseConstant, breakpoints, [1]), ValueError, words)


@pytest.mark.parametrize("make, name, value", bad.BAD_SAMPLES)
def test_bad_samples_are_refused(make, name, value):
    assert_refused(partial(make, **{name: value}), ValueError, name, str(value))


@pytest.mark.parametrize("arguments, words", bad.BAD_ARGUMENTS)
def test_the_command_line_refuses_bad_arguments(no_work, arguments, words, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err


@pytest.mark.parametrize("metric, item, words", bad.BAD_DISTANCES)
def test_distances_that_are_none_are_refused(metric, item, words):
    of_two_metrics = LearnedMetricLinkage((metric, "chebyshev"))
    for learner in (LearnedLinkage(metric=metric), of_two_metrics):
        args = second(X, item), Y
        refused_by([learner], "fit", args, ValueError, "X[2]: ", words)
        learner.fit(X, Y)
        for method in METHODS[:-2]:
            refused_by([learner], method, args, ValueError, "X[2]: ", words)
        for method in METHODS[-2:]:
            refused_by([learner], method, args[:1], ValueError, "X[2]: ", words)
    clusterer = InterpolatedLinkage(metric=metric)
    refused_by([clusterer], "fit", (item,), ValueError, words)


@table(bad.BAD_METRICS, "fails, error, words")
def test_a_metric_that_fails_is_named(fails, error, words):
    def metric(u, v):
        return fails(u, v) if u[0] in X[2] else abs(u[0] - v[0])

    name = "metric metric"
    learner = LearnedLinkage(metric=metric)
    refused_by([learner], "fit", (X, Y), error, f"X[2]: {name}", words)
    learner = LearnedMetricLinkage([BLOCK, ("b", metric, [0, 1])])
    refused_by([learner], "fit", (X, Y), error, f"X[2]: metric 'b': {name}", words)
    clusterer = InterpolatedLinkage(metric=metric)
    refused_by([clusterer], "fit", (X[2],), error, name, words)
    call = partial(metrics.pairwise, list(X[2]), metric)
    assert_refused(call, error, name, words.replace("points", "objects"))


@pytest.mark.parametrize("kind", [LearnedLinkage, LearnedMetricLinkage])
@table(bad.BAD_LOSSES, "fails, error, words")
def test_a_loss_that_fails_is_named(kind, fails, error, words):
    def loss(Z, y):
        return fails(Z, y) if y[0] == 3 else 0.5

    args = X, second(Y, Y[2] + 3)
    learner = kind(loss=loss)
    refused_by([learner], "fit", args, error, "X[2]: loss loss: ", words)
    learner.fit(X, Y)
    for method in LABELLED:
        refused_by([learner], method, args, error, "X[2]: loss loss: ", words)


def test_work_ends_at_the_instance_that_fails():
    seen = []

    def loss(Z, y):
        seen.append(y[0])
        return np.nan if y[0] == "c" else 0.5

    with pytest.raises(ValueError, match=r"X\[2\]: loss loss: It returned nan"):
        LearnedLinkage(loss=loss).fit(X, [[name] * 6 for name in "abcd"])
    assert sorted(set(seen)) == ["a", "b", "c"]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="errors have no notes")
def test_other_errors_of_a_users_function_keep_their_type_and_get_a_note():
    def metric(u, v):
        return {}["no such key"] if u[0] in X[2] else abs(u[0] - v[0])

    with pytest.raises(KeyError, match="no such key") as caught:
        LearnedLinkage(metric=metric).fit(X, Y)
    about = "This was about metric metric.", "This was about X[2]."
    assert tuple(caught.value.__notes__) == about


@pytest.mark.parametrize(
    "names",
    [
        ["b", "a"],
        [b"x", b"y"],
        [True, False],
        [0.5, -1.5],
        [HUGE, 1],
        np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"),
        pd.Categorical(["u", "v"]),
    ],
    ids=str,
)
def test_labels_may_be_of_many_kinds(names):
    y = [np.asarray(names)[labels] for labels in Y]
    learner = LearnedLinkage().fit(X, y)
    assert learner.instance_curves_ == FITTED["points"].instance_curves_
    learner.fit(X, [labels.tolist() for labels in y])
    assert learner.instance_curves_ == FITTED["points"].instance_curves_


@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        np.ma.asarray,
        lambda x: x.astype(np.float32),
        lambda x: x.astype(int),
        lambda x: x.astype(object),
        lambda x: x.astype(str),
        lambda x: x.astype(int).tolist(),
        pd.DataFrame,
    ],
)
def test_instances_may_be_of_many_kinds(form):
    whole = [np.round(4 * x) for x in X]
    expected = LearnedLinkage().fit(whole, Y).instance_curves_
    assert LearnedLinkage().fit(list(map(form, whole)), Y).instance_curves_ == expected
