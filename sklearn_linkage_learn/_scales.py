"""Metrics on a common scale, without rounding a distance.

A metric is divided by its scale s_j before it is mixed. Rounded quotients could change
decisions by more than a curve's promised accuracy. So distances are divided by powers
of two only, d_j = 2**e_j r_j, and the rest of the scale goes into the weights::

    sum_j w_j d_j / s_j = sum_j (w_j f_j) r_j,    f_j = 2**e_j / s_j

where rounding moves the parameter by no more than 1e-16. For the same reason the curve
of r_0 and r_1 holds the curve for all scales: it only has to be stretched. Stretching
multiplies the rounding of breakpoints by the ratio of factors, so that powers of two
are each instance's own: the ratio is large only for an instance whose metrics are to
each other by orders of magnitude unlike those of the whole collection.
"""

import math

import numpy as np

from ._piecewise import PiecewiseConstant


def in_binary_units(distances):
    """Divide each metric's distances by a power of two near the largest.

    Returns
    -------
    distances : ndarray of shape (n_metrics, n_pairs)

    units : tuple of int
        The exponents e_j of these powers.
    """
    distances = np.asarray(distances, dtype=np.float64)
    units = np.frexp(distances.max(axis=1, initial=0.0))[1]
    return np.ldexp(distances, -units[:, None]), tuple(units.tolist())


def scale_factors(units, scales, squared):
    """The factors f_j, squared for merge functions of squared distances."""
    mantissas, exponents = np.frexp(scales)
    # Beyond this range one of the metrics has no say whatever the exponent is.
    limit = 500 if squared else 1000
    exponents = np.clip(np.subtract(units, exponents), -limit, limit)
    factors = np.ldexp(1 / mantissas, exponents.astype(np.int32))
    return factors**2 if squared else factors


def stretched(curve, factors):
    """A curve over mixes of r_0 and r_1, as one over those of f_0 r_0 and f_1 r_1."""
    first, second = factors
    if first == second:
        return curve
    at = curve.breakpoints * (first / second)
    at /= (1 - curve.breakpoints) + at
    # Pieces of some units in the last place may have lost their length.
    np.maximum.accumulate(at, out=at)
    left = at[:-1] < at[1:]
    return PiecewiseConstant(
        np.append(at[:-1][left], 1.0), curve.values[left], curve.lower[left]
    )


def mean_distances(distances):
    """Mean distance under each metric; None if there is no pair of points."""
    if distances.shape[1] == 0:
        return None
    # Sums of quotients cannot overflow.
    top = usable(largest_distances(distances))
    return top * (distances / top[:, None]).mean(axis=1)


def largest_distances(distances):
    """Largest distance under each metric, 0 if there is no pair of points."""
    return distances.max(axis=1, initial=0.0)


def usable(scales):
    """Scales to divide by: 1 instead of 0, which leaves a metric that is 0 as it is."""
    return np.where(np.equal(scales, 0), 1.0, scales)


def common_scales(normalize, n_metrics, summaries, weights):
    """Scales that a collection decides on, from summaries of its instances.

    Parameters
    ----------
    normalize : {"mean", "max"}
        What the summaries are: of :func:`mean_distances` the mean is taken, so that
        instances count by their weight alone, of :func:`largest_distances` the maximum.

    n_metrics : int

    summaries : list of array-like of shape (n_metrics,) or None

    weights : list of float
        Instances without weight have no say.

    Returns
    -------
    scales : ndarray of shape (n_metrics,)
        They do not depend on the order of instances.
    """
    counted = [
        (summary, weight)
        for summary, weight in zip(summaries, weights, strict=True)
        if summary is not None and weight > 0
    ]
    if not counted:
        return np.ones(n_metrics)
    summaries, weights = map(np.array, zip(*counted, strict=True))
    if normalize == "max":
        return usable(summaries.max(axis=0))
    # Only ratios count, and products with these cannot overflow.
    weights = weights / weights.max()
    parts = summaries * weights[:, None] / math.fsum(weights)
    return usable(np.array([math.fsum(column) for column in parts.T.tolist()]))
