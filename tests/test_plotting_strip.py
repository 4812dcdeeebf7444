import sys
from collections import Counter

import numpy as np
import pytest
from learners import LEARNERS, X, Y
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, pair_confusion_matrix
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_linkage_learn import (
    InterpolatedLinkage,
    LearnedLinkage,
    LearnedMetricLinkage,
)
from sklearn_linkage_learn.datasets import make_rings_and_disks
from sklearn_linkage_learn.plotting import ClusterStripDisplay, DendrogramDisplay
from sklearn_linkage_learn.plotting._cluster_strip import match_clusters

plt = pytest.importorskip("matplotlib.pyplot")

BLOCKS = [("across", "euclidean", [0]), ("up", "euclidean", [1])]
FAMILIES = {
    "single, complete": LearnedLinkage(),
    "average, complete": LearnedLinkage(("average", "complete")),
    "single, average": LearnedLinkage(("single", "average")),
    "execution tree": LearnedLinkage(algorithm="execution_tree"),
    **{
        f"{linkage} {normalize}": LearnedMetricLinkage(
            BLOCKS, linkage=linkage, normalize=normalize
        )
        for linkage in ("single", "complete", "average", "ward")
        for normalize in (None, "mean", "max", "instance_max")
    },
}


def make_data(tied, seed=0, n=18):
    """Instances on different scales, the last one to be drawn."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(n, 2)) * [1 + i, 3] for i in range(4)]
    if tied:
        X = [rng.integers(0, 5, size=(n, 2)).astype(float) for _ in range(4)]
    return X, [rng.permutation(np.arange(n) % 3) for _ in X]


def partition(labels):
    """Clusters as sets of points, whatever their numbers."""
    return {frozenset(np.flatnonzero(labels == c)) for c in np.unique(labels)}


@pytest.mark.parametrize("tied", [False, True], ids=["general", "tied"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_piece_shows_what_a_run_in_its_middle_finds(family, tied):
    X, y = make_data(tied)
    learner = clone(FAMILIES[family]).fit(X[:3], y[:3])
    for n_clusters in (2, 3, 6):
        display = ClusterStripDisplay.from_estimator(
            learner, X[3], y[3], n_clusters=n_clusters
        )
        name = learner._parameter
        edges = display.breakpoints
        # Between breakpoints of less distance, a run at a float decides nothing.
        for i in np.flatnonzero(np.diff(edges) > 1e-11):
            weight = (edges[i] + edges[i + 1]) / 2
            run = clone(learner.clusterer_).set_params(
                n_clusters=n_clusters, **{name: float(weight)}
            )
            expected = partition(run.fit_predict(X[3]))
            assert partition(display.clusters[i]) == expected, weight


@pytest.mark.parametrize("family", FAMILIES)
def test_clusters_on_a_grid_are_those_of_runs(family):
    X, y = make_data(tied=False, seed=1)
    learner = clone(FAMILIES[family]).fit(X[:3], y[:3])
    display = ClusterStripDisplay.from_estimator(learner, X[3], n_clusters=4)
    inner = display.breakpoints[1:-1]
    for weight in np.random.default_rng(0).uniform(size=20):
        run = clone(learner.clusterer_).set_params(
            n_clusters=4, **{learner._parameter: weight}
        )
        piece = np.searchsorted(inner, weight, side="right")
        shown = partition(display.clusters[piece])
        assert shown == partition(run.fit_predict(X[3])), weight


def test_at_the_learned_parameter_it_shows_what_predict_returns():
    learner = LearnedLinkage().fit(X[:3], Y[:3])
    display = ClusterStripDisplay.from_estimator(learner, X[4])
    piece = np.searchsorted(display.breakpoints, learner.alpha_, side="right") - 1
    assert partition(display.clusters[piece]) == partition(learner.predict(X[4]))
    assert display.optimum_.get_xdata()[0] == learner.alpha_
    assert f"(learned: {learner.alpha_:.3f})" in display.ax_.get_xlabel()


def test_mesh_draws_the_clusters_row_by_row():
    learner = LearnedLinkage().fit(X, Y)
    display = ClusterStripDisplay.from_estimator(learner, X[0], Y[0])
    drawn = np.asarray(display.mesh_.get_array())
    drawn = drawn.reshape(len(X[0]), len(display.breakpoints) - 1)
    assert_array_equal(drawn, display.clusters[:, display.order].T)
    corners = display.mesh_.get_coordinates()
    assert_allclose(corners[0, :, 0], display.breakpoints)
    assert_allclose(corners[:, 0, 1], np.arange(len(X[0]) + 1))


def test_rows_are_ordered_by_class_and_then_as_in_the_tree():
    learner = LearnedLinkage().fit(X, Y)
    display = ClusterStripDisplay.from_estimator(learner, X[0], Y[0])
    assert (np.diff(Y[0][display.order]) >= 0).all()
    assert_array_equal(np.sort(display.order), np.arange(len(X[0])))
    clusters = learner.predict(X[0], n_clusters=5)
    plain = ClusterStripDisplay.from_estimator(learner, X[0])
    rows = clusters[plain.order]
    # A cluster hangs together in the order of the leaves.
    assert 1 + np.count_nonzero(np.diff(rows)) == 5


def test_strip_of_classes_has_one_run_for_each():
    learner = LearnedLinkage().fit(X, Y)
    display = ClusterStripDisplay.from_estimator(learner, X[0], Y[0])
    ends = [path.vertices[:, 1] for path in display.strip_.get_paths()]
    sizes = np.bincount(Y[0])
    assert_array_equal(np.concatenate(ends), [0, sizes[0], sizes[0], len(X[0])])
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == ["0", "1"]
    assert ClusterStripDisplay.from_estimator(learner, X[0]).strip_ is None


def test_clusters_have_the_colours_of_the_classes_they_are_most_like():
    X, y = make_rings_and_disks(4, n_per_cluster=15, random_state=0)
    learner = LearnedLinkage(loss="cut").fit(X, y)
    for points, labels in zip(X, y, strict=True):
        display = ClusterStripDisplay.from_estimator(learner, points, labels)
        piece = np.searchsorted(display.breakpoints, learner.alpha_, side="right") - 1
        share = accuracy_score(labels, display.clusters[piece])
        loss = display.loss_curve(learner.alpha_)
        # The loss takes the best of all bijections.
        assert share == pytest.approx(1 - loss)


def test_matching_keeps_numbers_and_changes_no_cluster():
    rng = np.random.default_rng(0)
    first = np.repeat([0, 1, 2], 10)
    pieces = [first]
    for _ in range(6):
        piece = pieces[-1].copy()
        piece[rng.choice(30, size=3)] = rng.integers(0, 3, size=3)
        pieces.append(piece)
    shuffled = np.array([rng.permutation(3)[piece] for piece in pieces])
    matched = match_clusters(shuffled, 3)
    for before, after in zip(shuffled, matched, strict=True):
        assert_array_equal(pair_confusion_matrix(before, after)[[0, 1], [1, 0]], [0, 0])
    assert_array_equal(matched[3], shuffled[3])
    for left, right, a, b in zip(
        pieces, pieces[1:], matched, matched[1:], strict=False
    ):
        assert np.mean(a == b) == np.mean(left == right)


def test_matching_with_fewer_clusters_than_classes_takes_the_right_classes():
    clusters = np.array([[0, 0, 0, 1, 1, 1]])
    codes = np.array([3, 3, 1, 2, 2, 0])
    assert_array_equal(match_clusters(clusters, 0, codes), [[3, 3, 3, 2, 2, 2]])


@pytest.mark.parametrize("kind", LEARNERS)
def test_loss_above_is_that_of_the_instance(kind):
    learner = LEARNERS[kind]().fit(X, Y)
    display = ClusterStripDisplay.from_estimator(learner, X[1], Y[1])
    assert display.loss_curve == learner.instance_curves_[1]
    values, edges, _ = display.line_.get_data()
    assert_array_equal(values, learner.instance_curves_[1].values)
    assert_array_equal(edges, learner.instance_curves_[1].breakpoints)
    assert display.plot(show_loss=False).loss_ax_ is None
    assert ClusterStripDisplay.from_estimator(learner, X[1]).loss_ax_ is None


def test_a_callable_loss_gets_the_labels_as_they_are():
    seen = Counter()

    def loss(Z, labels):
        seen.update(labels.tolist())
        return 0.5

    names = [np.array(["left", "right"])[labels] for labels in Y]
    learner = LearnedLinkage(loss=loss).fit(X, names)
    seen.clear()
    display = ClusterStripDisplay.from_estimator(learner, X[0], names[0])
    assert set(seen) == {"left", "right"}
    assert display.loss_ax_.get_ylabel() == "loss\nloss"


def test_lines_are_seen_on_dark_paper():
    learner = LearnedLinkage().fit(X, Y)
    with plt.style.context("dark_background"):
        strip = ClusterStripDisplay.from_estimator(learner, X[0], Y[0])
        tree = DendrogramDisplay.from_estimator(learner, X[0], Y[0])
    lines = [strip.line_.get_edgecolor(), strip.loss_ax_.lines[0].get_color()]
    for color in [*lines, tree.cut_.get_color()]:
        assert plt.matplotlib.colors.to_hex(color) == "#ffffff"


def test_plot_draws_again_on_given_axes():
    display = ClusterStripDisplay.from_estimator(LearnedLinkage().fit(X, Y), X[0])
    _, (left, right) = plt.subplots(1, 2)
    assert display.plot(right) is display
    assert display.ax_ is right
    assert display.figure_ is right.figure
    assert not left.has_data()


def test_precomputed_distances_can_be_drawn():
    matrices = [np.stack([abs(np.subtract.outer(c, c)) for c in x.T]) for x in X]
    learner = LearnedMetricLinkage("precomputed", normalize="max").fit(matrices, Y)
    direct = LearnedMetricLinkage(
        [("a", "cityblock", [0]), ("b", "cityblock", [1])], normalize="max"
    ).fit(X, Y)
    by_matrix = ClusterStripDisplay.from_estimator(learner, matrices[0], Y[0])
    by_points = ClusterStripDisplay.from_estimator(direct, X[0], Y[0])
    assert_array_equal(by_matrix.clusters, by_points.clusters)
    assert_allclose(by_matrix.breakpoints, by_points.breakpoints, rtol=1e-9)


def test_one_and_two_points_can_be_drawn():
    learner = LearnedLinkage().fit(X, Y)
    one = ClusterStripDisplay.from_estimator(learner, X[0][:1], n_clusters=1)
    assert_array_equal(one.clusters, [[0]])
    two = ClusterStripDisplay.from_estimator(learner, X[0][:2], [0, 1])
    assert_array_equal(two.clusters, [[0, 1]])


def test_classes_decide_on_the_number_of_clusters_if_the_learner_does_not():
    labels = [*Y[:-1], np.arange(len(Y[-1])) % 4]
    learner = LearnedLinkage().fit(X, labels)
    display = ClusterStripDisplay.from_estimator(learner, X[-1], labels[-1])
    assert len(np.unique(display.clusters[0])) == 4
    with pytest.raises(ValueError, match="n_clusters is needed"):
        ClusterStripDisplay.from_estimator(learner, X[-1])


def test_a_pipeline_and_a_search_stand_for_the_learner_inside():
    rows, labels = np.concatenate(X), np.concatenate(Y)
    groups = np.repeat(np.arange(len(X)), [len(x) for x in X])
    scaler = StandardScaler().fit(rows)
    learner = LearnedLinkage().fit(scaler.transform(rows), labels, groups=groups)
    pipeline = make_pipeline(scaler, learner)
    expected = ClusterStripDisplay.from_estimator(learner, scaler.transform(X[0]))
    shown = ClusterStripDisplay.from_estimator(pipeline, X[0])
    assert_array_equal(shown.clusters, expected.clusters)
    assert_array_equal(shown.breakpoints, expected.breakpoints)

    grid = {"linkages": [("single", "complete")]}
    X3, Y3 = np.stack([x[:16] for x in X]), np.stack([y[:16] for y in Y])
    search = GridSearchCV(LearnedLinkage(), grid, cv=KFold(2)).fit(X3, Y3)
    shown = ClusterStripDisplay.from_estimator(search, X3[0])
    assert shown.optimum == search.best_estimator_.alpha_


def test_what_cannot_be_drawn_is_refused_before_work(no_work):
    for bad in (LearnedLinkage(), InterpolatedLinkage()):
        with pytest.raises(NotFittedError):
            ClusterStripDisplay.from_estimator(bad, X[0])
    with pytest.raises(TypeError, match="fitted learner"):
        ClusterStripDisplay.from_estimator("single", X[0])


def test_bad_instances_are_refused():
    learner = LearnedLinkage().fit(X, Y)
    with pytest.raises(ValueError, match="one instance, found a collection of 5"):
        ClusterStripDisplay.from_estimator(learner, X)
    with pytest.raises(ValueError, match=r"^y: Found 3 label\(s\)"):
        ClusterStripDisplay.from_estimator(learner, X[0], Y[0][:3])
    with pytest.raises(ValueError, match="n_clusters=99"):
        ClusterStripDisplay.from_estimator(learner, X[0], n_clusters=99)
    threshold = LearnedLinkage(distance_threshold=1.0).fit(X, Y)
    with pytest.raises(ValueError, match="distance_threshold"):
        ClusterStripDisplay.from_estimator(threshold, X[0])


def test_missing_matplotlib_names_the_extra(monkeypatch, no_work):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"sklearn-linkage-learn\[plot\]"):
        ClusterStripDisplay.from_estimator(LearnedLinkage(), X[0])
