"""Forms in which metrics may be given, and the distances they make of points.

A metric is a name, a function of two rows, or one of these on a block of columns,
``(name, metric, columns)``. No other module knows these forms: the rest works on
:class:`Metric` objects.
"""

from dataclasses import dataclass, field, replace
from functools import partial, wraps
from numbers import Integral

import numpy as np
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.metrics import DistanceMetric

from ._core.interrupts import check
from ._errors import blame, check_lengths, name_of
from ._limits import check_room

# sklearn's names of metrics that scipy knows under another one.
_ALIASES = {"l1": "cityblock", "l2": "euclidean", "manhattan": "cityblock"}
_SCIPY_METRICS = (
    "braycurtis",
    "canberra",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "dice",
    "euclidean",
    "hamming",
    "jaccard",
    "mahalanobis",
    "minkowski",
    "rogerstanimoto",
    "russellrao",
    "seuclidean",
    "sokalsneath",
    "sqeuclidean",
    "yule",
)
# These compare truth values: any number but zero is true.
_BOOLEAN_METRICS = (
    "dice",
    "jaccard",
    "rogerstanimoto",
    "russellrao",
    "sokalsneath",
    "yule",
)
METRICS = frozenset(_SCIPY_METRICS) | frozenset(_ALIASES) | {"haversine"}

# One minus a quotient: rounding leaves about 1e-16 where the distance is zero.
_ROUNDED_AT_ZERO = ("correlation", "cosine")
# The mean of two squared distances is a squared distance again only of these.
EUCLIDEAN = ("euclidean", "l2")

# Numbers that distances are computed from between two checks for Ctrl-C, and the rows
# of such a step: enough to make up for what scipy does once for each.
_STEP = 2**26
_STEP_ROWS = 16


@dataclass(frozen=True)
class Metric:
    """A metric of points, perhaps on some of their columns.

    Attributes
    ----------
    metric : str or callable
        One of `METRICS`, ``"precomputed"``, or a function of two rows.

    columns : object
        None for all columns; else as it was given, and after :meth:`bind` a tuple of
        their positions.

    name : str or None
        What the block of columns is called.
    """

    metric: object
    columns: object = None
    name: str | None = field(default=None, compare=False)

    @property
    def precomputed(self):
        return isinstance(self.metric, str) and self.metric == "precomputed"

    @property
    def euclidean(self):
        return isinstance(self.metric, str) and self.metric in EUCLIDEAN

    def bind(self, estimator):
        """Return the metric with its columns found among the estimator's features."""
        # An estimator that knows distances only is about to refuse any columns.
        if self.columns is None or not hasattr(estimator, "n_features_in_"):
            return self
        with blame(f"columns of metric {self.name!r}"):
            positions = _positions(
                self.columns,
                estimator.n_features_in_,
                getattr(estimator, "feature_names_in_", None),
            )
        return replace(self, columns=positions)

    def distances(self, points):
        """Condensed distances of the points; of a bound metric only."""
        if self.columns is None:
            return condensed_distances(points, self.metric)
        with blame(f"metric {self.name!r}"):
            block = np.ascontiguousarray(points[:, self.columns])
            return condensed_distances(block, self.metric)


def read_metrics(argument, value):
    """Read a parameter that holds one metric or several.

    A tuple is always a sequence of entries, since entries may be tuples themselves.

    Parameters
    ----------
    argument : str
        Name of the parameter, for messages.

    value : str, callable, tuple or list
        ``"precomputed"`` must stand alone.

    Returns
    -------
    metrics : list of Metric
    """
    if not isinstance(value, (tuple, list)):
        return [_read_metric(argument, value)]
    if len(value) == 0:
        raise ValueError(f"{argument} is empty, at least one is expected.")
    metrics = [_read_metric(f"{argument}[{i}]", entry) for i, entry in enumerate(value)]
    if len(metrics) > 1 and any(metric.precomputed for metric in metrics):
        raise ValueError(
            f"{argument}='precomputed' cannot stand in a sequence: an instance of "
            "shape (n_metrics, n, n) holds the distances of all metrics."
        )
    return metrics


def _read_metric(place, entry):
    if isinstance(entry, tuple) and len(entry) == 3:
        name, metric, columns = entry
        if not isinstance(name, str):
            raise ValueError(
                f"{place} is {entry!r}, expected (name, metric, columns) with a str "
                f"as name, found {name!r}."
            )
        if not _is_point_metric(metric):
            raise ValueError(
                f"{place}: the metric of {name!r} is {metric!r}, expected one of "
                f"{sorted(METRICS)} or a callable."
            )
        if columns is None:
            raise ValueError(
                f"{place}: the columns of {name!r} are None; slice(None) are all."
            )
        return Metric(metric, columns, name)
    metric = Metric(entry)
    if not _is_point_metric(entry) and not metric.precomputed:
        raise ValueError(
            f"{place} is {entry!r}, expected one of "
            f"{sorted(METRICS | {'precomputed'})} or a callable or a tuple (name, "
            "metric, columns)."
        )
    return metric


def _is_point_metric(entry):
    return callable(entry) or (isinstance(entry, str) and entry in METRICS)


def _positions(columns, n_features, names):
    """Positions of columns that are given by position, by mask or by name."""
    if isinstance(columns, slice):
        if isinstance(columns.start, str) or isinstance(columns.stop, str):
            columns = _slice_of_names(columns, names)
        positions = range(n_features)[columns]
    else:
        check_lengths(columns)
        wanted = np.asarray(columns)
        if wanted.ndim > 1:
            raise ValueError(
                f"Expected a column or a 1-D sequence of them, found {columns!r}."
            )
        if wanted.dtype == bool:
            positions = _masked(wanted, n_features)
        else:
            positions = [
                _position(column, n_features, names)
                for column in np.atleast_1d(wanted).tolist()
            ]
    if len(positions) == 0:
        raise ValueError(f"{columns!r} selects none of {n_features} columns.")
    return tuple(map(int, positions))


def _masked(mask, n_features):
    if mask.shape != (n_features,):
        raise ValueError(
            f"A mask must be of the length of the {n_features} columns of X, found "
            f"shape {mask.shape}."
        )
    return np.flatnonzero(mask)


def _position(column, n_features, names):
    if isinstance(column, str):
        return _position_of_name(column, names)
    if not isinstance(column, Integral):
        raise ValueError(
            f"{column!r} is no column, expected a position or a name of one."
        )
    if not -n_features <= column < n_features:
        raise ValueError(f"There is no column {column}: X has {n_features} columns.")
    return column % n_features


def _position_of_name(name, names):
    if names is None:
        raise ValueError(
            f"There is no column {name!r}: X has no column names. Only those of a "
            "DataFrame can be selected by name."
        )
    found = np.flatnonzero(names == name)
    if len(found) == 0:
        raise ValueError(f"There is no column {name!r}: X has {names.tolist()}.")
    return found[0]


def _slice_of_names(columns, names):
    """A slice by position; as in pandas, the stop by name belongs to it."""
    start, stop = columns.start, columns.stop
    if isinstance(start, str):
        start = _position_of_name(start, names)
    if isinstance(stop, str):
        stop = _position_of_name(stop, names) + 1
    return slice(start, stop, columns.step)


def stacked_distances(metrics, points):
    """Condensed distances under several metrics.

    Parameters
    ----------
    metrics : list of Metric

    points : list of ndarray
        What each of them is to be applied to.

    Returns
    -------
    distances : ndarray of shape (n_metrics, n_pairs)
    """
    if len(metrics) == 1:
        return metrics[0].distances(points[0])[None]
    n = len(points[0])
    # Written one by one, so that there is never more than one of them twice.
    distances = np.empty((len(metrics), n * (n - 1) // 2))
    for row, metric, data in zip(distances, metrics, points, strict=True):
        row[:] = metric.distances(data)
    return distances


def condensed_distances(points, metric):
    """Distances of all pairs of points in scipy's condensed form.

    Each pair is computed on its own and by the same operations, so that duplicated
    points have distance zero and exactly the same distances to all others.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features) or (n_points, n_points)
        Validated points, or a validated distance matrix.

    metric : str or callable
        One of `METRICS`, ``"precomputed"``, or a function of two rows.

    Returns
    -------
    distances : ndarray of shape (n_points * (n_points - 1) / 2,)
        Finite and not negative.
    """
    n = len(points)
    check_room(4 * n * n, "Computing distances of", n)
    if isinstance(metric, str) and metric == "precomputed":
        return squareform(points, checks=False)
    if len(points) == 1:
        return np.empty(0)
    with blame(f"metric {name_of(metric)}"):
        if callable(metric):
            distances = pdist(points, _checking(metric))
        else:
            kind = bool if metric in _BOOLEAN_METRICS else np.float64
            distances = _named_distances(points.astype(kind, copy=False), metric)
    if metric in _ROUNDED_AT_ZERO:
        _, place = np.unique(points, axis=0, return_inverse=True)
        if place.max() < len(points) - 1:
            distances[pdist(place.reshape(-1, 1), "cityblock") == 0] = 0
        np.maximum(distances, 0, out=distances)
    _check_distances(distances, len(points), metric)
    return distances


def _checking(metric):
    """A function of two rows that can be stopped between calls."""

    @wraps(metric)
    def checked(*args, **kwargs):
        check()
        return metric(*args, **kwargs)

    return checked


def _named_distances(points, metric):
    """What :func:`pdist` gives, bit for bit, in steps that Ctrl-C can come between."""
    n, n_features = points.shape
    metric = _ALIASES.get(metric, metric)
    if metric == "haversine":
        return _in_steps(points, DistanceMetric.get_metric(metric).pairwise, cost=64)
    cost = n_features**2 if metric == "mahalanobis" else n_features
    # Too few points for a covariance are an error that pdist knows best.
    if n * n * cost <= 4 * _STEP or (metric == "mahalanobis" and n <= n_features):
        return pdist(points, metric)
    options = {}
    if metric == "mahalanobis":
        options["VI"] = np.linalg.inv(np.atleast_2d(np.cov(points.T))).T.copy()
    elif metric == "seuclidean":
        options["V"] = np.var(points, axis=0, ddof=1)
    return _in_steps(points, partial(cdist, metric=metric, **options), cost)


def _in_steps(points, between, cost):
    """Condensed distances, by a function that gives those between two sets of points.

    `cost` is how many numbers one distance is computed from.
    """
    n = len(points)
    width = max(_STEP // (_STEP_ROWS * cost), 1)
    distances = np.empty(n * (n - 1) // 2)
    for top in range(0, n - 1, _STEP_ROWS):
        for left in range(top, n, width):
            check()
            block = between(points[top : top + _STEP_ROWS], points[left : left + width])
            for i, row in enumerate(block, start=top):
                # The distances of point i begin with that from i + 1.
                begin, first = i * n - i * (i + 1) // 2 - i - 1, max(left, i + 1)
                distances[begin + first : begin + left + len(row)] = row[first - left :]
    return distances


def _check_distances(distances, n_points, metric):
    valid = (distances >= 0) & np.isfinite(distances)
    if valid.all():
        return
    bad = int(np.argmin(valid))
    points = np.arange(n_points)
    before = points * (2 * n_points - points - 1) // 2  # pairs of earlier points
    i = int(np.searchsorted(before, bad, side="right")) - 1
    j = bad - int(before[i]) + i + 1
    raise ValueError(
        f"metric {name_of(metric)} gives {distances[bad]} between points {i} and {j}, "
        "expected a finite distance that is not negative."
    )
