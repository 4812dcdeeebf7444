"""Forms in which instances may be given, and their validation.

No other module knows that a collection may come as a list, as a 3-D array or stacked
in one table: the rest works on lists of validated arrays, and hands its results to
:meth:`Instances.like_input`.
"""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial, wraps

import numpy as np
from sklearn.utils import _safe_indexing, assert_all_finite, check_array
from sklearn.utils.validation import _num_samples, column_or_1d, validate_data

from ._errors import as_numbers, blame, check_lengths, is_sequence

# Rounding that a precomputed matrix may show, relative to its largest entry.
_MATRIX_TOLERANCE = 1e-10
# Rows of a matrix that are compared with its columns at a time.
_BLOCK_OF_ROWS = 256
# What is not finite is found, and named, after the conversion.
_CONVERSION = {"dtype": np.float64, "order": "C", "ensure_all_finite": False}


@dataclass(frozen=True)
class Instances:
    """Validated instances, in the order in which they were given.

    Attributes
    ----------
    points : list of ndarray
        C-contiguous float64, of shape (n_points, n_features); or distances, of shape
        (n_points, n_points) or (n_metrics, n_points, n_points).

    labels : list of ndarray or None
        The labels of each instance's points, if they were asked for.

    names : list of str
        How an error message calls each instance.

    rows : list of ndarray or None
        For a stacked collection, the rows of each instance in the table.

    single : bool
        Whether the input was one instance.
    """

    points: list
    labels: list | None
    names: list
    rows: list | None = None
    single: bool = False

    def __len__(self):
        return len(self.points)

    @property
    def sizes(self):
        """The number of points of each instance."""
        return [points.shape[-2] for points in self.points]

    def like_input(self, results):
        """Give one result per instance the form of the input.

        A collection gives a list, one instance its own result, and a stacked
        collection one array that is aligned with the table's rows.
        """
        if self.single:
            return results[0]
        if self.rows is None:
            return results
        stacked = np.empty(sum(map(len, self.rows)), dtype=results[0].dtype)
        for rows, result in zip(self.rows, results, strict=True):
            stacked[rows] = result
        return stacked

    def replace(self, points):
        """The same instances with other points."""
        return replace(self, points=points)

    def weights(self, name, values, may_vanish=False):
        """One weight per instance, 1 by default; see `_read_weights`."""
        if values is None:
            return np.ones(len(self))
        weights = _read_weights(name, values, self)
        if not may_vanish and not weights.any():
            raise ValueError(f"{name} must not be zero for all instances.")
        return weights


def all_or_nothing(method):
    """Decorate a method that leaves its estimator as it was if it does not complete.

    Reading instances already writes to the estimator, much that follows may fail.
    """

    @wraps(method)
    def wrapper(self, *args, **kwargs):
        before = vars(self).copy()
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            self.__dict__ = before
            raise

    return wrapper


def read_instances(
    estimator, X, y=None, *, groups=None, labelled=False, n_matrices=0, reset=True
):
    """Validate one instance or a collection of them.

    Parameters
    ----------
    estimator : estimator object
        Gets `n_features_in_` and `feature_names_in_` if `reset`, and is compared with
        them if not. Precomputed instances have neither.

    X : array-like or sequence of array-likes
        One 2-D array-like is one instance, or a stacked collection if `groups` are
        given. A 3-D array, or a sequence with 2-D items, is a collection. If an
        instance has several matrices, it is 3-D itself, and a collection has one
        dimension more.

    y : array-like or sequence of array-likes, default=None
        Labels in the form of `X`.

    groups : array-like of shape (n_rows,), default=None
        The instance that each row of a stacked collection belongs to. Instances are
        ordered by their first row.

    labelled : bool, default=False
        Whether to read `y`.

    n_matrices : int, default=0
        Number of square distance matrices that an instance consists of; 0 if
        instances are points.

    reset : bool, default=True
        Whether the first instance decides about features.

    Returns
    -------
    instances : Instances
    """
    if labelled and y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is "
            "None: it learns from instances whose clustering is known."
        )
    if n_matrices and reset:
        for name in ("n_features_in_", "feature_names_in_"):
            vars(estimator).pop(name, None)
    if _is_collection(X, 3 if n_matrices > 1 else 2):
        _refuse_groups(groups)
        return _read_collection(estimator, X, y, labelled, n_matrices, reset)
    if groups is not None and n_matrices:
        raise ValueError(
            "groups cannot be combined with precomputed distances: pass a list of "
            "distance matrices."
        )
    with blame("X"):
        points = _read_points(estimator, X, n_matrices, reset, finite=groups is None)
    if groups is not None:
        return _split(points, y if labelled else None, groups)
    labels = None
    if labelled:
        with blame("y"):
            labels = [read_labels(y, points.shape[-2])]
    return Instances([points], labels, ["X"], single=True)


def split_instances(X, y=None, groups=None):
    """Cut one instance or a collection into instances, without looking into them.

    For transformers, which validate what they get: instances may be tables of any kind.

    Parameters
    ----------
    X, y, groups : see `read_instances`

    Returns
    -------
    instances : Instances
        With `labels` if `y` is given.
    """
    if _is_collection(X, 2):
        _refuse_groups(groups)
        points, names = list(X), [f"X[{i}]" for i in range(len(X))]
        labels = None if y is None else _one_for_each(y, len(points))
        return Instances(points, labels, names)
    if groups is None:
        return Instances([X], None if y is None else [y], ["X"], single=True)
    rows, places = _rows_of_groups(groups, _num_samples(X))
    return Instances(
        [_safe_indexing(X, r) for r in rows],
        None if y is None else [_safe_indexing(y, r) for r in rows],
        [f"X{place}" for place in places],
        rows,
    )


def _refuse_groups(groups):
    if groups is not None:
        raise ValueError(
            "groups belongs to instances stacked in one 2-D array X, but X is "
            "already a collection of instances."
        )


def read_metrics_input(estimator, X, precomputed):
    """Validate the input of a single run: one instance, perhaps with many matrices.

    Returns
    -------
    points : ndarray or list of ndarray
        The instance; if `precomputed`, its distance matrix under each metric.
    """
    with blame("X"):
        if not precomputed:
            return _read_points(estimator, X, n_matrices=0, reset=True)
        if is_sequence(X) and any(n_dimensions(item) == 2 for item in X):
            X = _read_matrices(X, len(X), estimator)
            return list(validate_data(estimator, X, allow_nd=True))
        X = read_table(X, partial(validate_data, estimator, allow_nd=True), False)
        if X.ndim == 2:
            X = X[None]
        if X.ndim != 3:
            raise ValueError(
                "Distances must have shape (n, n) or (n_metrics, n, n), found "
                f"{X.shape}."
            )
        return list(_read_matrices(X, len(X), estimator))


def n_dimensions(item):
    """Number of dimensions, of nested sequences by their first items."""
    if is_sequence(item):
        return 1 + (n_dimensions(next(iter(item))) if len(item) else 0)
    if hasattr(item, "ndim"):
        return item.ndim
    return np.ndim(np.asarray(item)) if hasattr(item, "__array__") else 0


def _is_collection(X, ndim):
    """Whether X holds instances of `ndim` dimensions, and is not one itself."""
    if not is_sequence(X):
        return n_dimensions(X) > ndim
    if len(X) == 0:
        raise ValueError("X holds no instances, at least one is expected.")
    return any(n_dimensions(item) >= ndim for item in X)


def _read_points(estimator, X, n_matrices, reset, finite=True):
    _check_kind(X)
    if n_matrices == 1:
        return _read_matrix(X, estimator)
    if n_matrices > 1:
        return _read_matrices(X, n_matrices, estimator)
    return read_table(X, partial(validate_data, estimator, reset=reset), finite)


def read_table(X, convert=check_array, finite=True):
    """Validate an array of numbers, 2-D unless sklearn's `convert` allows others."""
    _check_kind(X)
    check_lengths(X)
    # Numbers too large for a float become infinite.
    with np.errstate(over="ignore"):
        X = convert(X, **_CONVERSION)
    if finite:
        _check_finite(X)
    return X


def _check_kind(X):
    """Refuse what numpy turns into numbers that nobody meant, or fails on vaguely."""
    if not (hasattr(X, "shape") or hasattr(X, "__array__") or is_sequence(X)):
        raise TypeError(f"Expected an array or a list, found {_kind(X)}.")
    if np.ma.is_masked(X):
        raise ValueError("Masked values are missing values, which are not supported.")
    for dtype in [X.dtype] if hasattr(X, "dtype") else list(getattr(X, "dtypes", ())):
        if getattr(dtype, "kind", None) in ("m", "M"):
            raise TypeError(
                f"Expected numbers, found {dtype}: divide differences of dates by a "
                "unit of time first."
            )


def _kind(X):
    return "None" if X is None else type(X).__name__


def _check_finite(X):
    # The sum is quick, and infinite only for huge numbers among finite ones.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):
            return
    finite = np.isfinite(X)
    if finite.all():
        return
    row, column = map(int, np.unravel_index(np.argmin(finite), X.shape))
    what = "NaN" if np.isnan(X[row, column]) else "infinity"
    raise ValueError(f"Input contains {what}, at row {row} and column {column}.")


def _read_matrix(X, estimator):
    X = read_table(X, partial(check_array, input_name="X", estimator=estimator))
    _check_distance_matrix(X)
    return X


def _read_matrices(X, count, estimator):
    """Validate one distance matrix for each metric, of the same points."""
    if n_dimensions(X) != 3 or len(X) != count:
        if is_sequence(X):
            found = f"{len(X)} item(s)"
        else:
            found = f"shape {X.shape}" if hasattr(X, "shape") else _kind(X)
        raise ValueError(
            f"Expected an instance of {count} distance matrices, one for each metric, "
            f"of shape ({count}, n, n), found {found}."
        )
    matrices = []
    for i, matrix in enumerate(X):
        with blame(f"metric {i}") if count > 1 else nullcontext():
            matrices.append(_read_matrix(matrix, estimator))
    sizes = [len(matrix) for matrix in matrices]
    if len(set(sizes)) > 1:
        raise ValueError(
            f"The distance matrices of the metrics are of {sizes} points, expected "
            "the same points under all metrics."
        )
    if isinstance(X, np.ndarray) and X.dtype == np.float64 and X.flags.c_contiguous:
        # The matrices are parts of it.
        return X
    return np.stack(matrices)


def _read_collection(estimator, X, y, labelled, n_matrices, reset):
    if len(X) == 0:
        raise ValueError("X holds no instances, at least one is expected.")
    names = [f"X[{i}]" for i in range(len(X))]
    points = []
    for i, (name, item) in enumerate(zip(names, X, strict=True)):
        with blame(name):
            item = _read_points(estimator, item, n_matrices, reset and i == 0)
        points.append(item)
    if not labelled:
        return Instances(points, None, names)

    labels = []
    for i, item in enumerate(_one_for_each(y, len(points))):
        with blame(f"y[{i}]"):
            labels.append(read_labels(item, points[i].shape[-2]))
    return Instances(points, labels, names)


def _one_for_each(y, n_instances):
    """The labels of each instance of a collection."""
    y = list(y) if hasattr(y, "__iter__") and not isinstance(y, str) else [y]
    if not any(n_dimensions(item) for item in y):
        raise ValueError(
            f"y must hold one 1-D array of labels for each of the {n_instances} "
            f"instances of X, found a flat sequence of {len(y)} values."
        )
    if len(y) != n_instances:
        raise ValueError(
            f"y holds the labels of {len(y)} instances, but X holds {n_instances}."
        )
    return y


def read_labels(y, n_points, input_name="y"):
    """Validate labels: a 1-D array of names, to be compared for equality only."""
    y = _as_names(y, n_points, "label")
    _check_names(y, "label", input_name)
    return y


def _as_names(y, n_points, what):
    """A 1-D array with one `what` for each point."""
    check_lengths(y)
    shape = np.shape(y)
    if shape == ():
        raise TypeError(f"Expected a 1-D array of {what}s, found {_kind(y)}.")
    if len(shape) != 1 and shape[1:] != (1,):
        raise ValueError(f"Expected a 1-D array of {what}s, found shape {shape}.")
    names = column_or_1d(y, warn=what == "label")
    if len(names) != n_points:
        raise ValueError(
            f"Found {len(names)} {what}(s) for {n_points} point(s), expected one each."
        )
    if names.dtype.kind in "SU" and not hasattr(y, "dtype") and len(shape) == 1:
        # Of a list with some strings numpy makes strings only, also of numbers and NaN.
        _check_names(np.array([*y, None], dtype=object)[:-1], what, "")
    return names


def _check_names(names, what, input_name):
    """Refuse names of points that are missing or of kinds that cannot be compared."""
    if names.dtype.kind == "f":
        assert_all_finite(names, input_name=input_name)
    for i, name in enumerate(names.tolist() if names.dtype.kind in "OmM" else ()):
        if _is_missing(name):
            raise ValueError(f"The {what} of point {i} is missing: found {names[i]}.")
    try:
        np.unique(names)
    except TypeError as error:
        raise TypeError(f"The {what}s are of different kinds: {error}.") from None


def _is_missing(name):
    try:
        return name is None or bool(name != name)
    except TypeError:  # pandas' NA neither is nor is not equal
        return True


def _split(points, y, groups):
    """Cut a table into the instances named by `groups`."""
    rows, places = _rows_of_groups(groups, len(points))
    if y is not None:
        with blame("y"):
            y = _as_names(y, len(points), "label")
    instances = Instances(
        [np.ascontiguousarray(points[r]) for r in rows],
        None if y is None else [y[r] for r in rows],
        [f"X{place}" for place in places],
        rows,
    )
    for i, place in enumerate(places):
        with blame(f"X{place}"):
            _check_finite(instances.points[i])
        if y is not None:
            with blame(f"y{place}"):
                _check_names(instances.labels[i], "label", "y")
    return instances


def _rows_of_groups(groups, n_rows):
    """The rows of each group, ordered by the first, and how messages call them."""
    with blame("groups"):
        groups = _as_names(groups, n_rows, "group")
        _check_names(groups, "group", "groups")
    ids, first, codes = np.unique(groups, return_index=True, return_inverse=True)
    parts = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes)))
    order = np.argsort(first)
    places = [f"[groups == {name!r}]" for name in ids[order].tolist()]
    return [parts[code] for code in order], places


def _read_weights(name, values, instances):
    """Read weights of instances, from the argument of that name.

    Points of one instance cannot be weighted. Weights that are given by rows, which
    is how sklearn passes them along with a table, must be equal within an instance.
    """
    weights = as_numbers(name, values)
    bad = ~((weights >= 0) & (weights < np.inf))
    if bad.any():
        raise ValueError(
            f"{name} must be finite and not negative, found "
            f"{weights[bad][0]} at index {int(np.argmax(bad))}."
        )
    n_rows = sum(instances.sizes)
    stacked = instances.single or instances.rows is not None
    if weights.ndim == 1 and stacked and len(weights) == n_rows:
        rows = instances.rows or [np.arange(n_rows)]
        for place, r in zip(instances.names, rows, strict=True):
            if np.ptp(weights[r]) > 0:
                raise ValueError(
                    f"{name} weights instances, so that it must be constant within "
                    f"each of them, but differs between rows of {place}."
                )
        weights = weights[[r[0] for r in rows]]
    if weights.shape != (len(instances),):
        raise ValueError(
            f"{name} must hold one weight for each of the {len(instances)} "
            f"instances, found shape {weights.shape}."
        )
    return weights


def _check_distance_matrix(matrix):
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"A precomputed distance matrix must be square, found shape {matrix.shape}."
        )
    if matrix.min() < 0:
        i, j = np.unravel_index(matrix.argmin(), matrix.shape)
        raise ValueError(
            "A precomputed distance matrix must not hold negative values, found "
            f"{matrix[i, j]} at ({i}, {j})."
        )
    tolerance = _MATRIX_TOLERANCE * matrix.max()
    i = int(matrix.diagonal().argmax())
    if matrix[i, i] > tolerance:
        raise ValueError(
            "A precomputed distance matrix must have a zero diagonal, found "
            f"{matrix[i, i]} at ({i}, {i})."
        )
    for start in range(0, len(matrix), _BLOCK_OF_ROWS):
        rows = slice(start, start + _BLOCK_OF_ROWS)
        difference = np.abs(matrix[rows] - matrix[:, rows].T)
        i, j = np.unravel_index(difference.argmax(), difference.shape)
        if difference[i, j] > tolerance:
            i += start
            raise ValueError(
                "A precomputed distance matrix must be symmetric, found "
                f"{matrix[i, j]} at ({i}, {j}) and {matrix[j, i]} at ({j}, {i})."
            )
