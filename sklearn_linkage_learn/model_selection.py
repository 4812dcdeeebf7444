"""What a learned algorithm gains over others, on the same instances."""

import math
from numbers import Integral, Real
from time import perf_counter

import numpy as np
from scipy import stats
from scipy.optimize import linear_sum_assignment
from sklearn import config_context
from sklearn.base import BaseEstimator, _fit_context, clone, is_clusterer
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.model_selection import check_cv
from sklearn.model_selection._split import GroupsConsumerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_params,
)
from sklearn.utils.validation import _num_samples, check_is_fitted

from ._base import InstanceLearner, mean_loss
from ._errors import blame, name_of
from ._instances import (
    all_or_nothing,
    n_dimensions,
    read_instances,
    read_labels,
    split_instances,
)
from ._interpolated import InterpolatedLinkage, read_cluster_counts
from ._parallel import map_instances
from ._pickling import VersionedPickle
from ._progress import shown_progress

__all__ = ["PerInstanceClusterer", "compare"]


def _cut(labels, found):
    """Fraction of points that no matching of clusters with classes gets right."""
    counts = contingency_matrix(labels, found)
    right = counts[linear_sum_assignment(counts, maximize=True)].sum()
    return 1.0 - right / len(labels)


def _ari(labels, found):
    return 1.0 - adjusted_rand_score(labels, found)


_LOSSES = {"cut": _cut, "ari": _ari}


def _flat_loss(loss, labels, found):
    """The loss of flat clusters, by the name of the loss or a function."""
    if not callable(loss):
        return float(_LOSSES[loss](labels, found))
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
        "loss": [StrOptions(set(_LOSSES)), callable],
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
                losses.append(_flat_loss(self.loss, labels, found))
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


@validate_params(
    {
        "candidates": [dict],
        "baseline": [str, None],
        "cv": ["cv_object"],
        "loss": [StrOptions(set(_LOSSES)), callable],
        "n_clusters": [StrOptions({"labels"}), None],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "details": ["boolean"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    },
    prefer_skip_nested_validation=False,
)
def compare(
    candidates,
    X,
    y,
    *,
    groups=None,
    baseline=None,
    cv=5,
    loss="cut",
    n_clusters="labels",
    confidence=0.95,
    details=False,
    n_jobs=None,
    verbose=0,
):
    """Compare candidates on held-out instances, and with what is used today.

    All candidates learn from the same instances and are judged on the same others, by
    the flat clusters that they predict.

    Parameters
    ----------
    candidates : dict of str to estimator
        Learners, pipelines or searches of them, and clusterers of scikit-learn.

    X, y, groups : see `LearnedLinkage.fit`
        Labelled instances. Stacked ones are taken apart first, so that candidates get
        lists of instances.

    baseline : str, default=None
        The candidate that others are compared with; the first one by default.

    cv : int, splitter or iterable of splits, default=5
        How to split the instances, not the points.

    loss : {"cut", "ari"} or callable, default="cut"
        What all are judged by, whatever they learned by; see
        :class:`PerInstanceClusterer`. A learner does best if its own loss is the same.

    n_clusters : "labels" or None, default="labels"
        Whether candidates are told the right number of clusters of each instance, or
        decide themselves.

    confidence : float, default=0.95
        Level of the confidence intervals.

    details : bool, default=False
        Whether to return one row for each candidate and held-out instance instead.

    n_jobs : int, default=None
        Number of fits to do at once, in threads.

    verbose : int, default=0
        Whether to show progress on standard error.

    Returns
    -------
    table : DataFrame, or dict of lists if pandas is not installed
        One row for each candidate, with the columns

        - ``candidate``, and ``n_instances`` that were held out;
        - ``loss``, ``loss_low``, ``loss_high``: the mean loss of instances and its
          confidence interval;
        - ``difference``, ``difference_low``, ``difference_high``: the mean over
          instances of the candidate's loss minus the baseline's, and its confidence
          interval; below 0 the candidate is better;
        - ``better``, ``equal``, ``worse``: the number of instances on which its loss is
          below, equal to or above the baseline's;
        - ``fit_seconds``, ``predict_seconds``: mean time for a split.

        With `details`, ``candidate``, ``split``, ``instance`` and ``loss``.

    Notes
    -----
    Intervals are of Student's t, for the mean of a population of instances from which
    these were drawn independently. Losses of an instance that is held out repeatedly
    are averaged first. What is compared are algorithms learned on these splits: how
    much they would differ if learned on other instances, the intervals do not tell.

    Examples
    --------
    >>> from sklearn.cluster import AgglomerativeClustering
    >>> from sklearn_linkage_learn import LearnedLinkage
    >>> from sklearn_linkage_learn.datasets import make_rings_and_disks
    >>> from sklearn_linkage_learn.model_selection import compare
    >>> X, y = make_rings_and_disks(12, n_per_cluster=30, random_state=0)
    >>> candidates = {
    ...     "average": AgglomerativeClustering(linkage="average"),
    ...     "learned": LearnedLinkage(("single", "complete"), loss="cut"),
    ... }
    >>> table = compare(candidates, X, y, cv=3)
    >>> table[["candidate", "loss", "difference", "better", "worse"]].round(2)
      candidate  loss  difference  better  worse
    0   average  0.49        0.00       0      0
    1   learned  0.34       -0.15      11      1
    """
    estimators = {
        name: _as_candidate(name, estimator) for name, estimator in candidates.items()
    }
    if not estimators:
        raise ValueError("candidates is empty, at least one is expected.")
    baseline = next(iter(estimators)) if baseline is None else baseline
    if baseline not in estimators:
        raise ValueError(f"baseline must be one of {[*estimators]}, got {baseline!r}.")
    points, labels = _as_lists(X, y, groups)
    splits = _splits(cv, len(points))

    jobs = [(name, split) for split in range(len(splits)) for name in estimators]
    title = "compare" if verbose else None
    with shown_progress(title, [1] * len(jobs), unit="fits") as advance:
        results = map_instances(
            _judge,
            [f"candidates[{name!r}], split {split}" for name, split in jobs],
            [
                (estimators[name], points, labels, *splits[split], loss, n_clusters)
                for name, split in jobs
            ],
            n_jobs,
            [advance],
        )
    judged = dict(zip(jobs, results, strict=True))
    if details:
        return _as_table(
            {"candidate": name, "split": split, "instance": int(i), "loss": loss}
            for name in estimators
            for split in range(len(splits))
            for i, loss in zip(*judged[name, split][:2], strict=True)
        )
    runs = {
        name: [judged[name, split] for split in range(len(splits))]
        for name in estimators
    }
    reference = _instance_means(runs[baseline])
    return _as_table(
        _summary(name, runs[name], reference, confidence) for name in estimators
    )


def _as_candidate(name, estimator):
    """Check a candidate, and wrap a clusterer that knows no instances."""
    if not isinstance(name, str):
        raise TypeError(f"candidates must have names, got the key {name!r}.")
    last = estimator
    while isinstance(last, Pipeline) or hasattr(last, "estimator"):
        last = last.steps[-1][1] if isinstance(last, Pipeline) else last.estimator
    if isinstance(last, (InstanceLearner, PerInstanceClusterer)):
        return estimator
    if isinstance(estimator, BaseEstimator) and is_clusterer(estimator):
        return PerInstanceClusterer(estimator)
    raise TypeError(
        f"candidates[{name!r}] must be a learner, or a clusterer of scikit-learn, got "
        f"{estimator!r}."
    )


def _as_lists(X, y, groups):
    """The instances and their labels, each in a list of its own."""
    if y is None:
        raise ValueError("y is needed: candidates are judged by the right clusters.")
    instances = split_instances(X, y, groups)
    if len(instances) < 2:
        raise ValueError("X must hold at least two instances, found 1.")
    labels = []
    for name, points, target in zip(
        instances.names, instances.points, instances.labels, strict=True
    ):
        with blame(name.replace("X", "y", 1)):
            labels.append(read_labels(target, _n_points(points)))
    return instances.points, labels


def _n_points(points):
    # Distances under several metrics are matrices of the same points.
    return _num_samples(points[0] if n_dimensions(points) == 3 else points)


def _splits(cv, n_instances):
    splitter, instances = check_cv(cv), np.arange(n_instances)
    # To a splitter of groups, which suits stacked tables, each instance is one.
    groups = instances if isinstance(splitter, GroupsConsumerMixin) else None
    return list(splitter.split(instances, groups=groups))


def _judge(estimator, points, labels, train, test, loss, n_clusters):
    """Learn from some instances; the others, their losses, and times."""
    options = {}
    if n_clusters is not None:
        options["n_clusters"] = [len(np.unique(labels[i])) for i in test]
    # What is passed on has to be requested only if routing is enabled.
    with config_context(enable_metadata_routing=False):
        start = perf_counter()
        model = clone(estimator).fit(
            [points[i] for i in train], [labels[i] for i in train]
        )
        middle = perf_counter()
        model = getattr(model, "best_estimator_", model)
        found = model.predict([points[i] for i in test], **options)
        stop = perf_counter()
    losses = []
    for i, clusters in zip(test, found, strict=True):
        with blame(f"X[{i}]"):
            losses.append(_flat_loss(loss, labels[i], clusters))
    return test, losses, middle - start, stop - middle


def _instance_means(runs):
    """The loss of each instance that was held out, over all splits it was held in."""
    instances = np.concatenate([run[0] for run in runs])
    losses = np.concatenate([run[1] for run in runs])
    counts = np.bincount(instances)
    held_out = np.flatnonzero(counts)
    return np.bincount(instances, losses)[held_out] / counts[held_out]


def _summary(name, runs, reference, confidence):
    losses = _instance_means(runs)
    difference = losses - reference
    return {
        "candidate": name,
        "n_instances": len(losses),
        **_interval("loss", losses, confidence),
        **_interval("difference", difference, confidence),
        "better": int(np.count_nonzero(difference < 0)),
        "equal": int(np.count_nonzero(difference == 0)),
        "worse": int(np.count_nonzero(difference > 0)),
        "fit_seconds": float(np.mean([run[2] for run in runs])),
        "predict_seconds": float(np.mean([run[3] for run in runs])),
    }


def _interval(name, values, confidence):
    """The mean of values and its confidence interval, unknown for one value."""
    mean, half = float(np.mean(values)), math.nan
    if len(values) > 1:
        quantile = stats.t.ppf((1 + confidence) / 2, len(values) - 1)
        half = float(quantile * stats.sem(values))
    return {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}


def _as_table(rows):
    rows = list(rows)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    try:
        import pandas as pd
    except ImportError:
        return columns
    return pd.DataFrame(columns)
