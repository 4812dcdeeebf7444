"""Instances sampled from the classes of a classification data set."""

from numbers import Integral

import numpy as np
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import Interval, validate_params
from sklearn.utils.validation import _num_samples, column_or_1d

from .._errors import blame


@validate_params(
    {
        "X": "no_validation",
        "y": ["array-like"],
        "n_instances": [Interval(Integral, 1, None, closed="left")],
        "n_classes": [Interval(Integral, 1, None, closed="left"), tuple, list],
        "n_per_class": [Interval(Integral, 1, None, closed="left"), None],
        "classes": ["array-like", None],
        "groups": ["array-like", None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def sample_class_subsets(
    X,
    y,
    n_instances=1,
    *,
    n_classes=5,
    n_per_class=20,
    classes=None,
    groups=None,
    random_state=None,
):
    """Sample instances from any data set whose points have classes.

    An instance is made of `n_classes` different classes, chosen at random, and of
    `n_per_class` different points of each, in random order. This is how [1]_ makes
    instances of images.

    Parameters
    ----------
    X : array-like, sparse matrix, DataFrame or list, of n_points entries
        The points, one entry each. For points that come in several parts, such as
        features and pen strokes, ``np.arange(n_points)`` gives the row numbers of each
        instance instead.

    y : array-like of shape (n_points,)
        The class of each point.

    n_instances : int, default=1
        Number of instances.

    n_classes : int or (int, int), default=5
        Number of classes in an instance. A pair is a least and a greatest number;
        that of each instance is then drawn uniformly from all between, both included.

    n_per_class : int or None, default=20
        Number of points of each class in an instance. None takes all.

    classes : array-like, default=None
        The classes to draw from, by default all in `y`.

    groups : array-like of shape (n_points,), default=None
        A group of each point, such as the alphabet of a character. For each instance
        one group is chosen first, uniformly from those that hold any of `classes`,
        and all points come from it.

    random_state : int, RandomState instance or None, default=None
        Source of randomness. Pass an int for the same instances at each call.

    Returns
    -------
    instances : list of n_instances subsets of `X`
        The points of each instance, of the type of `X`.

    labels : list of ndarray
        Their classes.

    See Also
    --------
    make_digits_instances : The same from images that come with scikit-learn.

    Notes
    -----
    Instances are drawn one after the other, so that asking for more does not change
    the first ones.

    ``PAPER_SETTINGS`` holds the numbers of classes and points of [1]_ under the names
    ``"mnist"``, ``"cifar10"``, ``"omniglot"``, ``"places2"`` and
    ``"places2-diverse"``::

        settings = PAPER_SETTINGS["omniglot"]
        sample_class_subsets(X, y, 100, groups=alphabet, **settings)

    References
    ----------
    .. [1] M.-F. Balcan, T. Dick, M. Lang, "Learning to Link", International
       Conference on Learning Representations, 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn_linkage_learn.datasets import sample_class_subsets
    >>> X, y = load_wine(return_X_y=True)
    >>> instances, labels = sample_class_subsets(
    ...     X, y, 4, n_classes=(2, 3), n_per_class=10, random_state=0
    ... )
    >>> [instance.shape for instance in instances]
    [(20, 13), (30, 13), (20, 13), (30, 13)]
    >>> len(set(labels[0]))
    2
    """
    with blame("y"):
        y = column_or_1d(y)
    _check_length("y", y, X)
    rows = np.arange(len(y))
    if classes is not None:
        rows = rows[_is_one_of(y, classes)]
    pools = _pools(y, groups, X, rows)
    least, most = _check_n_classes(n_classes)
    for place, pool in pools:
        _check_pool(pool, n_classes, most, n_per_class, place)
    pools = [list(pool.values()) for _, pool in pools]

    rng = check_random_state(random_state)
    samples = []
    for _ in range(n_instances):
        pool = pools[rng.randint(len(pools))] if groups is not None else pools[0]
        samples.append(_sample(pool, rng.randint(least, most + 1), n_per_class, rng))
    return [_safe_indexing(X, s) for s in samples], [y[s] for s in samples]


def _sample(pool, n_classes, n_per_class, rng):
    """Draw rows of classes from a list with the rows of each."""
    chosen = [pool[i] for i in rng.choice(len(pool), size=n_classes, replace=False)]
    if n_per_class is not None:
        chosen = [rng.choice(rows, size=n_per_class, replace=False) for rows in chosen]
    return rng.permutation(np.concatenate(chosen))


def _pools(y, groups, X, rows):
    """The name of each place to draw from, and the rows of each class there."""
    if groups is None or len(rows) == 0:
        return [("y", _rows_of("y", y, rows))]
    with blame("groups"):
        groups = column_or_1d(groups)
    _check_length("groups", groups, X)
    return [
        (f"group {name!r}", _rows_of("y", y, inside))
        for name, inside in _rows_of("groups", groups, rows).items()
    ]


def _rows_of(name, keys, rows):
    """Split sorted rows by their keys: a dict in the order of keys."""
    with blame(name):
        unique, codes = np.unique(keys[rows], return_inverse=True)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(unique)))
    return dict(
        zip(unique.tolist(), np.split(rows[order], ends)[: len(unique)], strict=True)
    )


def _is_one_of(y, classes):
    wanted = set(classes)
    unknown = wanted.difference(y.tolist())
    if unknown:
        names = ", ".join(sorted(map(str, unknown)))
        raise ValueError(f"classes must be found in y, which has no {names}.")
    return np.array([label in wanted for label in y.tolist()], dtype=bool)


def _check_length(name, values, X):
    n_points = _num_samples(X)
    if len(values) != n_points:
        raise ValueError(
            f"{name} has length {len(values)}, expected one entry for each of the "
            f"{n_points} points of X."
        )


def _check_n_classes(n_classes):
    if isinstance(n_classes, Integral):
        return n_classes, n_classes
    are_integers = all(isinstance(n, Integral) for n in n_classes)
    if len(n_classes) != 2 or not are_integers or not 1 <= n_classes[0] <= n_classes[1]:
        raise ValueError(
            "n_classes must be a positive int or a pair of them, the least first, got "
            f"{n_classes!r}."
        )
    return n_classes


def _check_pool(pool, n_classes, most, n_per_class, place):
    if len(pool) < most:
        raise ValueError(
            f"n_classes={n_classes} asks for {most} classes, found {len(pool)} to draw "
            f"from in {place}."
        )
    for name, rows in pool.items():
        if n_per_class is not None and len(rows) < n_per_class:
            raise ValueError(
                f"n_per_class={n_per_class} is more than the {len(rows)} points of "
                f"class {name!r} in {place}."
            )
