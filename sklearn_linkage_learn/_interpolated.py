"""The clusterer at fixed weights: the paper's Algorithm 1."""

from numbers import Integral, Real

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ._distances import METRICS, read_metrics, stacked_distances
from ._errors import as_numbers, blame, is_sequence
from ._families import LINKAGES, distance_bytes, mixed_linkage, run_bytes
from ._instances import all_or_nothing, read_metrics_input
from ._limits import check_room
from ._pickling import VersionedPickle
from ._scales import in_binary_units, largest_distances, scale_factors, usable

_WEIGHTS = [Interval(Real, 0, 1, closed="both"), "array-like", None]


class InterpolatedLinkage(VersionedPickle, ClusterMixin, BaseEstimator):
    """Agglomerative clustering with a weighted mix of linkages and of metrics.

    Starting from single points, the two nearest clusters are merged until one is
    left. How near clusters are is a weighted mean of several merge functions D_i, on
    a distance of points that is a weighted mean of several metrics d_j::

        D(A, B) = sum_i alpha_i D_i(A, B; d),    d(x, y) = sum_j beta_j d_j(x, y)

    With one linkage and one metric this is what
    :class:`~sklearn.cluster.AgglomerativeClustering` does. :class:`LearnedLinkage`
    finds the weights from instances whose clustering is known.

    Parameters
    ----------
    n_clusters : int or None, default=2
        The number of clusters to find. It must be None if `distance_threshold` is
        given.

    linkages : str or sequence of str, default="complete"
        One merge function or several to mix: ``"single"``, ``"complete"``,
        ``"average"`` and ``"weighted"``. ``"ward"`` can only stand alone, and needs
        Euclidean metrics: their *squared* distances are mixed.

    alpha : float, array-like of shape (n_linkages,) or None, default=None
        Weights of the merge functions. A number between 0 and 1 is the weight of the
        second of two linkages, the first one has the rest. Of an array only the
        ratios count. None means equal weights.

    metric : str, callable or sequence of them, default="euclidean"
        One metric of points or several to mix: a name known to scipy's
        :func:`~scipy.spatial.distance.pdist`, a function of two rows, or in a
        sequence a tuple ``(name, metric, columns)`` with one of these and the columns
        that it sees: a position, a slice, a list of positions or a mask, or names of
        columns if `X` is a DataFrame. ``"precomputed"`` means that `X` holds
        distances.

    beta : float, array-like of shape (n_metrics,) or None, default=None
        Weights of the metrics, as `alpha`.

    scale : array-like of shape (n_metrics,), "max" or None, default=None
        What the distances of each metric are divided by before they are mixed:
        numbers, or ``"max"`` for the largest distance within `X`. By default metrics
        are mixed as they are, in their own units.

    distance_threshold : float or None, default=None
        Merging stops when the nearest clusters are at this distance or further.
        `n_clusters` must be None then.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each sample. Clusters are numbered by decreasing size; of
        equally large ones, that merged at the lower height comes first, and then the
        one with the earlier sample.

    n_clusters_ : int
        The number of clusters found.

    children_ : ndarray of shape (n_samples - 1, 2)
        The two nodes that each merge joins: a sample if less than `n_samples`, else
        the merge number ``children_[i, j] - n_samples``.

    distances_ : ndarray of shape (n_samples - 1,)
        The distance at which each merge happens, by weights that are scaled to sum
        to one.

    linkage_matrix_ : ndarray of shape (n_samples - 1, 4)
        The tree as scipy's :func:`~scipy.cluster.hierarchy.dendrogram`,
        :func:`~scipy.cluster.hierarchy.fcluster` and
        :func:`~scipy.cluster.hierarchy.cophenet` take it, in the order of merges.

    n_leaves_ : int
        The number of samples.

    n_connected_components_ : int
        Always one: all samples are joined in the end.

    n_features_in_ : int
        Number of features seen during fit.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features, if `X` has names that are all strings.

    See Also
    --------
    LearnedLinkage : Finds the best weights of two linkages from labelled instances.
    LearnedMetricLinkage : Finds the best weights of two metrics.
    sklearn.cluster.AgglomerativeClustering : One linkage and one metric.

    Notes
    -----
    Clusters are cut out of the tree by the order of merges, not by height. A merge can
    be lower than one before it if ``"single"`` and ``"average"`` are mixed. A
    `distance_threshold` ends the run at the *first* merge that is not below it.

    References
    ----------
    M.-F. Balcan, T. Dick, M. Lang, "Learning to Link", ICLR 2020, Algorithm 1.

    Examples
    --------
    >>> from sklearn_linkage_learn import InterpolatedLinkage
    >>> X = [[1, 2], [1, 4], [1, 0], [4, 2], [4, 4], [4, 0]]
    >>> clusterer = InterpolatedLinkage(linkages=("single", "complete"), alpha=0.3)
    >>> clusterer.fit_predict(X)
    array([0, 0, 0, 1, 1, 1])
    >>> clusterer.distances_
    array([2. , 2. , 2.6, 2.6, 3.6])

    One metric on each of two blocks of columns, the second with a quarter of the
    weight:

    >>> metric = [("place", "euclidean", [0]), ("time", "cityblock", [1])]
    >>> InterpolatedLinkage(metric=metric, beta=0.25).fit_predict(X)
    array([0, 0, 0, 1, 1, 1])
    """

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "linkages": [StrOptions(set(LINKAGES)), tuple, list],
        "alpha": _WEIGHTS,
        "metric": [StrOptions(METRICS | {"precomputed"}), callable, tuple, list],
        "beta": _WEIGHTS,
        "scale": [StrOptions({"max"}), "array-like", None],
        "distance_threshold": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        linkages="complete",
        alpha=None,
        metric="euclidean",
        beta=None,
        scale=None,
        distance_threshold=None,
    ):
        self.n_clusters = n_clusters
        self.linkages = linkages
        self.alpha = alpha
        self.metric = metric
        self.beta = beta
        self.scale = scale
        self.distance_threshold = distance_threshold

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Cluster the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), (n_samples, n_samples) or \
                (n_metrics, n_samples, n_samples)
            One instance. Distances if ``metric="precomputed"``, several matrices to
            mix them by `beta`.

        y : Ignored
            Present for compatibility.

        Returns
        -------
        self : InterpolatedLinkage
            With the tree and its flat clusters.
        """
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise ValueError(
                "Exactly one of n_clusters and distance_threshold has to be set, and "
                f"the other has to be None, got n_clusters={self.n_clusters} and "
                f"distance_threshold={self.distance_threshold}."
            )
        linkages, metrics = self._check_families()
        points = read_metrics_input(self, X, metrics[0].precomputed)
        if metrics[0].precomputed:
            metrics = metrics * len(points)
        else:
            points = [points] * len(metrics)
        metrics = [metric.bind(self) for metric in metrics]
        alpha = weight_vector("alpha", self.alpha, "linkages", len(linkages))
        beta = weight_vector("beta", self.beta, "metrics", len(metrics))
        scale = _check_scale(self.scale, len(metrics))
        if self.n_clusters is not None:
            check_cluster_count(self.n_clusters, len(points[0]))
        self._check_room(len(points[0]), linkages, len(metrics))
        distances = stacked_distances(metrics, points)
        tree = weighted_tree(distances, linkages, alpha, beta, scale)

        if self.n_clusters is None:
            self.n_clusters_ = count_below(tree, self.distance_threshold)
        else:
            self.n_clusters_ = int(self.n_clusters)
        self.labels_ = flat_clusters(tree, self.n_clusters_)
        self.linkage_matrix_ = tree
        self.children_ = tree[:, :2].astype(np.intp)
        self.distances_ = tree[:, 2].copy()
        self.n_leaves_ = len(tree) + 1
        self.n_connected_components_ = 1
        return self

    def _check_room(self, n_points, linkages, n_metrics):
        needed = distance_bytes(linkages, n_metrics) + run_bytes(linkages, n_metrics)
        if self.scale is not None:
            needed += distance_bytes([], n_metrics)
        with blame("X"):
            check_room(needed * n_points**2, "Clustering", n_points)

    def _check_families(self):
        linkages = _as_list("linkages", self.linkages, LINKAGES)
        metrics = read_metrics("metric", self.metric)
        euclidean = all(metric.euclidean for metric in metrics)
        if "ward" in linkages and (len(linkages) > 1 or not euclidean):
            raise ValueError(
                "linkages='ward' has to stand alone and needs metric='euclidean', got "
                f"linkages={self.linkages!r} and metric={self.metric!r}."
            )
        return linkages, metrics


def weight_vector(name, weights, things, count):
    """Bring weights to the form that engines take, without rounding.

    Parameters
    ----------
    name, things : str
        The parameter and what it weights, for messages.

    weights : float, array-like or None
        See `InterpolatedLinkage.alpha`.

    count : int
        Number of weights expected.

    Returns
    -------
    weights : list of (float, float)
        Each weight as the exact sum of two floats.
    """
    if isinstance(weights, Real):
        if count != 2:
            raise ValueError(
                f"{name}={weights} as a number weights two {things}, found {count}: "
                f"pass one weight for each."
            )
        weight = float(weights)
        rest = 1.0 - weight
        return [(rest, (1.0 - rest) - weight), (weight, 0.0)]
    weights = np.ones(count) if weights is None else as_numbers(name, weights)
    if weights.shape != (count,):
        raise ValueError(
            f"{name} must hold one number for each of {count} {things}, found shape "
            f"{weights.shape}."
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError(
            f"{name} must be finite, not negative and not all zero, found "
            f"{weights.tolist()}."
        )
    if count == 1:
        return [(1.0, 0.0)]
    # Only ratios count. Near 1, neither sums nor products overflow or underflow.
    weights = np.ldexp(weights, -np.frexp(weights.max())[1])
    return [(w, 0.0) for w in weights.tolist()]


def weighted_tree(distances, linkages, alpha, beta, scale=None):
    """Run the algorithm at weights from :func:`weight_vector`; a scipy tree.

    Decisions are taken with the weights as they are, which is exact; only heights are
    divided by their sum.
    """
    ward = "ward" in linkages
    total = sum(map(sum, alpha)) * sum(map(sum, beta))
    if scale is not None:
        if isinstance(scale, str):
            scale = usable(largest_distances(np.asarray(distances)))
        distances, units = in_binary_units(distances)
        factors = scale_factors(units, scale, squared=ward)
        total /= factors.max()
        factors /= factors.max()
        beta = [(sum(w) * f, 0.0) for w, f in zip(beta, factors.tolist(), strict=True)]
    tree = mixed_linkage(distances, tuple(linkages), alpha, beta)
    if total != 1:
        # The weights of ward are those of squared distances.
        tree[:, 2] /= np.sqrt(total) if ward else total
    return tree


def check_cluster_count(n_clusters, n_points):
    """Refuse a number of clusters that an instance cannot have."""
    if n_clusters < 1:
        raise ValueError(f"n_clusters={n_clusters} is less than 1.")
    if n_clusters > n_points:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the number of points, "
            f"n_samples={n_points}."
        )


def read_cluster_counts(n_clusters, instances):
    """The number of clusters of each instance, from one for all or one for each."""
    counts = [n_clusters] * len(instances)
    if is_sequence(n_clusters) or getattr(n_clusters, "ndim", 0) == 1:
        counts = list(n_clusters)
    integers = all(isinstance(n, Integral) and n is not True for n in counts)
    if len(counts) != len(instances) or not integers:
        raise ValueError(
            "n_clusters must be an integer or hold one integer for each of the "
            f"{len(instances)} instances, got {n_clusters!r}."
        )
    for name, size, count in zip(instances.names, instances.sizes, counts, strict=True):
        with blame(name):
            check_cluster_count(count, size)
    return list(map(int, counts))


def count_below(tree, threshold):
    """Number of clusters left when the nearest two are not below `threshold`."""
    reached = np.append(tree[:, 2] >= threshold, True)
    return len(tree) + 1 - int(np.argmax(reached))


def flat_clusters(tree, n_clusters):
    """Labels of the clusters that the last merges join.

    Numbers depend on the clusters and not on the order of points, as far as clusters
    differ in size or height.
    """
    n = len(tree) + 1
    done = n - n_clusters
    merged = np.repeat(np.arange(n, n + done), 2)
    children = tree[:done, :2].ravel().astype(np.intp)
    links = csr_array(
        (np.ones(2 * done, dtype=np.int8), (children, merged)), shape=(n + done,) * 2
    )
    _, component = connected_components(links, directed=False)
    _, first, size = np.unique(component[:n], return_index=True, return_counts=True)
    # A cluster's highest merge is its last one, and so has the largest node number.
    top = np.zeros(n_clusters, dtype=np.intp)
    np.maximum.at(top, component, np.arange(n + done))
    height = np.append(np.zeros(n), tree[:done, 2])[top]
    number = np.empty(n_clusters, dtype=np.int64)
    number[np.lexsort((first, height, -size))] = np.arange(n_clusters)
    return number[component[:n]]


def _as_list(name, value, known):
    entries = list(value) if isinstance(value, (tuple, list)) else [value]
    if not entries:
        raise ValueError(f"{name} is empty, at least one is expected.")
    for i, entry in enumerate(entries):
        if not isinstance(entry, str) or entry not in known:
            raise ValueError(
                f"{name}[{i}] is {entry!r}, expected one of {sorted(known)}."
            )
    return entries


def _check_scale(scale, count):
    """Numbers to divide the metrics by, "max" or None."""
    if scale is None or isinstance(scale, str):
        return scale
    scale = as_numbers("scale", scale)
    if scale.shape != (count,):
        raise ValueError(
            f"scale must hold one number for each of {count} metrics, found shape "
            f"{scale.shape}."
        )
    if not np.isfinite(scale).all() or not (scale > 0).all():
        raise ValueError(f"scale must be finite and positive, found {scale.tolist()}.")
    return scale
