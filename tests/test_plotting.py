import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_linkage_learn import (
    LearnedMetricLinkage,
    PiecewiseConstant,
    widest_optimal_interval,
)
from sklearn_linkage_learn.plotting import LossCurveDisplay

plt = pytest.importorskip("matplotlib.pyplot")


def fitted_learner(n_instances=9, **parameters):
    """The fitted attributes a learner has, without learning."""
    rng = np.random.default_rng(0)
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
