"""Which merge functions a family mixes, and the numbers its engines work on.

A merge function D is reducible if D(A + B, C) >= min(D(A, C), D(B, C)): then the
tree does not depend on the order in which mutually nearest clusters are merged.
Reducible functions stay so under any weights as long as single linkage, whose
minimum can pull a mean down, is not mixed with one that averages.
"""

import math

import numpy as np

from ._core.envelope import sweep_complete
from ._core.execution_tree import enumerate_tree
from ._core.kinetic import sweep
from ._core.linkage import fixed_linkage
from ._core.spanning_tree import sweep_single
from ._piecewise import PiecewiseConstant

# The codes are those of MergeFunction in _core/predicates.pxd.
LINKAGES = {"single": 0, "complete": 1, "average": 2, "weighted": 3, "ward": 4}
MIXABLE = ("single", "complete", "average")
_AVERAGING = {"average", "weighted"}
_METRIC_ENGINES = {
    "single": sweep_single,
    "complete": sweep_complete,
    "average": sweep,
    "ward": sweep,
}


def is_reducible(linkages):
    """Whether every mix of these merge functions is reducible."""
    names = set(linkages)
    return not ("single" in names and names & _AVERAGING)


def choose_algorithm(linkages, algorithm="auto"):
    """Name the engine for a pair of merge functions, or refuse a wrong wish."""
    reducible = is_reducible(linkages)
    if algorithm == "kinetic" and not reducible:
        raise ValueError(
            f"algorithm='kinetic' needs a reducible pair of linkages, and "
            f"{tuple(linkages)!r} is not one; use 'auto' or 'execution_tree'"
        )
    if algorithm == "auto":
        return "kinetic" if reducible else "execution_tree"
    return algorithm


def n_points_of(condensed):
    """Number of points whose pairwise distances a condensed array holds."""
    n_pairs = condensed.shape[-1]
    return (1 + math.isqrt(1 + 8 * n_pairs)) // 2


def scale_exponent(distances):
    """Power of two that brings distances where exact products cannot underflow.

    Returns 0 for all but extreme data.
    """
    top = distances.max(initial=0.0)
    if top == 0.0:
        return 0
    low = distances.min(where=distances > 0, initial=top)
    if 2.0**-100 <= top <= 2.0**300 and low >= 2.0**-700:
        return 0
    if math.log2(top) - math.log2(low) > 1000:
        raise ValueError(
            f"distances span from {low:g} to {top:g}, too far for exact arithmetic: "
            "raise the smallest or lower the largest ones"
        )
    return 300 - math.frexp(top)[1]


def sum_width(distances, n_points):
    """How many doubles hold any sum of distances between two clusters exactly."""
    positive = distances[distances != 0.0]
    if positive.size == 0:
        return 2
    exponents = np.frexp(positive)[1]
    bits = int(exponents.max()) - int(exponents.min()) + 53
    bits += max(n_points * n_points // 4, 1).bit_length()
    return 2 if bits <= 104 else bits // 52 + 2


def merge_curve(condensed, linkages, loss, algorithm="auto"):
    """Loss of one instance for every mix of two merge functions.

    Parameters
    ----------
    condensed : ndarray of shape (n_pairs,)
        Condensed distances.
    linkages : pair of str
        The merge functions at parameter 0 and at 1.
    loss : TreeLoss
    algorithm : {"auto", "kinetic", "execution_tree"}

    Returns
    -------
    PiecewiseConstant
    """
    distances, _ = _prepare([condensed])
    arguments = (*_arguments(distances, linkages), loss)
    if choose_algorithm(linkages, algorithm) == "kinetic":
        first = mixed_linkage([condensed], linkages, (1.0, 0.0))
        pieces = sweep(*arguments, _children(first))
    else:
        pieces = enumerate_tree(*arguments)
    return _curve(pieces)


def choose_metric_algorithm(linkage, algorithm="auto"):
    """Name the engine for one merge function on two metrics."""
    return "kinetic" if algorithm == "auto" else algorithm


def metric_curve(distances, linkage, loss, algorithm="auto"):
    """Loss of one instance for every mix of two metrics.

    Parameters
    ----------
    distances : ndarray of shape (2, n_pairs)
        Condensed distances under the metrics at parameter 0 and at 1. Ward linkage
        mixes their squares.
    linkage : str
        The merge function.
    loss : TreeLoss
    algorithm : {"auto", "kinetic", "execution_tree"}

    Returns
    -------
    PiecewiseConstant
    """
    prepared, _ = _prepare(distances, squared=linkage == "ward")
    if choose_metric_algorithm(linkage, algorithm) == "execution_tree":
        pieces = enumerate_tree(*_arguments(prepared, [linkage]), loss)
    else:
        first = mixed_linkage(distances, [linkage], [1.0], [1.0, 0.0])
        engine = _METRIC_ENGINES[linkage]
        pieces = engine(
            *_arguments(prepared, [linkage, linkage]), loss, _children(first)
        )
    return _curve(pieces)


def mixed_linkage(distances, linkages, alpha, beta=((1.0, 0.0),)):
    """Linkage clustering of one instance at fixed weights, as scipy's `Z`.

    Parameters
    ----------
    distances : list of ndarray of shape (n_pairs,)
        Condensed distances, one array a metric.
    linkages : sequence of str
        Names of the merge functions.
    alpha, beta : array-like of shape (n_functions,) or (n_functions, 2)
        Weights of the merge functions and of the metrics. Two columns are a
        weight as the exact sum of two floats.

    Returns
    -------
    ndarray of shape (n_points - 1, 4)
        Rows in merge order.
    """
    ward = "ward" in linkages
    distances, exponent = _prepare(distances, squared=ward)
    n = n_points_of(distances)
    children = np.empty((max(n - 1, 0), 2), dtype=np.int32)
    heights = np.empty(max(n - 1, 0))
    rank = fixed_linkage(
        *_arguments(distances, linkages),
        _exact_weights(alpha),
        _exact_weights(beta),
        is_reducible(linkages),
        children,
        heights,
    )
    heights = np.ldexp(heights, -exponent)
    return linkage_matrix(children, np.sqrt(2 * heights) if ward else heights, rank)


def linkage_matrix(children, heights, rank):
    """Scipy's `Z` of merges that are taken in the order `rank`."""
    n = len(children) + 1
    rank = np.asarray(rank, dtype=np.intp)
    ids = np.arange(2 * n - 1)
    ids[n + rank] = n + np.arange(n - 1)
    Z = np.empty((n - 1, 4))
    Z[:, :2] = np.sort(ids[children[rank]], axis=1)
    Z[:, 2] = heights[rank]
    sizes = np.ones(2 * n - 1)
    for row in range(n - 1):
        sizes[n + row] = sizes[int(Z[row, 0])] + sizes[int(Z[row, 1])]
    Z[:, 3] = sizes[n:]
    return Z


def _children(Z):
    return np.ascontiguousarray(Z[:, :2], dtype=np.int32)


def _curve(pieces):
    starts, values, lower = (np.asarray(column) for column in pieces.columns())
    return PiecewiseConstant(
        np.append(starts, 1.0), values, None if (lower == values).all() else lower
    )


def _prepare(distances, squared=False):
    """Distances of all metrics in one array, scaled; and the scale's exponent."""
    distances = np.ascontiguousarray(distances, dtype=np.float64)
    if squared:
        distances = distances**2
    exponent = scale_exponent(distances)
    return np.ldexp(distances, exponent) if exponent else distances, exponent


def _arguments(distances, linkages):
    """What every engine takes first."""
    n = n_points_of(distances)
    # Ward's criterion is a difference of terms up to n times the largest distance.
    slack = math.ldexp(n * distances.max(initial=0.0), -95)
    codes = np.array([LINKAGES[name] for name in linkages], dtype=np.int32)
    return distances, n, codes, sum_width(distances, n), slack


def _exact_weights(weights):
    weights = np.asarray(weights, dtype=np.float64)
    if weights.ndim == 1:
        weights = np.column_stack([weights, np.zeros_like(weights)])
    return np.ascontiguousarray(weights)
