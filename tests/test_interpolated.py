import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.cluster.hierarchy import (
    cophenet,
    dendrogram,
    fcluster,
    is_valid_linkage,
    linkage,
)
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_linkage_learn import InterpolatedLinkage
from sklearn_linkage_learn._interpolated import weight_vector


def make_points(n=30, seed=0, n_features=3):
    return np.random.default_rng(seed).normal(size=(n, n_features))


def greedy(X, alpha, linkages, metric="euclidean"):
    """Heights of merging the nearest pair, each distance from the points."""
    d = squareform(pdist(X, metric))
    reduce = {"single": np.min, "complete": np.max, "average": np.mean}
    clusters, heights = [[i] for i in range(len(X))], []
    while len(clusters) > 1:
        height, a, b = min(
            (
                sum(
                    w * reduce[name](d[np.ix_(A, B)])
                    for w, name in zip(alpha, linkages, strict=True)
                ),
                a,
                b,
            )
            for b, B in enumerate(clusters)
            for a, A in enumerate(clusters[:b])
        )
        clusters[a] = clusters[a] + clusters.pop(b)
        heights.append(height)
    return heights


@pytest.mark.parametrize("name", ["single", "complete", "average", "weighted", "ward"])
def test_one_linkage_gives_the_tree_of_scipy(name):
    X = make_points()
    Z = InterpolatedLinkage(linkages=name).fit(X).linkage_matrix_
    expected = linkage(X, name)
    np.testing.assert_array_equal(Z[:, [0, 1, 3]], expected[:, [0, 1, 3]])
    np.testing.assert_allclose(Z[:, 2], expected[:, 2], rtol=1e-12)


@pytest.mark.parametrize("pure", [0, 1])
@pytest.mark.parametrize(
    "linkages",
    [("single", "complete"), ("average", "single"), ("weighted", "complete")],
)
def test_all_weight_on_one_linkage_gives_the_tree_of_scipy(linkages, pure):
    X = make_points(seed=1)
    expected = linkage(X, linkages[pure])
    for alpha in (pure, float(pure), [2 - 2 * pure, 2 * pure]):
        clusterer = InterpolatedLinkage(linkages=linkages, alpha=alpha).fit(X)
        Z = clusterer.linkage_matrix_
        np.testing.assert_array_equal(Z[:, [0, 1, 3]], expected[:, [0, 1, 3]])
        np.testing.assert_allclose(Z[:, 2], expected[:, 2], rtol=1e-12)


@pytest.mark.parametrize("name", ["single", "complete", "average"])
@pytest.mark.parametrize("n_clusters", [1, 4, 30])
def test_flat_clusters_are_those_of_sklearn(name, n_clusters):
    X = make_points(seed=2)
    ours = InterpolatedLinkage(n_clusters, linkages=name, metric="manhattan").fit(X)
    theirs = AgglomerativeClustering(n_clusters, linkage=name, metric="manhattan")
    assert adjusted_rand_score(ours.labels_, theirs.fit_predict(X)) == 1
    assert ours.n_clusters_ == n_clusters
    assert ours.n_leaves_ == 30
    assert ours.n_connected_components_ == 1
    np.testing.assert_array_equal(np.unique(ours.labels_), np.arange(n_clusters))


@pytest.mark.parametrize("name", ["single", "complete", "average", "ward"])
@pytest.mark.parametrize("threshold", [0, 0.5, 1.0, 2.0, 100])
def test_distance_threshold_means_what_it_means_in_sklearn(name, threshold):
    X = make_points(seed=3)
    options = {"n_clusters": None, "distance_threshold": threshold}
    ours = InterpolatedLinkage(linkages=name, **options).fit(X)
    theirs = AgglomerativeClustering(linkage=name, **options).fit(X)
    assert ours.n_clusters_ == theirs.n_clusters_
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1


def test_a_merge_at_the_threshold_is_not_made():
    X = [[0.0], [1.0], [3.0]]
    clusterer = InterpolatedLinkage(None, distance_threshold=1, linkages="single")
    assert clusterer.fit(X).n_clusters_ == 3
    assert clusterer.set_params(distance_threshold=1.5).fit(X).n_clusters_ == 2


@pytest.mark.parametrize(
    ("linkages", "alpha"),
    [
        (("single", "complete"), (0.7, 0.3)),
        (("single", "average"), (0.2, 0.8)),
        (("single", "complete", "average"), (0.2, 0.5, 0.3)),
    ],
)
def test_mixed_linkages_merge_the_nearest_pair_at_its_height(linkages, alpha):
    X = make_points(n=14, seed=4)
    clusterer = InterpolatedLinkage(linkages=linkages, alpha=alpha).fit(X)
    np.testing.assert_allclose(clusterer.distances_, greedy(X, alpha, linkages))


def test_only_ratios_of_weights_count():
    X = make_points(seed=5)
    metric = ["euclidean", "cosine"]

    def run(alpha, beta):
        clusterer = InterpolatedLinkage(
            linkages=["single", "complete"], alpha=alpha, metric=metric, beta=beta
        )
        return clusterer.fit(X).linkage_matrix_

    expected = run(0.75, 0.5)
    for alpha, beta in [([0.25, 0.75], None), ([1, 3], [7, 7]), ([2, 6], [0.1, 0.1])]:
        np.testing.assert_allclose(run(alpha, beta), expected, rtol=1e-14)
    equal = run(None, None)
    np.testing.assert_array_equal(equal, run(0.5, 0.5))


def test_mixed_metrics_are_one_metric_that_is_the_mean():
    X = make_points(seed=6)
    metrics = ["euclidean", "cosine", lambda u, v: abs(u[0] - v[0])]
    beta = [0.5, 0.25, 0.25]
    distances = np.array([squareform(pdist(X, metric)) for metric in metrics])
    mixed = InterpolatedLinkage(linkages="average", metric=metrics, beta=beta).fit(X)
    stacked = InterpolatedLinkage(linkages="average", metric="precomputed", beta=beta)
    np.testing.assert_array_equal(
        stacked.fit(distances).linkage_matrix_, mixed.linkage_matrix_
    )
    expected = linkage(squareform(np.tensordot(beta, distances, 1)), "average")
    np.testing.assert_allclose(mixed.linkage_matrix_, expected, rtol=1e-12)


METRICS = ["euclidean", "cosine", "chebyshev"]


@pytest.mark.parametrize("scale", [[2.0, 0.5, 8.0], (3, 1, 7), "max"])
@pytest.mark.parametrize("linkages", ["complete", ("single", "average")])
def test_scaled_metrics_are_divided_before_they_are_mixed(scale, linkages):
    X = make_points(seed=7)
    options = {"linkages": linkages, "beta": [2, 1, 1]}
    ours = InterpolatedLinkage(metric=METRICS, scale=scale, **options).fit(X)
    distances = np.array([squareform(pdist(X, metric)) for metric in METRICS])
    if scale == "max":
        scale = distances.max(axis=(1, 2))
    divided = distances / np.reshape(scale, (3, 1, 1))
    expected = InterpolatedLinkage(metric="precomputed", **options).fit(divided)
    np.testing.assert_allclose(ours.linkage_matrix_, expected.linkage_matrix_)


def test_scale_of_one_metric_is_that_of_the_heights():
    X = make_points(seed=8)
    plain = InterpolatedLinkage().fit(X)
    for scale, largest in [([2.5], 2.5), ("max", pdist(X).max()), ([1e300], 1e300)]:
        ours = InterpolatedLinkage(scale=scale).fit(X)
        np.testing.assert_array_equal(ours.children_, plain.children_)
        np.testing.assert_allclose(ours.distances_, plain.distances_ / largest)
    equal = InterpolatedLinkage(1, scale="max").fit(np.ones((3, 2)))
    np.testing.assert_array_equal(equal.distances_, 0)


@pytest.mark.parametrize("beta", [0.0, 0.25, [3, 1], 1.0])
@pytest.mark.parametrize("scale", [None, (2.0, 5.0), "max"])
def test_ward_mixes_squared_distances_of_blocks(beta, scale):
    X = make_points(seed=9, n_features=4)
    blocks = [("a", "euclidean", [0, 1]), ("b", "l2", [2, 3])]
    options = {"linkages": "ward", "beta": beta, "scale": scale}
    ours = InterpolatedLinkage(metric=blocks, **options).fit(X)
    # Squared distances of blocks are those of columns with the roots of the weights.
    second = 0.25 if isinstance(beta, list) else beta
    weights = np.sqrt([1 - second] * 2 + [second] * 2)
    largest = [pdist(X[:, [0, 1]]).max(), pdist(X[:, [2, 3]]).max()]
    divisor = largest if scale == "max" else scale or (1, 1)
    expected = linkage(X * weights / np.repeat(divisor, 2), "ward")
    np.testing.assert_allclose(ours.linkage_matrix_, expected)


def test_precomputed_distances_give_the_same_tree_as_points():
    X = make_points()
    expected = InterpolatedLinkage(3, linkages="average").fit(X)
    clusterer = InterpolatedLinkage(3, linkages="average", metric="precomputed")
    clusterer.fit(squareform(pdist(X)))
    np.testing.assert_array_equal(clusterer.labels_, expected.labels_)
    np.testing.assert_array_equal(clusterer.distances_, expected.distances_)


@pytest.mark.parametrize("linkages", [("single", "complete"), ("single", "average")])
def test_scipy_accepts_the_linkage_matrix(linkages):
    X = make_points(seed=8)
    clusterer = InterpolatedLinkage(4, linkages=linkages, alpha=0.5).fit(X)
    Z = clusterer.linkage_matrix_
    assert is_valid_linkage(Z)
    assert sorted(dendrogram(Z, no_plot=True)["leaves"]) == list(range(30))
    assert cophenet(Z).shape == (30 * 29 // 2,)
    assert len(fcluster(Z, 4, "maxclust")) == 30
    if linkages == ("single", "complete"):
        flat = fcluster(Z, 4, "maxclust")
        assert adjusted_rand_score(flat, clusterer.labels_) == 1
    np.testing.assert_array_equal(clusterer.children_, Z[:, :2])
    assert clusterer.children_.dtype.kind == "i"
    np.testing.assert_array_equal(clusterer.distances_, Z[:, 2])


def instance_with_inversion():
    """Three points and a heavy cluster, so that a merge pulls the mean down."""
    for seed in range(200):
        X = make_points(n=12, seed=seed, n_features=2)
        clusterer = InterpolatedLinkage(linkages=("single", "average"), alpha=0.3)
        distances = clusterer.fit(X).distances_
        falls = np.flatnonzero(np.diff(distances) < -1e-9)
        if len(falls):
            return X, distances, int(falls[0])
    raise AssertionError("no inversion in any instance")


def test_inverted_merges_are_cut_by_order():
    X, distances, fall = instance_with_inversion()
    options = {"linkages": ("single", "average"), "alpha": 0.3}
    labels = [InterpolatedLinkage(k, **options).fit_predict(X) for k in range(1, 13)]
    for coarse, fine in pairwise(labels):
        assert all(len(np.unique(coarse[fine == c])) == 1 for c in np.unique(fine))

    # The higher of the two inverted merges comes first, and ends the run.
    threshold = (distances[fall] + distances[fall + 1]) / 2
    clusterer = InterpolatedLinkage(None, distance_threshold=threshold, **options)
    assert clusterer.fit(X).n_clusters_ == 12 - np.argmax(distances >= threshold)
    assert clusterer.n_clusters_ > 1 + np.count_nonzero(distances >= threshold)


def test_labels_are_numbered_by_size_whatever_the_order_of_points():
    rng = np.random.default_rng(9)
    X = np.concatenate([rng.normal(c, 0.1, size=(n, 2)) for c, n in [(0, 3), (5, 9)]])
    X = np.concatenate([X, [[50.0, 0.0]]])
    order = rng.permutation(len(X))
    labels = InterpolatedLinkage(3).fit_predict(X)
    np.testing.assert_array_equal(np.bincount(labels), [9, 3, 1])
    shuffled = InterpolatedLinkage(3).fit_predict(X[order])
    np.testing.assert_array_equal(shuffled, labels[order])

    # Of two clusters of two, the tighter one comes first; then the earlier one.
    X = np.array([[0.0], [2.0], [10.0], [11.0]])
    np.testing.assert_array_equal(InterpolatedLinkage(2).fit_predict(X), [1, 1, 0, 0])
    labels = InterpolatedLinkage(4).fit_predict(X)
    np.testing.assert_array_equal(labels, [0, 1, 2, 3])


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("linkages", ["complete", "ward", ("single", "average")])
def test_one_and_two_points_can_be_clustered(n, linkages):
    clusterer = InterpolatedLinkage(1, linkages=linkages).fit(make_points(n=n))
    np.testing.assert_array_equal(clusterer.labels_, np.zeros(n))
    assert clusterer.children_.shape == (n - 1, 2)
    assert clusterer.linkage_matrix_.shape == (n - 1, 4)
    clusterer.set_params(n_clusters=None, distance_threshold=1e-9)
    assert clusterer.fit(make_points(n=n)).n_clusters_ == n


@pytest.mark.parametrize("alpha", [0.1, 1 / 3, 1e-20, 0.0, 1.0, 0.9999999999999999])
def test_a_number_is_split_into_weights_that_sum_to_one_exactly(alpha):
    first, second = weight_vector("alpha", alpha, "linkages", 2)
    assert sum(map(Fraction, first)) == 1 - Fraction(alpha)
    assert sum(map(Fraction, second)) == Fraction(alpha)


@pytest.mark.parametrize("factor", [1e308, 1e-320, 2.0**-1074])
def test_only_the_ratios_of_weights_count(factor):
    X = make_points()
    params = {"linkages": ("single", "complete"), "metric": ["l1", "l2"]}
    expected = InterpolatedLinkage(**params).fit(X).linkage_matrix_
    equal = [factor, factor]
    clusterer = InterpolatedLinkage(**params, alpha=equal, beta=equal).fit(X)
    np.testing.assert_allclose(clusterer.linkage_matrix_, expected, rtol=1e-15)


def test_it_is_cloned_pickled_and_used_in_a_pipeline():
    X = make_points()
    clusterer = InterpolatedLinkage(3, linkages=("single", "complete"), alpha=0.5)
    copy = pickle.loads(pickle.dumps(clusterer.fit(X)))
    np.testing.assert_array_equal(copy.labels_, clusterer.labels_)
    assert clone(clusterer).get_params() == clusterer.get_params()
    pipeline = make_pipeline(StandardScaler(), clone(clusterer))
    expected = clone(clusterer).fit_predict(StandardScaler().fit_transform(X))
    np.testing.assert_array_equal(pipeline.fit_predict(X), expected)
