"""What a learned algorithm gains over others, on the same instances."""

import math
from numbers import Integral, Real
from time import perf_counter

import numpy as np
from scipy import stats
from sklearn import config_context
from sklearn.base import BaseEstimator, clone, is_clusterer
from sklearn.model_selection import check_cv
from sklearn.model_selection._split import GroupsConsumerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import Interval, StrOptions, validate_params
from sklearn.utils.validation import _num_samples

from .._base import InstanceLearner
from .._errors import blame
from .._instances import n_dimensions, read_labels, split_instances
from .._parallel import map_instances
from .._progress import shown_progress
from ._per_instance import FLAT_LOSSES, PerInstanceClusterer, flat_loss


@validate_params(
    {
        "candidates": [dict],
        "baseline": [str, None],
        "cv": ["cv_object"],
        "loss": [StrOptions(set(FLAT_LOSSES)), callable],
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
            losses.append(flat_loss(loss, labels[i], clusters))
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
