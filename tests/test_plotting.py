import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_linkage_learn import (
    LearnedLinkage,
    LearnedMetricLinkage,
    PiecewiseConstant,
    widest_optimal_interval,
)
from sklearn_linkage_learn.plotting import LossCurveDisplay

plt = pytest.importorskip("matplotlib.pyplot")


def fitted_learner(n_instances=9, seed=0, **parameters):
    """The fitted attributes a learner has, without learning."""
    rng = np.random.default_rng(seed)
    breakpoints = np.linspace(0, 1, 11)
    curves = [
        PiecewiseConstant(breakpoints, rng.integers(1, 20, size=10) / 20)
        for _ in range(n_instances)
    ]
    mean = PiecewiseConstant.mean(curves)
    interval = widest_optimal_interval(mean)
    return SimpleNamespace(
        loss_curve_=mean,
        instance_curves_=curves,
        instance_weight_=np.ones(n_instances),
        alpha_=sum(interval) / 2,
        alpha_interval_=interval,
        loss_=mean.min(),
        **{"linkages": ("single", "average"), "loss": "hamming", **parameters},
    )


def test_display_draws_the_mean_curve():
    learner = fitted_learner()
    display = LossCurveDisplay.from_estimator(learner)
    values, edges, _ = display.line_.get_data()
    assert_array_equal(values, learner.loss_curve_.values)
    assert_array_equal(edges, learner.loss_curve_.breakpoints)
    assert display.figure_ is display.ax_.figure


@pytest.mark.parametrize("n_pieces, code", [(100, 0), (30_000, 1)])
def test_a_legend_is_not_fitted_into_many_steps(n_pieces, code):
    # Code 0 is "best", which takes minutes then.
    learner = fitted_learner(n_instances=1)
    values = np.arange(n_pieces) % 7 / 7
    learner.loss_curve_ = PiecewiseConstant(np.linspace(0, 1, n_pieces + 1), values)
    display = LossCurveDisplay.from_estimator(learner)
    assert display.ax_.get_legend()._loc == code
    LossCurveDisplay.from_estimator(learner, ax=display.ax_)
    assert display.ax_.get_legend()._loc == code


def test_display_draws_on_the_given_axes():
    _, (left, right) = plt.subplots(1, 2)
    display = LossCurveDisplay.from_estimator(fitted_learner(), ax=right)
    assert display.ax_ is right
    assert not left.has_data()


def test_band_lies_between_the_quantiles_of_the_instances():
    learner = fitted_learner()
    display = LossCurveDisplay.from_estimator(learner, band=(0.1, 0.9))
    high, edges, low = display.band_.get_data()
    middles = (edges[:-1] + edges[1:]) / 2
    losses = [curve(middles) for curve in learner.instance_curves_]
    assert_allclose(low, np.quantile(losses, 0.1, axis=0))
    assert_allclose(high, np.quantile(losses, 0.9, axis=0))
    bottom, top = display.ax_.get_ylim()
    assert bottom < low.min()
    assert high.max() < top


@pytest.mark.parametrize(
    ("learner", "band"),
    [(fitted_learner(), None), (fitted_learner(n_instances=1), (0.25, 0.75))],
)
def test_band_can_be_left_out_and_needs_two_instances(learner, band):
    assert LossCurveDisplay.from_estimator(learner, band=band).band_ is None


def test_optimum_and_both_ends_are_marked_with_their_losses():
    learner = fitted_learner()
    display = LossCurveDisplay.from_estimator(learner)
    curve = learner.loss_curve_
    x, y = display.ends_.get_data()
    assert_array_equal(x, [0, 1])
    assert_array_equal(y, [curve(0), curve(1)])
    texts = [text.get_text() for text in display.texts_]
    assert texts == [f"{curve(0):.3f}", f"{curve(1):.3f}"]
    x, y = display.optimum_.get_data()
    assert (x[0], y[0]) == (learner.alpha_, learner.loss_)
    expected = f"{learner.loss_:.3f} at $\\alpha$ = {learner.alpha_:.3f}"
    assert display.ax_.get_legend().get_texts()[-1].get_text() == expected


def test_losses_of_the_ends_stand_beside_the_curve():
    display = LossCurveDisplay.from_estimator(fitted_learner())
    display.figure_.canvas.draw()
    left, right = (text.get_window_extent() for text in display.texts_)
    start, stop = display.ax_.transData.transform([(0, 0), (1, 0)])[:, 0]
    frame = display.ax_.get_window_extent()
    assert frame.x0 < left.x0 < left.x1 < start
    assert stop < right.x0 < right.x1 < frame.x1


def test_axes_name_the_linkages_at_the_ends():
    ax = LossCurveDisplay.from_estimator(fitted_learner()).ax_
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert labels[0] == "0\nsingle"
    assert labels[-1] == "1\naverage"
    assert ax.get_xlabel() == "$\\alpha$"
    assert ax.get_ylabel() == "mean hamming loss"


def test_learner_of_a_metric_shows_beta_and_the_names_of_metrics():
    def edit_distance(a, b):
        return 0.0

    metrics = [("stroke", "cosine", [0, 1]), edit_distance]
    learner = fitted_learner(metrics=metrics)
    learner.beta_, learner.beta_interval_ = learner.alpha_, learner.alpha_interval_
    del learner.alpha_, learner.alpha_interval_, learner.linkages
    ax = LossCurveDisplay.from_estimator(learner).ax_
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert ax.get_xlabel() == "$\\beta$"
    assert (labels[0], labels[-1]) == ("0\nstroke", "1\nedit_distance")


def test_a_fitted_learner_of_precomputed_metrics_is_drawn():
    distances = np.array([[[0, 1, 2], [1, 0, 3], [2, 3, 0]]] * 2)
    learner = LearnedMetricLinkage("precomputed").fit(distances, [0, 0, 1])
    ax = LossCurveDisplay.from_estimator(learner).ax_
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert (labels[0], labels[-1]) == ("0\nfirst metric", "1\nsecond metric")


def test_name_and_styles_reach_the_artists():
    display = LossCurveDisplay.from_estimator(
        fitted_learner(),
        name="letters",
        line_kwargs={"color": "red"},
        band_kwargs={"alpha": 0.5},
    )
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend[:2] == ["letters", "25% to 75% of the instances"]
    assert display.line_.get_edgecolor() == (1, 0, 0, 1)
    assert display.band_.get_alpha() == 0.5
    assert display.band_.get_facecolor()[:3] == (1, 0, 0)


def test_missing_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"sklearn-linkage-learn\[plot\]"):
        LossCurveDisplay.from_estimator(fitted_learner())


def weighted_learner(weights, **parameters):
    learner = fitted_learner(len(weights), **parameters)
    learner.instance_weight_ = np.asarray(weights)
    learner.loss_curve_ = PiecewiseConstant.mean(learner.instance_curves_, weights)
    return learner


def metric_learner(**parameters):
    learner = fitted_learner(metrics=("cityblock", "chebyshev"), **parameters)
    learner.beta_, learner.beta_interval_ = learner.alpha_, learner.alpha_interval_
    del learner.alpha_, learner.alpha_interval_, learner.linkages
    return learner


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def visible_texts(displays, end):
    texts = [display.texts_[end] for display in displays]
    return [text for text in texts if text.get_visible()]


@pytest.mark.parametrize(
    ("counts", "scale"),
    [
        ([3, 0, 1, 2, 5, 1], 1),
        # Sums of tenths miss a quarter and a half by a rounding.
        ([1, 0, *[1] * 15], 0.1),
    ],
)
def test_band_of_weighted_instances_is_that_of_repeated_ones(counts, scale):
    learner = weighted_learner(np.multiply(counts, scale))
    display = LossCurveDisplay.from_estimator(learner, band=(0.25, 0.5))
    high, edges, low = display.band_.get_data()
    middles = (edges[:-1] + edges[1:]) / 2
    losses = np.repeat([c(middles) for c in learner.instance_curves_], counts, axis=0)
    for found, q in [(low, 0.25), (high, 0.5)]:
        expected = np.quantile(losses, q, axis=0, method="inverted_cdf")
        assert_array_equal(found, expected)
    assert legend_of(display.ax_)[0] == f"weighted mean of {len(counts)} instances"


def test_an_instance_without_weight_does_not_widen_the_band():
    learner = weighted_learner([0, 1, 1, 0])
    high, edges, low = LossCurveDisplay.from_estimator(
        learner, band=(0, 1)
    ).band_.get_data()
    middles = (edges[:-1] + edges[1:]) / 2
    losses = [curve(middles) for curve in learner.instance_curves_[1:3]]
    assert_array_equal(low, np.min(losses, axis=0))
    assert_array_equal(high, np.max(losses, axis=0))


def test_curves_in_the_same_axes_have_different_colours_and_own_optima():
    first = LossCurveDisplay.from_estimator(fitted_learner())
    learner = fitted_learner(seed=1)
    second = LossCurveDisplay.from_estimator(learner, ax=first.ax_)
    assert second.ax_ is first.ax_
    colors = [display.line_.get_edgecolor() for display in (first, second)]
    cycle = plt.rcParams["axes.prop_cycle"].by_key()["color"]
    # Nothing but curves takes a colour of the cycle.
    to_hex = plt.matplotlib.colors.to_hex
    assert list(map(to_hex, colors)) == list(map(to_hex, cycle[:2]))
    for display, color in zip((first, second), colors, strict=True):
        assert display.optimum_.get_markeredgecolor() == color
        assert display.band_.get_facecolor()[:3] == color[:3]
        assert display.span_.get_facecolor()[:3] == color[:3]
    assert second.optimum_.get_xdata()[0] == learner.alpha_


def test_legend_of_several_curves_has_one_entry_for_each_and_one_for_bands():
    first = LossCurveDisplay.from_estimator(fitted_learner())
    first.ax_.axhline(0.4, label="chance")
    second = LossCurveDisplay.from_estimator(
        fitted_learner(seed=1), ax=first.ax_, name="other"
    )
    expected = [
        f"single to average: {first.optimum_.get_label()}",
        f"other: {second.optimum_.get_label()}",
        "25% to 75% of the instances",
        "chance",
    ]
    assert legend_of(first.ax_) == expected


def test_ends_are_named_for_all_families_in_the_axes():
    learners = {
        "a": fitted_learner(linkages=("single", "complete")),
        "b": fitted_learner(linkages=("average", "complete"), seed=1),
    }
    ax = LossCurveDisplay.from_estimators(learners)["a"].ax_
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert (labels[0], labels[-1]) == ("0\nsingle\naverage", "1\ncomplete")
    assert ax.get_xlabel() == "$\\alpha$"
    LossCurveDisplay.from_estimator(metric_learner(loss="cut"), ax=ax)
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert labels[-1] == "1\ncomplete\nchebyshev"
    assert ax.get_xlabel() == "$\\alpha$, $\\beta$"
    assert ax.get_ylabel() == "mean loss"


@pytest.mark.parametrize("width", [3, 8])
@pytest.mark.parametrize("n_curves", [2, 3, 6])
def test_losses_at_the_ends_do_not_overlap(n_curves, width):
    _, ax = plt.subplots(figsize=(width, 4))
    learners = {str(seed): fitted_learner(seed=seed) for seed in range(n_curves)}
    displays = list(LossCurveDisplay.from_estimators(learners, ax=ax).values())
    displays[0].figure_.canvas.draw()
    inside = displays[0].ax_.get_window_extent()
    for end in (0, 1):
        boxes = [text.get_window_extent() for text in visible_texts(displays, end)]
        assert boxes
        assert all(inside.x0 < box.x0 and box.x1 < inside.x1 for box in boxes)
        for i, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[:i])


def test_the_same_loss_at_an_end_is_written_once():
    learners = {"a": fitted_learner(), "b": fitted_learner()}
    displays = LossCurveDisplay.from_estimators(learners).values()
    for end in (0, 1):
        assert len(visible_texts(displays, end)) == 1


def test_drawing_again_elsewhere_forgets_the_other_curves():
    displays = LossCurveDisplay.from_estimators(
        {"a": fitted_learner(), "b": fitted_learner(seed=1)}
    )
    _, ax = plt.subplots()
    assert displays["a"].plot(ax) is displays["a"]
    assert legend_of(ax)[0] == "mean of 9 instances"


def test_displays_come_by_the_names_of_the_learners():
    learners = {"a": fitted_learner(), "b": fitted_learner(seed=1)}
    _, ax = plt.subplots()
    displays = LossCurveDisplay.from_estimators(learners, ax=ax, band=None)
    assert list(displays) == ["a", "b"]
    for name, display in displays.items():
        assert display.curve == learners[name].loss_curve_
        assert display.ax_ is ax
        assert display.band_ is None


@pytest.mark.parametrize("bad", [[fitted_learner()], {}, None])
def test_several_learners_must_be_a_dict(bad):
    with pytest.raises(TypeError, match="estimators must be a dict"):
        LossCurveDisplay.from_estimators(bad)


def test_a_bad_learner_among_several_is_refused_before_anything_is_drawn():
    _, ax = plt.subplots()
    learners = {"a": fitted_learner(), "b": LearnedLinkage()}
    with pytest.raises(NotFittedError):
        LossCurveDisplay.from_estimators(learners, ax=ax)
    assert not ax.has_data()


def test_a_pipeline_and_a_search_stand_for_the_learner_inside():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 8, 2)), [[0, 0, 0, 0, 1, 1, 1, 1]] * 6
    learner = LearnedLinkage().fit(X, y)
    search = GridSearchCV(LearnedLinkage(), {"loss": ["cut"]}, cv=KFold(2))
    pipeline = make_pipeline(StandardScaler(), learner)
    display = LossCurveDisplay.from_estimator(pipeline)
    assert display.curve == learner.loss_curve_
    with pytest.raises(NotFittedError):
        LossCurveDisplay.from_estimator(search)
    display = LossCurveDisplay.from_estimator(search.fit(X, y))
    assert display.curve == search.best_estimator_.loss_curve_
    assert display.loss_name == "cut"


def test_displays_are_imported_without_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None; "
        "import sklearn_linkage_learn.plotting as p; print(*p.__all__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        # The checkout may have no compiled core.
        cwd=Path(__file__).parent,
    )
    assert "LossCurveDisplay" in done.stdout
