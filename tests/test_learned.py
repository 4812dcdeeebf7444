import numpy as np
import pytest
from learners import X, Y, learned, midpoints
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix

from sklearn_linkage_learn import (
    InterpolatedLinkage,
    LearnedLinkage,
    PiecewiseConstant,
    _learned,
)
from sklearn_linkage_learn.datasets import make_rings_and_disks
from sklearn_linkage_learn.losses import hamming_loss

PAIRS = [
    (first, second)
    for first in ("single", "complete", "average")
    for second in ("single", "complete", "average")
    if first != second
]


@pytest.fixture
def engine_calls(monkeypatch):
    """The instances that an engine was called for, by number of pairs."""
    calls = []

    def counted(condensed, *args):
        calls.append(len(condensed))
        return real(condensed, *args)

    real = _learned.merge_curve
    monkeypatch.setattr(_learned, "merge_curve", counted)
    return calls


@pytest.mark.parametrize("linkages", PAIRS)
def test_curves_hold_the_loss_of_a_run_at_every_midpoint(linkages):
    learner = LearnedLinkage(linkages).fit(X[:3], Y[:3])
    for points, labels, curve in zip(X, Y, learner.instance_curves_, strict=False):
        for alpha in midpoints(curve):
            run = InterpolatedLinkage(linkages=linkages, alpha=alpha).fit(points)
            loss = hamming_loss(run.linkage_matrix_, labels)
            assert curve(alpha) == pytest.approx(loss, abs=1e-15)


@pytest.mark.parametrize(
    ("linkages", "algorithm", "expected"),
    [
        (("single", "complete"), "auto", "kinetic"),
        (("average", "complete"), "kinetic", "kinetic"),
        (("single", "complete"), "execution_tree", "execution_tree"),
        (["single", "average"], "auto", "kinetic"),
        (("average", "single"), "execution_tree", "execution_tree"),
    ],
)
def test_learner_says_which_engine_ran(linkages, algorithm, expected):
    learner = LearnedLinkage(linkages, algorithm=algorithm).fit(X[:1], Y[:1])
    assert learner.algorithm_ == expected


@pytest.mark.parametrize("linkages", [("single", "complete"), ("single", "average")])
def test_cut_and_ari_judge_the_clusters_that_predict_returns(linkages):
    points, labels = X[1], np.arange(len(X[1])) % 3
    learner = LearnedLinkage(linkages, loss="cut").fit(points, labels)
    found = learner.predict(points)
    table = contingency_matrix(found, labels)
    misplaced = 1 - table[linear_sum_assignment(-table)].sum() / len(labels)
    assert learner.score(points, labels) == pytest.approx(1 - misplaced)
    learner.set_params(loss="ari").fit(points, labels)
    expected = adjusted_rand_score(labels, learner.predict(points))
    assert learner.score(points, labels) == pytest.approx(expected)


def test_precomputed_distances_are_learned_like_points():
    fitted = LearnedLinkage().fit(X, Y)
    matrices = [squareform(pdist(x)) for x in X]
    learner = LearnedLinkage(metric="precomputed").fit(matrices, Y)
    assert learned(learner) == learned(fitted)
    for ours, theirs in zip(learner.predict(matrices), fitted.predict(X), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert not hasattr(learner, "n_features_in_")


def test_metric_may_be_a_callable():
    named = LearnedLinkage(metric="cityblock").fit(X, Y)
    called = LearnedLinkage(metric=lambda u, v: np.abs(u - v).sum()).fit(X, Y)
    assert called.alpha_ == pytest.approx(named.alpha_)
    np.testing.assert_array_equal(called.predict(X[0]), named.predict(X[0]))


@pytest.mark.parametrize(
    "params", [{"linkages": ("average", "complete")}, {"loss": "ari"}]
)
def test_partial_fit_refuses_to_mix_families_and_losses(params):
    learner = LearnedLinkage().fit(X[:1], Y[:1]).set_params(**params)
    before = vars(learner).copy()
    with pytest.raises(ValueError, match=r"metric='euclidean', loss='hamming'; set"):
        learner.partial_fit(X[1], Y[1])
    assert vars(learner) == before
    learner.fit(X[1], Y[1]).partial_fit(X[2], Y[2])


def test_memory_keeps_curves_of_a_fit_that_failed(tmp_path, engine_calls):
    with pytest.raises(ValueError, match=r"X\[3\]: metric 'cosine' gives nan"):
        LearnedLinkage(memory=str(tmp_path), metric="cosine").fit(
            [*X[:3], np.eye(3)[:, :2]], [*Y[:3], [0, 1, 1]]
        )
    LearnedLinkage(memory=str(tmp_path), metric="cosine").fit(X, Y)
    assert sorted(engine_calls) == [len(pdist(x)) for x in X]


@pytest.mark.parametrize("linkages", PAIRS)
@pytest.mark.parametrize(
    ("points", "labels", "loss"),
    [
        ([[1.0, 2.0]], [3], 0),
        ([[1.0, 2.0], [3.0, 4.0]], [0, 0], 0),
        ([[1.0, 2.0], [3.0, 4.0]], [0, 1], 0),
        (np.arange(5.0)[:, None], np.zeros(5), 0),
        (np.arange(5.0)[:, None], np.arange(5), 0),
        (np.ones((4, 2)), [0, 0, 1, 1], 0.25),
    ],
    ids=["one point", "two points", "two classes", "one class", "all apart", "equal"],
)
def test_smallest_instances_are_learned(linkages, points, labels, loss):
    learner = LearnedLinkage(linkages).fit(points, labels)
    assert learner.loss_curve_ == PiecewiseConstant([0, 1], [loss])
    assert learner.score(points, labels) == 1 - learner.loss_
    assert learner.alpha_ == 0.5
    assert learner.predict(points).shape == (len(points),)


def test_rings_and_disks_are_learned_near_the_optimum_of_the_paper():
    learner = LearnedLinkage().fit(*make_rings_and_disks(50, random_state=0))
    assert 0.1 < learner.alpha_ < 0.2
    assert learner.loss_ < learner.loss_curve_([0, 1]).min() - 0.15


@pytest.mark.parametrize(
    ("linkages", "metric", "calls"),
    [(("single", "complete"), "l1", 1), (("complete", "single"), "l2", 1),
     (("single", "complete"), "l2", 0)],
)  # fmt: skip
def test_memory_tells_families_apart(tmp_path, engine_calls, linkages, metric, calls):
    LearnedLinkage(memory=str(tmp_path)).fit(X[:1], Y[:1])
    engine_calls.clear()
    other = LearnedLinkage(linkages, metric=metric, memory=str(tmp_path))
    other.fit(X[:1], Y[:1])
    assert len(engine_calls) == calls


def test_learned_clusterer_has_the_learned_parameters():
    learner = LearnedLinkage(("average", "complete"), metric="l1").fit(X[:1], Y[:1])
    clusterer = learner.clusterer_
    assert clusterer.linkages == ("average", "complete")
    assert (clusterer.alpha, clusterer.metric) == (learner.alpha_, "l1")
