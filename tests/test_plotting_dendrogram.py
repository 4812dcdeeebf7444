import sys

import numpy as np
import pytest
from learners import X, Y
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import dendrogram, leaves_list
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_linkage_learn import (
    InterpolatedLinkage,
    LearnedLinkage,
    LearnedMetricLinkage,
)
from sklearn_linkage_learn.plotting import DendrogramDisplay

plt = pytest.importorskip("matplotlib.pyplot")
colors = pytest.importorskip("matplotlib.colors")

LEARNER = LearnedLinkage().fit(X, Y)
GREY = colors.to_rgba("0.6")


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def with_inversion_at_the_cut():
    """A fitted clusterer whose two clusters no height cuts out."""
    rng = np.random.default_rng(102)
    n, alpha = int(rng.integers(5, 30)), float(rng.random())
    clusterer = InterpolatedLinkage(2, linkages=("single", "average"), alpha=alpha)
    clusterer.fit(rng.normal(size=(n, 2)))
    heights = clusterer.distances_
    assert heights[:-1].max() > heights[-1]
    return clusterer


@pytest.mark.parametrize("linkages", ["single", "average", ("single", "average")])
def test_layout_is_that_of_scipy(linkages):
    points = np.random.default_rng(0).normal(size=(25, 2))
    Z = InterpolatedLinkage(linkages=linkages).fit(points).linkage_matrix_
    display = DendrogramDisplay(linkage_matrix=Z).plot()
    scipys = dendrogram(Z, no_plot=True)
    # scipy lists merges from the root on, and puts leaves at 5, 15, 25, ...
    expected = {
        (*np.divide(x, 10), *y)
        for x, y in zip(scipys["icoord"], scipys["dcoord"], strict=True)
    }
    drawn = {
        tuple(np.concatenate([*path.vertices.T]).tolist())
        for path in display.links_.get_paths()
    }
    assert_allclose(sorted(drawn), sorted(expected))
    assert_array_equal(np.concatenate(display.leaves_), leaves_list(Z))


def test_links_have_the_class_that_all_points_below_share():
    display = DendrogramDisplay.from_estimator(LEARNER, X[0], Y[0])
    Z = display.linkage_matrix
    below = [{i} for i in range(len(X[0]))]
    for left, right in Z[:, :2].astype(int):
        below.append(below[left] | below[right])
    names = legend(display)
    assert names == ["2 clusters", "0", "1", "mixed"]
    handles = dict(zip(names[1:], display.ax_.get_legend().get_patches(), strict=True))
    for points, color in zip(
        below[len(X[0]) :], display.links_.get_colors(), strict=True
    ):
        classes = {Y[0][i] for i in points}
        name = str(classes.pop()) if len(classes) == 1 else "mixed"
        assert_allclose(color, handles[name].get_facecolor())


def test_strip_shows_the_class_of_every_leaf():
    display = DendrogramDisplay.from_estimator(LEARNER, X[0], Y[0])
    handles = dict(
        zip(["0", "1", "mixed"], display.ax_.get_legend().get_patches(), strict=True)
    )
    order = leaves_list(display.linkage_matrix)
    shown = np.empty((len(order), 4))
    for path, color in zip(
        display.strip_.get_paths(), display.strip_.get_colors(), strict=True
    ):
        start, stop = path.vertices[:, 0].astype(int)
        shown[start:stop] = color
    expected = [handles[str(label)].get_facecolor() for label in Y[0][order]]
    assert_allclose(shown, expected)


def test_without_classes_all_links_are_grey():
    display = DendrogramDisplay.from_estimator(LEARNER, X[0])
    assert display.strip_ is None
    assert (display.links_.get_colors() == GREY).all()
    assert legend(display) == ["2 clusters"]


@pytest.mark.parametrize("n_clusters", [2, 3, 7])
def test_cut_separates_the_merges_of_the_clusters_from_the_rest(n_clusters):
    display = DendrogramDisplay.from_estimator(LEARNER, X[0], n_clusters=n_clusters)
    height = display.cut_.get_ydata()[0]
    heights = display.linkage_matrix[:, 2]
    done = len(X[0]) - n_clusters
    assert (heights[:done] < height).all()
    assert (heights[done:] > height).all()


def test_inversion_at_the_cut_leaves_out_the_line_and_says_so():
    clusterer = with_inversion_at_the_cut()
    display = DendrogramDisplay.from_estimator(clusterer)
    assert display.cut_ is None
    assert "no height" in legend(display)[0]


def test_tie_at_the_cut_leaves_out_the_line():
    clusterer = InterpolatedLinkage(3, linkages="single").fit([[0], [1], [2], [3]])
    assert DendrogramDisplay.from_estimator(clusterer).cut_ is None


def test_one_cluster_has_no_cut_and_one_point_no_link():
    display = DendrogramDisplay.from_estimator(InterpolatedLinkage(1), X[0])
    assert display.cut_ is None
    assert display.ax_.get_legend() is None
    display = DendrogramDisplay.from_estimator(InterpolatedLinkage(1), X[0][:1], [5])
    assert len(display.links_.get_paths()) == 0
    assert legend(display) == ["5"]


def test_number_of_clusters_is_that_of_the_estimator_or_of_the_classes():
    def shown(*args, **kwargs):
        return DendrogramDisplay.from_estimator(*args, **kwargs).n_clusters

    assert shown(LEARNER, X[0]) == 2
    assert shown(LEARNER, X[0], n_clusters=4) == 4
    assert shown(InterpolatedLinkage(3), X[0], Y[0]) == 3
    labels = [*Y[:-1], np.arange(len(Y[-1])) % 4]
    undecided = LearnedLinkage().fit(X, labels)
    assert shown(undecided, X[0]) is None
    assert shown(undecided, X[0], labels[-1][: len(X[0])]) == 4
    assert shown(undecided.clusterer_, X[0]) is None
    threshold = LearnedLinkage(distance_threshold=0.5).fit(X, Y)
    assert shown(threshold, X[0]) == len(np.unique(threshold.predict(X[0])))


def test_tree_is_that_of_the_learned_parameter():
    display = DendrogramDisplay.from_estimator(LEARNER, X[1])
    assert_array_equal(display.linkage_matrix, LEARNER.linkage_matrix(X[1]))
    expected = f"distance at $\\alpha$ = {LEARNER.alpha_:.3g}"
    assert display.ax_.get_ylabel() == expected
    metric = LearnedMetricLinkage(normalize="mean").fit(X, Y)
    display = DendrogramDisplay.from_estimator(metric, X[1])
    assert_array_equal(display.linkage_matrix, metric.linkage_matrix(X[1]))
    assert display.ax_.get_ylabel() == f"distance at $\\beta$ = {metric.beta_:.3g}"


def test_clusterer_draws_a_new_instance_or_its_own():
    clusterer = InterpolatedLinkage(2, linkages=("single", "complete"), alpha=0.25)
    with pytest.raises(NotFittedError):
        DendrogramDisplay.from_estimator(clusterer)
    display = DendrogramDisplay.from_estimator(clusterer, X[0])
    assert not hasattr(clusterer, "linkage_matrix_")
    expected = clusterer.fit(X[0]).linkage_matrix_
    assert_array_equal(display.linkage_matrix, expected)
    assert display.ax_.get_ylabel() == "distance at $\\alpha$ = 0.25"
    again = DendrogramDisplay.from_estimator(clusterer)
    assert_array_equal(again.linkage_matrix, expected)
    DendrogramDisplay.from_estimator(clusterer, X[1])
    assert_array_equal(clusterer.linkage_matrix_, expected)


def test_cut_off_tree_shows_the_last_merges():
    display = DendrogramDisplay.from_estimator(LEARNER, X[0], Y[0], max_leaves=6)
    Z = display.linkage_matrix
    heights = [path.vertices[1, 1] for path in display.links_.get_paths()]
    assert_array_equal(heights, Z[-5:, 2])
    clusters = LEARNER.predict(X[0], n_clusters=6)
    expected = {tuple(np.flatnonzero(clusters == c)) for c in range(6)}
    assert {tuple(points) for points in display.leaves_} == expected
    names = [label.get_text() for label in display.ax_.get_xticklabels()]
    for name, points in zip(names, display.leaves_, strict=True):
        alone = len(points) == 1
        assert name == (str(points[0]) if alone else f"({len(points)})")
    assert display.ax_.get_ylim()[0] < min(heights)


def test_more_leaves_than_points_draw_the_whole_tree():
    display = DendrogramDisplay.from_estimator(LEARNER, X[0], max_leaves=10_000)
    assert len(display.leaves_) == len(X[0])


def test_leaves_have_names_as_long_as_there_is_room():
    names = [f"record {i}" for i in range(len(X[0]))]
    display = DendrogramDisplay.from_estimator(LEARNER, X[0], leaf_names=names)
    shown = [label.get_text() for label in display.ax_.get_xticklabels()]
    assert shown == [names[points[0]] for points in display.leaves_]
    many = np.random.default_rng(0).normal(size=(200, 2))
    display = DendrogramDisplay.from_estimator(InterpolatedLinkage(2), many)
    assert len(display.ax_.get_xticks()) == 0


def test_a_chain_of_2000_points_is_drawn():
    points = np.cumsum(np.arange(2000.0))[:, None]
    clusterer = InterpolatedLinkage(2, linkages="single")
    display = DendrogramDisplay.from_estimator(clusterer, points)
    display.figure_.canvas.draw()
    assert len(display.links_.get_paths()) == 1999
    assert display.links_.get_rasterized()


def test_many_classes_have_different_colours():
    points = np.arange(30.0)[:, None] ** 2
    for n_classes in (10, 20, 30):
        display = DendrogramDisplay.from_estimator(
            InterpolatedLinkage(2), points, np.arange(30) % n_classes
        )
        shown = display.strip_.get_colors()
        assert len(np.unique(shown, axis=0)) == n_classes
        assert GREY not in set(map(tuple, shown))


def test_plot_draws_again_on_given_axes_with_other_styles():
    display = DendrogramDisplay.from_estimator(LEARNER, X[0])
    _, (left, right) = plt.subplots(1, 2)
    styles = {"link_kwargs": {"linewidths": 3}, "cut_kwargs": {"color": "red"}}
    assert display.plot(right, **styles) is display
    assert display.ax_ is right
    assert not left.has_data()
    assert display.links_.get_linewidths()[0] == 3
    assert display.cut_.get_color() == "red"


def test_a_pipeline_stands_for_the_estimator_inside():
    scaler = StandardScaler().fit(np.concatenate(X))
    display = DendrogramDisplay.from_estimator(make_pipeline(scaler, LEARNER), X[0])
    expected = LEARNER.linkage_matrix(scaler.transform(X[0]))
    assert_array_equal(display.linkage_matrix, expected)


def test_bad_input_is_refused():
    draw = DendrogramDisplay.from_estimator
    with pytest.raises(NotFittedError):
        draw(LearnedLinkage(), X[0])
    with pytest.raises(TypeError, match="learner"):
        draw("single", X[0])
    with pytest.raises(ValueError, match="X is needed"):
        draw(LEARNER)
    with pytest.raises(ValueError, match="one instance, found a collection of 5"):
        draw(LEARNER, X)
    with pytest.raises(ValueError, match=r"^y: Found 3 label\(s\)"):
        draw(LEARNER, X[0], Y[0][:3])
    with pytest.raises(ValueError, match="n_clusters=99"):
        draw(LEARNER, X[0], n_clusters=99)
    with pytest.raises(ValueError, match="max_leaves must be a positive integer"):
        draw(LEARNER, X[0], max_leaves=0)
    with pytest.raises(ValueError, match="leaf_names must hold one name"):
        draw(LEARNER, X[0], leaf_names=["a"])


def test_missing_matplotlib_names_the_extra(monkeypatch, no_work):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"sklearn-linkage-learn\[plot\]"):
        DendrogramDisplay.from_estimator(LEARNER, X[0])
