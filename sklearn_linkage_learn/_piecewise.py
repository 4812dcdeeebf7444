"""Step functions on [0, 1]: loss curves, their exact mean and where it is least."""

import math
import zlib
from fractions import Fraction
from numbers import Real

import numpy as np

from ._errors import as_numbers, blame
from ._exact_sum import exponent, limb_width, quotient, to_limbs, two_product

__all__ = ["PiecewiseConstant", "widest_optimal_interval"]


class PiecewiseConstant:
    """A function on [0, 1] with finitely many pieces, constant on each.

    ``values[i]`` stands on the half-open interval
    ``[breakpoints[i], breakpoints[i + 1])``, the last value at 1 too. Neighbouring
    pieces that do not differ are merged, so a function has only one form and ``==``
    compares functions. Objects are immutable, hashable and picklable.

    Parameters
    ----------
    breakpoints : array-like of shape (n_pieces + 1,)
        Strictly increasing, from exactly 0 to exactly 1.

    values : array-like of shape (n_pieces,)
        Finite values.

    lower : array-like of shape (n_pieces,), default=None
        Certified lower bounds where a value is only known to lie in an interval;
        `values` are the upper ends. None says that all values are exact.

    Attributes
    ----------
    breakpoints, values, lower : ndarray
        The function, merged, as read-only arrays. `lower` equals `values` where the
        function is exact.

    certified : ndarray of bool
        The pieces where it is.

    is_exact : bool
        Whether it is on all pieces.

    n_pieces : int
        Number of pieces after merging.

    See Also
    --------
    widest_optimal_interval : Where such a function is least.

    Examples
    --------
    >>> from sklearn_linkage_learn import PiecewiseConstant
    >>> curve = PiecewiseConstant([0, 0.25, 0.5, 1], [0.3, 0.1, 0.2])
    >>> curve(0.25)
    0.1
    >>> curve([0, 0.5, 1])
    array([0.3, 0.2, 0.2])
    >>> other = PiecewiseConstant([0, 0.5, 1], [0.5, 0.0])
    >>> PiecewiseConstant.mean([curve, other])
    PiecewiseConstant([0.0, 0.25, 0.5, 1.0], [0.4, 0.3, 0.1])
    """

    __slots__ = ("_breakpoints", "_lower", "_values")
    # NumPy scalars leave the arithmetic to __rmul__ instead of wrapping the object.
    __array_ufunc__ = None

    def __init__(self, breakpoints, values, lower=None):
        breakpoints = _check_breakpoints(breakpoints)
        values = _check_values("values", values, len(breakpoints) - 1)
        if lower is not None:
            lower = _check_values("lower", lower, len(values))
            if (lower > values).any():
                i = int(np.argmax(lower > values))
                raise ValueError(
                    f"lower[{i}] = {lower[i]} exceeds values[{i}] = {values[i]}."
                )
            if np.array_equal(lower, values):
                lower = None

        starts = np.ones(len(values), dtype=bool)
        np.not_equal(values[1:], values[:-1], out=starts[1:])
        if lower is not None:
            starts[1:] |= lower[1:] != lower[:-1]
            lower = _frozen(lower[starts])
        self._breakpoints = _frozen(np.append(breakpoints[:-1][starts], 1.0))
        self._values = _frozen(values[starts])
        self._lower = lower

    @property
    def breakpoints(self):
        """Ends of the pieces, from 0 to 1."""
        return self._breakpoints

    @property
    def values(self):
        """Values of the pieces; upper bounds where they are not exact."""
        return self._values

    @property
    def lower(self):
        """Lower bounds of the pieces; equal to `values` where those are exact."""
        return self._values if self._lower is None else self._lower

    @property
    def n_pieces(self):
        """Number of pieces after merging."""
        return len(self._values)

    @property
    def certified(self):
        """Boolean array: the pieces whose value is exact."""
        return self.lower == self._values

    @property
    def is_exact(self):
        """Whether the value of every piece is exact."""
        return self._lower is None

    def __call__(self, t):
        """Evaluate the function.

        Parameters
        ----------
        t : float or array-like
            Points of [0, 1].

        Returns
        -------
        value : float or ndarray
            Of the shape of `t`.
        """
        t = as_numbers("t", t)
        if not ((t >= 0) & (t <= 1)).all():
            outside = t[~((t >= 0) & (t <= 1))].flat[0]
            raise ValueError(f"t must lie in [0, 1], got {outside}.")
        value = self._values[np.searchsorted(self._breakpoints[1:-1], t, side="right")]
        return float(value) if value.ndim == 0 else value

    def min(self):
        """Return the least value; for a function that is not exact, of `values`."""
        return float(self._values.min())

    def argmin_intervals(self, tol=None):
        """Find all maximal intervals on which the minimum is attained.

        Parameters
        ----------
        tol : float, default=None
            Values at most `tol` above the minimum count as minimal. By default it is
            four times the float64 precision of the largest value: values that are
            means of rounded fractions such as ``1 / 3`` may differ in the last place
            although the fractions' means are equal.

        Returns
        -------
        intervals : ndarray of shape (n_intervals, 2)
            Their ends, from left to right. If the function is not exact these are the
            minima of the upper bounds `values`.

        Examples
        --------
        >>> from sklearn_linkage_learn import PiecewiseConstant
        >>> curve = PiecewiseConstant([0, 0.25, 0.5, 1], [0.1, 0.2, 0.1])
        >>> curve.argmin_intervals()
        array([[0.  , 0.25],
               [0.5 , 1.  ]])
        """
        if tol is None:
            tol = 4 * np.finfo(np.float64).eps * np.abs(self._values).max()
        tol = _as_number("tol", tol)
        if not tol >= 0:
            raise ValueError(f"tol must not be negative, got {tol}.")
        minimal = self._values - self._values.min() <= tol
        edges = np.flatnonzero(np.diff(minimal, prepend=False, append=False))
        return self._breakpoints[edges].reshape(-1, 2)

    def integral(self, a=0.0, b=1.0):
        """Integrate from `a` to `b`, where ``0 <= a <= b <= 1``.

        Examples
        --------
        >>> from sklearn_linkage_learn import PiecewiseConstant
        >>> PiecewiseConstant([0, 0.5, 1], [1.0, 3.0]).integral(0.25, 1)
        1.75
        """
        a, b = _as_number("a", a), _as_number("b", b)
        if not 0 <= a <= b <= 1:
            raise ValueError(f"Expected 0 <= a <= b <= 1, got a={a} and b={b}.")
        lengths = np.diff(np.clip(self._breakpoints, a, b))
        return math.fsum(self._values * lengths)

    @classmethod
    def sum(cls, curves):
        """Add functions exactly; each value is rounded once, at the end.

        Parameters
        ----------
        curves : iterable of PiecewiseConstant
            At least one.

        Returns
        -------
        total : PiecewiseConstant
            Exact if all `curves` are; the order of `curves` does not matter.

        Examples
        --------
        >>> from sklearn_linkage_learn import PiecewiseConstant
        >>> curve = PiecewiseConstant([0, 0.5, 1], [0.1, 0.2])
        >>> PiecewiseConstant.sum([curve] * 3)
        PiecewiseConstant([0.0, 0.5, 1.0], [0.30000000000000004, 0.6000000000000001])
        """
        return _combine(_check_curves(curves), None, Fraction(1))

    @classmethod
    def mean(cls, curves, weights=None):
        """Average functions exactly; each value is rounded once, at the end.

        All breakpoints are sorted once, so M of them cost O(M log M).

        Parameters
        ----------
        curves : iterable of PiecewiseConstant
            At least one.

        weights : array-like of shape (n_curves,), default=None
            Nonnegative weights with a positive sum; equal ones by default.

        Returns
        -------
        mean : PiecewiseConstant
            Exact if all `curves` are; the order of `curves` does not matter.

        Examples
        --------
        >>> from sklearn_linkage_learn import PiecewiseConstant
        >>> low, high = PiecewiseConstant([0, 1], [0]), PiecewiseConstant([0, 1], [1])
        >>> PiecewiseConstant.mean([low, high], weights=[3, 1])
        PiecewiseConstant([0.0, 1.0], [0.25])
        """
        curves = _check_curves(curves)
        if weights is None:
            return _combine(curves, None, Fraction(len(curves)))
        weights = _check_weights(weights, len(curves))
        # The mean is the same for weights of any scale; those below 1 cannot overflow.
        weights = np.ldexp(weights, -exponent(weights))
        return _combine(curves, weights, sum(map(Fraction, weights.tolist())))

    def plot(self, ax=None, **kwargs):
        """Draw the function as steps, and the gap to `lower` as a shade.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; the current axes by default.

        **kwargs
            Passed to :meth:`matplotlib.axes.Axes.stairs`.

        Returns
        -------
        artist : matplotlib.patches.StepPatch
            The steps of `values`.

        Examples
        --------
        >>> from sklearn_linkage_learn import PiecewiseConstant
        >>> curve = PiecewiseConstant([0, 0.5, 1], [0.1, 0.2])
        >>> artist = curve.plot(label="loss")
        """
        if ax is None:
            ax = import_pyplot("PiecewiseConstant.plot").gca()
        artist = _stairs(ax, self, **{"baseline": None, **kwargs})
        if not self.is_exact:
            _stairs(
                ax,
                self,
                baseline=self._lower,
                fill=True,
                alpha=0.3,
                color=artist.get_edgecolor(),
                linewidth=0,
            )
        return artist

    def __add__(self, other):
        if not isinstance(other, PiecewiseConstant):
            return NotImplemented
        return PiecewiseConstant.sum([self, other])

    def __mul__(self, factor):
        if not isinstance(factor, Real):
            return NotImplemented
        with np.errstate(over="ignore"):
            ends = float(factor) * self._values, float(factor) * self.lower
        # A negative factor turns lower bounds into upper ones.
        values, lower = ends if factor >= 0 else ends[::-1]
        return PiecewiseConstant(self._breakpoints, values, lower)

    __rmul__ = __mul__

    def __eq__(self, other):
        if not isinstance(other, PiecewiseConstant):
            return NotImplemented
        return (
            np.array_equal(self._breakpoints, other._breakpoints)
            and np.array_equal(self._values, other._values)
            and np.array_equal(self.lower, other.lower)
        )

    def __hash__(self):
        return hash((self._breakpoints.tobytes(), self._values.tobytes()))

    def __reduce__(self):
        parts = self._breakpoints, self._values, self._lower
        return _unpickled, (*parts, _checksum(*parts))

    def __repr__(self):
        if self.n_pieces > 6:
            start, stop = widest_optimal_interval(self)
            exact = "" if self.is_exact else ", not exact"
            return (
                f"<PiecewiseConstant of {self.n_pieces} pieces, "
                f"minimum {self.min():.6g} on [{start:.6g}, {stop:.6g}){exact}>"
            )
        lower = "" if self.is_exact else f", lower={self._lower.tolist()}"
        return (
            f"PiecewiseConstant({self._breakpoints.tolist()}, "
            f"{self._values.tolist()}{lower})"
        )


def widest_optimal_interval(curve, tol=None):
    """Find the widest interval on which a curve is least.

    Its middle is the most robust choice of a parameter that minimises the curve.

    Parameters
    ----------
    curve : PiecewiseConstant
        A loss curve. If it is not exact, the upper bounds ``curve.values`` are
        minimised.

    tol : float, default=None
        See :meth:`PiecewiseConstant.argmin_intervals`.

    Returns
    -------
    start, stop : float
        The interval's ends; the leftmost of equally wide intervals.

    Examples
    --------
    >>> from sklearn_linkage_learn import PiecewiseConstant, widest_optimal_interval
    >>> curve = PiecewiseConstant([0, 0.25, 0.5, 1], [0.1, 0.2, 0.1])
    >>> widest_optimal_interval(curve)
    (0.5, 1.0)
    """
    if not isinstance(curve, PiecewiseConstant):
        raise TypeError(
            f"curve must be a PiecewiseConstant, got {type(curve).__name__}."
        )
    intervals = curve.argmin_intervals(tol)
    start, stop = intervals[np.argmax(intervals[:, 1] - intervals[:, 0])]
    return float(start), float(stop)


def import_pyplot(caller):
    """Import ``matplotlib.pyplot``, or say how to install it for `caller`."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller} needs matplotlib: pip install 'sklearn-linkage-learn[plot]'"
        ) from error
    return plt


def _stairs(ax, curve, baseline, **kwargs):
    """Draw the steps of a curve by :meth:`matplotlib.axes.Axes.stairs`.

    That takes minutes to find the limits of 100,000 steps, so it gets two of them.
    """
    extremes = [curve.values.min(), curve.values.max()]
    lowest = None if baseline is None else np.min(baseline)
    artist = ax.stairs(extremes, [0, 0.5, 1], baseline=lowest, **kwargs)
    artist.set_data(curve.values, curve.breakpoints, baseline)
    return artist


def _combine(curves, weights, divisor):
    """Divide the (weighted) sum of curves by `divisor`, a positive Fraction."""
    breakpoints = np.concatenate([c._breakpoints[1:-1] for c in curves])
    # Each curve's breakpoints are sorted runs, which the stable sort only merges.
    order = np.argsort(breakpoints, kind="stable")
    breakpoints = breakpoints[order]
    # Where curves share a breakpoint, the sum counts after the last of their jumps.
    last = np.ones(len(breakpoints), dtype=bool)
    np.not_equal(breakpoints[1:], breakpoints[:-1], out=last[:-1])
    starts = np.cumsum([0] + [c.n_pieces for c in curves[:-1]])
    if weights is not None:
        weights = np.repeat(weights, [c.n_pieces for c in curves])

    def sweep(values):
        return _running_sums(values, weights, starts, order, last, divisor)

    values = sweep(np.concatenate([c._values for c in curves]))
    lower = None
    if not all(c.is_exact for c in curves):
        lower = sweep(np.concatenate([c.lower for c in curves]))
        lower = np.minimum(lower, values)
    edges = np.concatenate([[0.0], breakpoints[last], [1.0]])
    return PiecewiseConstant(edges, values, lower)


def _running_sums(values, weights, starts, order, last, divisor):
    """Sum, from left to right, the pieces of curves that begin at `starts`."""
    scale = exponent(values)
    values = np.ldexp(values, -scale)
    width = limb_width(2 * len(starts))
    if weights is None:
        limbs = to_limbs(values, width)
    else:
        limbs = to_limbs(np.stack(two_product(weights, values)).ravel(), width)
        limbs = limbs[:, : len(values)] + limbs[:, len(values) :]

    within = np.ones(len(values) - 1, dtype=bool)
    within[starts[1:] - 1] = False
    sums = np.empty((len(limbs), 1 + np.count_nonzero(last)), np.int64)
    for limb, total in zip(limbs, sums, strict=True):
        total[0] = limb[starts].sum()
        jumps = np.diff(limb)[within][order]
        total[1:] = total[0] + np.cumsum(jumps)[last]
    # A curve refuses values that overflow.
    with np.errstate(over="ignore"):
        return np.ldexp(quotient(sums, width, divisor), scale)


def _as_number(name, value):
    with blame(name):
        return float(value)


def _unpickled(breakpoints, values, lower, checksum):
    if _checksum(breakpoints, values, lower) != checksum:
        raise ValueError("A pickled PiecewiseConstant was damaged: checksums differ.")
    return PiecewiseConstant(breakpoints, values, lower)


def _checksum(*arrays):
    checksum = 0
    for array in arrays:
        if array is not None:
            checksum = zlib.crc32(np.ascontiguousarray(array, dtype="<f8"), checksum)
    return checksum


def _check_breakpoints(breakpoints):
    breakpoints = as_numbers("breakpoints", breakpoints)
    if breakpoints.ndim != 1 or len(breakpoints) < 2:
        raise ValueError(
            "breakpoints must be a 1-D array of at least two numbers, got shape "
            f"{breakpoints.shape}."
        )
    if breakpoints[0] != 0 or breakpoints[-1] != 1:
        raise ValueError(
            "breakpoints must begin at 0 and end at 1, got "
            f"{breakpoints[0]} and {breakpoints[-1]}."
        )
    rising = breakpoints[1:] > breakpoints[:-1]
    if not rising.all():
        i = int(np.argmin(rising))
        raise ValueError(
            "breakpoints must increase strictly, got "
            f"{breakpoints[i]} before {breakpoints[i + 1]} at index {i}."
        )
    # Adding zero gives -0.0 the bytes of 0.0, which hashing relies on.
    return breakpoints + 0.0


def _check_values(name, values, n_pieces):
    values = as_numbers(name, values)
    if values.shape != (n_pieces,):
        raise ValueError(
            f"{name} must have one number for each of the {n_pieces} pieces, got "
            f"shape {values.shape}."
        )
    if not np.isfinite(values).all():
        i = int(np.argmin(np.isfinite(values)))
        raise ValueError(f"{name} must be finite, got {values[i]} at index {i}.")
    return values + 0.0


def _check_curves(curves):
    with blame("curves"):
        curves = list(curves)
    if not curves:
        raise ValueError("curves is empty, at least one is expected.")
    for i, curve in enumerate(curves):
        if not isinstance(curve, PiecewiseConstant):
            raise TypeError(
                f"curves[{i}] must be a PiecewiseConstant, got {type(curve).__name__}."
            )
    return curves


def _check_weights(weights, n_curves):
    weights = as_numbers("weights", weights)
    if weights.shape != (n_curves,):
        raise ValueError(
            f"weights must have one number for each of the {n_curves} curves, got "
            f"shape {weights.shape}."
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError(
            "weights must be finite, nonnegative and not all zero, got "
            f"{weights.tolist()}."
        )
    return weights


def _frozen(array):
    array.setflags(write=False)
    return array
