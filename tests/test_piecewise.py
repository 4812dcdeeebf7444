import math
import pickle
import sys
from fractions import Fraction
from time import process_time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_linkage_learn._piecewise import (
    PiecewiseConstant,
    widest_optimal_interval,
)


def random_curve(rng, n_pieces, *, grid=None, values=None, with_lower=False):
    """A curve with breakpoints from a coarse grid, so that curves share some."""
    if grid is None:
        inner = np.unique(rng.uniform(size=n_pieces - 1))
    else:
        inner = rng.choice(np.arange(1, grid) / grid, size=n_pieces - 1, replace=False)
        inner.sort()
    breakpoints = np.concatenate([[0.0], inner, [1.0]])
    values = rng.normal(size=n_pieces) if values is None else values(n_pieces)
    lower = values - rng.integers(0, 2, size=n_pieces) / 7 if with_lower else None
    return PiecewiseConstant(breakpoints, values, lower)


def exact_mean_at(curves, weights, t, attribute="values"):
    """The mean at `t` as a Fraction."""
    total = Fraction(0)
    for curve, weight in zip(curves, weights, strict=True):
        piece = np.searchsorted(curve.breakpoints, t, side="right") - 1
        values = getattr(curve, attribute)
        total += Fraction(weight) * Fraction(values[min(piece, curve.n_pieces - 1)])
    return total / sum(map(Fraction, weights))


def assert_is_correctly_rounded_mean(mean, curves, weights):
    edges = np.unique(np.concatenate([c.breakpoints for c in curves]))
    assert set(mean.breakpoints) <= set(edges)
    for t in edges:
        assert mean(t) == float(exact_mean_at(curves, weights, t)), t


VALUES = {
    "fractions": lambda rng: lambda m: rng.integers(0, 31, size=m) / 30,
    "signed": lambda rng: lambda m: rng.normal(size=m),
    "huge": lambda rng: lambda m: rng.normal(size=m) * 1e307,
    "cancelling": lambda rng: lambda m: rng.choice([-1.0, 1.0, 1e-30, -1e-25], size=m),
    "many magnitudes": lambda rng: (
        lambda m: rng.normal(size=m) * 10.0 ** rng.integers(-100, 100, size=m)
    ),
    "zero": lambda rng: np.zeros,
}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("n_curves", [1, 2, 7, 50])
def test_mean_is_the_correctly_rounded_exact_mean(kind, n_curves):
    rng = np.random.default_rng(n_curves)
    values = VALUES[kind](rng)
    curves = [
        random_curve(rng, rng.integers(1, 12), grid=24, values=values)
        for _ in range(n_curves)
    ]
    mean = PiecewiseConstant.mean(curves)
    assert_is_correctly_rounded_mean(mean, curves, [1] * n_curves)


@pytest.mark.parametrize("kind", VALUES)
def test_weighted_mean_is_the_correctly_rounded_exact_mean(kind):
    rng = np.random.default_rng(0)
    values = VALUES[kind](rng)
    curves = [
        random_curve(rng, rng.integers(1, 9), grid=24, values=values) for _ in range(20)
    ]
    weights = rng.exponential(size=20) * 10.0 ** rng.integers(-9, 9, size=20)
    weights[3] = 0
    mean = PiecewiseConstant.mean(curves, weights)
    assert_is_correctly_rounded_mean(mean, curves, weights)


def test_mean_of_curves_without_common_breakpoints():
    rng = np.random.default_rng(1)
    curves = [random_curve(rng, 30) for _ in range(5)]
    mean = PiecewiseConstant.mean(curves)
    assert mean.n_pieces == 5 * 29 + 1
    assert_is_correctly_rounded_mean(mean, curves, [1] * 5)


@pytest.mark.parametrize("n_curves", [2, 3, 10, 49, 1000])
def test_mean_of_equal_curves_is_the_curve(n_curves):
    rng = np.random.default_rng(2)
    curve = random_curve(rng, 200)
    assert PiecewiseConstant.mean([curve] * n_curves) == curve
    assert PiecewiseConstant.mean([curve] * n_curves, rng.uniform(size=n_curves)) == (
        curve
    )


def test_mean_does_not_depend_on_the_order_of_the_curves():
    rng = np.random.default_rng(3)
    curves = [random_curve(rng, 50, grid=70) for _ in range(40)]
    shuffled = [curves[i] for i in rng.permutation(40)]
    assert PiecewiseConstant.mean(curves) == PiecewiseConstant.mean(shuffled)


def test_mean_returns_to_the_same_float_after_many_jumps():
    # Each curve leaves its value 1/3 for a while and comes back to it.
    rng = np.random.default_rng(4)
    curves = []
    for _ in range(1000):
        inner = np.sort(rng.uniform(0.1, 0.9, size=200))
        values = np.concatenate([[1 / 3], rng.uniform(0.4, 1, size=199), [1 / 3]])
        breakpoints = np.concatenate([[0], inner, [1]])
        curves.append(PiecewiseConstant(breakpoints, values))
    mean = PiecewiseConstant.mean(curves)
    assert mean(0) == mean(1) == mean.min() == 1 / 3
    assert len(mean.argmin_intervals()) == 2


def test_mean_bounds_are_the_means_of_the_bounds():
    rng = np.random.default_rng(5)
    curves = [random_curve(rng, 8, grid=20, with_lower=True) for _ in range(6)]
    curves.append(random_curve(rng, 8, grid=20))
    mean = PiecewiseConstant.mean(curves)
    assert not mean.is_exact
    for t, low in zip(mean.breakpoints, mean.lower, strict=False):
        assert mean(t) == float(exact_mean_at(curves, [1] * 7, t))
        assert low == float(exact_mean_at(curves, [1] * 7, t, "lower"))


def test_mean_is_certified_only_where_all_curves_are():
    a = PiecewiseConstant([0, 0.5, 1], [0.2, 0.3], [0.2, 0.1])
    b = PiecewiseConstant([0, 0.25, 1], [0.4, 0.4], [0.3, 0.4])
    mean = PiecewiseConstant.mean([a, b])
    assert_array_equal(mean.breakpoints, [0, 0.25, 0.5, 1])
    assert_array_equal(mean.certified, [False, True, False])


def test_sum_and_add_are_correctly_rounded():
    rng = np.random.default_rng(6)
    a, b = (random_curve(rng, 20, grid=30) for _ in range(2))
    total = a + b
    assert total == PiecewiseConstant.sum([a, b])
    for t in np.linspace(0, 1, 61):
        assert total(t) == a(t) + b(t)


def test_scalar_product_multiplies_the_values():
    curve = PiecewiseConstant([0, 0.5, 1], [0.25, 1.0])
    expected = PiecewiseConstant([0, 0.5, 1], [0.75, 3.0])
    assert curve * 3 == 3 * curve == np.float64(3) * curve == expected
    assert curve * 0 == PiecewiseConstant([0, 1], [0])


def test_negative_factor_swaps_the_bounds():
    curve = PiecewiseConstant([0, 1], [0.5], lower=[0.25])
    assert -2 * curve == PiecewiseConstant([0, 1], [-0.5], lower=[-1.0])


def test_equal_neighbours_are_merged():
    curve = PiecewiseConstant([0, 0.2, 0.4, 0.6, 1], [1, 1, 2, 2])
    assert_array_equal(curve.breakpoints, [0, 0.4, 1])
    assert_array_equal(curve.values, [1, 2])
    assert curve.n_pieces == 2


def test_neighbours_with_different_lower_bounds_are_not_merged():
    curve = PiecewiseConstant([0, 0.2, 0.4, 1], [1, 1, 1], lower=[0, 1, 1])
    assert_array_equal(curve.breakpoints, [0, 0.2, 1])
    assert_array_equal(curve.lower, [0, 1])
    assert_array_equal(curve.certified, [False, True])
    assert not curve.is_exact


def test_lower_bounds_that_equal_the_values_make_an_exact_curve():
    curve = PiecewiseConstant([0, 0.5, 1], [1, 2], lower=[1, 2])
    assert curve.is_exact
    assert curve.certified.all()
    assert curve == PiecewiseConstant([0, 0.5, 1], [1, 2])


def test_call_takes_the_right_hand_value_at_a_breakpoint_and_the_last_at_one():
    curve = PiecewiseConstant([0, 0.5, 1], [1, 2])
    assert curve(0) == 1
    assert curve(math.nextafter(0.5, 0)) == 1
    assert curve(0.5) == 2
    assert curve(1) == 2
    assert type(curve(0.5)) is float
    assert_array_equal(curve([[0.1, 0.5], [0.9, 1]]), [[1, 2], [2, 2]])
    assert curve([]).shape == (0,)


def test_argmin_intervals_are_maximal_and_complete():
    curve = PiecewiseConstant([0, 0.1, 0.3, 0.5, 0.75, 1], [1, 2, 1, 3, 1])
    assert curve.min() == 1
    assert_array_equal(curve.argmin_intervals(), [[0, 0.1], [0.3, 0.5], [0.75, 1]])
    assert_array_equal(curve.argmin_intervals(tol=1), [[0, 0.5], [0.75, 1]])


def test_argmin_of_a_constant_is_everything():
    curve = PiecewiseConstant([0, 1], [-1])
    assert_array_equal(curve.argmin_intervals(), [[0, 1]])


def test_argmin_ignores_the_rounding_of_fractions():
    # 0.1 + 0.2 and 0.3 + 0.0 stand for the same number of misplaced points.
    a = PiecewiseConstant([0, 0.5, 1], [0.1, 0.3])
    b = PiecewiseConstant([0, 0.5, 1], [0.2, 0.0])
    total = a + b
    assert total.n_pieces == 2
    assert_array_equal(total.argmin_intervals(), [[0, 1]])
    assert_array_equal(total.argmin_intervals(tol=0), [[0.5, 1]])


def test_argmin_joins_adjacent_pieces_that_differ_in_lower_only():
    curve = PiecewiseConstant([0, 0.2, 0.4, 1], [1, 1, 2], lower=[0, 1, 2])
    assert_array_equal(curve.argmin_intervals(), [[0, 0.4]])


def test_widest_optimal_interval_is_the_first_of_the_widest():
    curve = PiecewiseConstant([0, 0.25, 0.5, 0.75, 0.875, 1], [2, 1, 2, 1, 2])
    assert widest_optimal_interval(curve) == (0.25, 0.5)
    curve = PiecewiseConstant([0, 0.25, 0.5, 0.75, 1], [1, 2, 1, 2])
    assert widest_optimal_interval(curve) == (0, 0.25)


def test_integral_matches_fractions():
    rng = np.random.default_rng(7)
    curve = random_curve(rng, 50, values=lambda m: rng.uniform(size=m))
    for a, b in [(0, 1), (0.2, 0.9), (0.5, 0.5), (0.123, 0.124)]:
        exact = Fraction(0)
        for lo, hi, value in zip(
            curve.breakpoints, curve.breakpoints[1:], curve.values, strict=False
        ):
            length = min(Fraction(hi), Fraction(b)) - max(Fraction(lo), Fraction(a))
            exact += max(length, 0) * Fraction(value)
        assert curve.integral(a, b) == pytest.approx(float(exact), rel=1e-14)


def test_arrays_are_read_only_copies():
    breakpoints, values, lower = np.array([0, 0.5, 1]), np.ones(2), np.zeros(2)
    values[1] = 2
    curve = PiecewiseConstant(breakpoints, values, lower)
    breakpoints[1], values[0], lower[0] = 0.7, -5, -5
    assert curve == PiecewiseConstant([0, 0.5, 1], [1, 2], [0, 0])
    for array in (curve.breakpoints, curve.values, curve.lower):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 3
    with pytest.raises(AttributeError):
        curve.values = values


@pytest.mark.parametrize("with_lower", [False, True])
def test_pickle_keeps_the_curve(with_lower):
    curve = random_curve(np.random.default_rng(8), 20, with_lower=with_lower)
    copy = pickle.loads(pickle.dumps(curve))
    assert copy == curve
    assert hash(copy) == hash(curve)
    assert not copy.values.flags.writeable


def test_a_pickle_that_was_damaged_is_refused():
    curve = random_curve(np.random.default_rng(8), 20, with_lower=True)
    for part in (curve.breakpoints, curve.values, curve.lower):
        damaged = bytearray(pickle.dumps(curve))
        damaged[damaged.find(part.tobytes()) + 8] ^= 1
        with pytest.raises(ValueError, match="damaged"):
            pickle.loads(damaged)


def test_equality_compares_functions():
    curve = PiecewiseConstant([0, 0.5, 1], [1, 2])
    assert curve == PiecewiseConstant([0, 0.25, 0.5, 1], [1, 1, 2])
    assert curve != PiecewiseConstant([0, 0.25, 1], [1, 2])
    assert curve != PiecewiseConstant([0, 0.5, 1], [1, 3])
    assert curve != PiecewiseConstant([0, 0.5, 1], [1, 2], [0, 2])
    assert curve != "curve"
    zeros = [PiecewiseConstant([0, 1], [zero]) for zero in (0.0, -0.0)]
    assert len(set(zeros)) == 1


def test_repr_of_a_short_curve_can_be_evaluated():
    for lower in (None, [0.0, 0.1]):
        curve = PiecewiseConstant([0, 1 / 3, 1], [0.1, 0.2], lower)
        assert eval(repr(curve)) == curve


def test_repr_of_a_long_curve_is_a_summary():
    values = [5, 4, 3, 0.125, 3, 4, 5, 6]
    curve = PiecewiseConstant(np.arange(9) / 8, values)
    expected = "<PiecewiseConstant of 8 pieces, minimum 0.125 on [0.375, 0.5)>"
    assert repr(curve) == expected
    assert "not exact" in repr(PiecewiseConstant(np.arange(9) / 8, values, [0] * 8))


def test_plot_draws_the_steps():
    plt = pytest.importorskip("matplotlib.pyplot")
    _, ax = plt.subplots()
    curve = PiecewiseConstant([0, 0.5, 1], [1, 2])
    artist = curve.plot(ax, color="red", label="loss")
    values, edges, _ = artist.get_data()
    assert_array_equal(values, curve.values)
    assert_array_equal(edges, curve.breakpoints)
    assert artist.get_label() == "loss"
    assert list(ax.patches) == [artist]
    assert_array_equal(ax.dataLim.extents, [0, 1, 1, 2])
    assert curve.plot().axes is ax


def test_plot_shades_the_uncertified_gap():
    plt = pytest.importorskip("matplotlib.pyplot")
    _, ax = plt.subplots()
    curve = PiecewiseConstant([0, 0.5, 1], [1, 2], lower=[0.5, 2])
    curve.plot(ax)
    shade = ax.patches[1].get_data()
    assert_array_equal(shade.baseline, [0.5, 2])
    assert_array_equal(ax.dataLim.extents, [0, 0.5, 1, 2])


def test_plot_without_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"sklearn-linkage-learn\[plot\]"):
        PiecewiseConstant([0, 1], [1]).plot()


def test_mean_of_a_thousand_curves_takes_the_time_of_a_few_sorts():
    rng = np.random.default_rng(9)
    values = VALUES["fractions"](rng)
    curves = [random_curve(rng, 400, values=values) for _ in range(1000)]
    breakpoints = np.concatenate([curve.breakpoints for curve in curves])
    # Unlike seconds, this is the same on slow and busy machines: about 2.5.
    start = process_time()
    np.argsort(breakpoints, kind="stable")
    middle = process_time()
    mean = PiecewiseConstant.mean(curves)
    assert process_time() - middle < 15 * (middle - start)
    assert mean.n_pieces > 380_000
