"""Clusterers of scikit-learn with the interface of learners."""

import math
from numbers import Integral, Real

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._base import mean_loss
from .._errors import blame, name_of
from .._instances import all_or_nothing, read_instances
from .._interpolated import InterpolatedLinkage, read_cluster_counts
from .._parallel import map_instances
from .._pickling import VersionedPickle


def _cut(labels, found):
    """Fraction of points that no matching of clusters with classes gets right."""
    counts = contingency_matrix(labels, found)
    right = counts[linear_sum_assignment(counts, maximize=True)].sum()
    return 1.0 - right / len(labels)


def _ari(labels, found):
    return 1.0 - adjusted_rand_score(labels, found)


FLAT_LOSSES = {"cut": _cut, "ari": _ari}


def flat_loss(loss, labels, found):
    """The loss of flat clusters, by the name of the loss or a function."""
    if not callable(loss):
        return float(FLAT_LOSSES[loss](labels, found))
    value = loss(labels, found)
    if not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(
            f"loss {name_of(loss)} must be a finite number, got {value!r}."
        )
    return float(value)


class PerInstanceClusterer(VersionedPickle, BaseEstimator):
    """Give a clusterer of scikit-learn the interface of a learner.

    The clusterer learns nothing from instances: a clone of it is fitted on each one
    that is to be clustered. This makes it comparable with what was learned.

    Parameters
    ----------
    clusterer : clusterer of scikit-learn
        Such as :class:`~sklearn.cluster.AgglomerativeClustering`,
        :class:`~sklearn.cluster.HDBSCAN` or :class:`~sklearn.cluster.KMeans`. If its
        `metric` is ``"precomputed"``, instances are distance matrices; those of an
        :class:`~sklearn_linkage_learn.InterpolatedLinkage` with a `beta` are as many
        matrices as it weights.

    loss : {"cut", "ari"} or callable, default="cut"
        What `score` judges clusters by: the least fraction of misplaced points over
        all matchings of clusters with classes, or one minus the adjusted Rand index,
        or a function of the right labels and those found. Points that a clusterer
        calls noise, label -1, count as one cluster.

    n_clusters : int, default=None
        The number of clusters that `predict` makes. By default the number of classes
        that all training instances have in common, or else what the clusterer was made
        with.

    n_jobs : int, default=None
        Number of instances to work on at once, in threads.

    Attributes
    ----------
    n_clusters_ : int or None
        The number of clusters that `predict` asks for by default.

    n_features_in_ : int
        Number of features of a point, unless distances are precomputed.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features, if instances have names that are all strings.

    See Also
    --------
    compare : Compares candidates on the same instances.
    sklearn_linkage_learn.preprocessing.PerInstance : The same for transformers.

    Examples
    --------
    >>> from sklearn.cluster import AgglomerativeClustering
    >>> from sklearn_linkage_learn.datasets import make_rings_and_disks
    >>> from sklearn_linkage_learn.model_selection import PerInstanceClusterer
    >>> X, y = make_rings_and_disks(4, n_per_cluster=30, random_state=0)
    >>> average = AgglomerativeClustering(linkage="average")
    >>> clusterer = PerInstanceClusterer(average).fit(X[:2], y[:2])
    >>> [len(set(labels)) for labels in clusterer.predict(X[2:])]
    [4, 4]
    >>> round(clusterer.score(X[2:], y[2:]), 2)
    0.5
    """

    _parameter_constraints = {
        "clusterer": [HasMethods(["fit_predict"])],
        "loss": [StrOptions(set(FLAT_LOSSES)), callable],
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "n_jobs": [Integral, None],
    }

    def __init__(self, clusterer, *, loss="cut", n_clusters=None, n_jobs=None):
        self.clusterer = clusterer
        self.loss = loss
        self.n_clusters = n_clusters
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "clusterer"
        tags.input_tags.three_d_array = True
        return tags

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, groups=None):
        """Check instances, and see how many classes they have; nothing is clustered.

        Parameters
        ----------
        X, groups : see `LearnedLinkage.fit`
            Instances, in any form that learners take.

        y : sequence of array-likes of shape (n_points,), or array-like, default=None
            Their labels.

        Returns
        -------
        self : PerInstanceClusterer
        """
        instances = self._read(X, y, groups=groups, labelled=y is not None)
        self.n_clusters_ = self.n_clusters
        n_labels = {len(np.unique(labels)) for labels in instances.labels or ()}
        if self.n_clusters is None and len(n_labels) == 1:
            self.n_clusters_ = n_labels.pop()
        return self

    def predict(self, X, n_clusters=None, groups=None):
        """Cluster each instance.

        Parameters
        ----------
        X, groups : see `fit`
            One instance or a collection.

        n_clusters : int or sequence of int, default=None
            The number of clusters, of all instances or of each, for a clusterer that
            has such a parameter and no `distance_threshold`; others decide themselves.
            By default `n_clusters_`. An instance of one point is one cluster.

        Returns
        -------
        labels : ndarray of shape (n_points,) or list of them
            In the form of `X`, see `LearnedLinkage.predict`.
        """
        check_is_fitted(self)
        instances = self._read(X, groups=groups, reset=False)
        if n_clusters is None:
            n_clusters = self.n_clusters_
        counts = [None] * len(instances)
        if n_clusters is not None:
            counts = read_cluster_counts(n_clusters, instances)
        return instances.like_input(self._cluster(instances, counts))

    def fit_predict(self, X, y=None, n_clusters=None, groups=None):
        """Do `fit` and then `predict`.

        Parameters
        ----------
        X, y, n_clusters, groups : see `fit` and `predict`

        Returns
        -------
        labels : ndarray of shape (n_points,) or list of them
            See `predict`.
        """
        return self.fit(X, y, groups).predict(X, n_clusters, groups)

    def score(self, X, y=None, sample_weight=None, groups=None):
        """Return one minus the mean loss of instances.

        Parameters
        ----------
        X, y, groups : see `fit`
            Labelled instances. The number of clusters is that of the labels.

        sample_weight : array-like of shape (n_instances,) or (n_rows,), default=None
            Weights of instances in the mean, see `LearnedLinkage.score`.

        Returns
        -------
        score : float
            1 is best.
        """
        check_is_fitted(self)
        instances = self._read(X, y, groups=groups, labelled=True, reset=False)
        weights = instances.weights("sample_weight", sample_weight)
        counts = [len(np.unique(labels)) for labels in instances.labels]
        losses = []
        for name, labels, found in zip(
            instances.names,
            instances.labels,
            self._cluster(instances, counts),
            strict=True,
        ):
            with blame(name):
                losses.append(flat_loss(self.loss, labels, found))
        return 1.0 - mean_loss(losses, weights)

    def _read(self, X, y=None, **options):
        metric = getattr(self.clusterer, "metric", None)
        n_matrices = int(isinstance(metric, str) and metric == "precomputed")
        if n_matrices and isinstance(self.clusterer, InterpolatedLinkage):
            n_matrices = _n_weights(self.clusterer.beta)
        return read_instances(self, X, y, n_matrices=n_matrices, **options)

    def _cluster(self, instances, counts):
        arguments = [
            (self.clusterer, *instance)
            for instance in zip(instances.points, counts, strict=True)
        ]
        return map_instances(_clusters_of, instances.names, arguments, self.n_jobs)


def _n_weights(beta):
    """The number of distance matrices that a weight, or weights, are for."""
    if beta is None:
        return 1
    return 2 if isinstance(beta, Real) else len(beta)


def _clusters_of(clusterer, points, n_clusters):
    if points.shape[-2] == 1:
        return np.zeros(1, dtype=np.int64)
    clusterer = clone(clusterer)
    name = None if n_clusters is None else _count_parameter(clusterer)
    if name is not None:
        clusterer.set_params(**{name: n_clusters})
    return np.asarray(clusterer.fit_predict(points))


def _count_parameter(clusterer):
    """The parameter for the number of clusters, if that is what decides."""
    prefix = ""
    while isinstance(clusterer, Pipeline):
        name, clusterer = clusterer.steps[-1]
        prefix += f"{name}__"
    params = clusterer.get_params(deep=False)
    if "n_clusters" not in params or params.get("distance_threshold") is not None:
        return None
    return f"{prefix}n_clusters"
