from fractions import Fraction

import numpy as np
import pytest

from sklearn_linkage_learn import PiecewiseConstant
from sklearn_linkage_learn._scales import (
    common_scales,
    in_binary_units,
    largest_distances,
    mean_distances,
    scale_factors,
    stretched,
    usable,
)


def test_binary_units_bring_the_largest_distance_near_one_without_rounding():
    rng = np.random.default_rng(0)
    distances = rng.uniform(size=(3, 20)) * [[1e-200], [3.0], [1e250]]
    scaled, units = in_binary_units(distances)
    assert ((scaled.max(axis=1) >= 0.5) & (scaled.max(axis=1) < 1)).all()
    for row, unit, expected in zip(scaled, units, distances, strict=True):
        assert [Fraction(x) * Fraction(2) ** unit for x in row] == list(
            map(Fraction, expected)
        )


def test_distances_that_are_zero_or_missing_keep_their_unit():
    scaled, units = in_binary_units(np.zeros((2, 3)))
    np.testing.assert_array_equal(scaled, 0)
    assert units == (0, 0)
    assert in_binary_units(np.empty((2, 0)))[1] == (0, 0)
    assert mean_distances(np.empty((2, 0))) is None
    np.testing.assert_array_equal(largest_distances(np.empty((2, 0))), 0)
    np.testing.assert_array_equal(usable(np.array([0.0, 3.0])), [1, 3])


@pytest.mark.parametrize("squared", [False, True])
def test_factors_turn_units_into_scales(squared):
    units, scales = (3, -7), (5.5, 1e-3)
    expected = np.array([2.0**3 / 5.5, 2.0**-7 / 1e-3])
    np.testing.assert_allclose(
        scale_factors(units, scales, squared),
        expected**2 if squared else expected,
        rtol=1e-15,
    )
    extreme = scale_factors((1000, -1000), (1e-300, 1e300), squared)
    assert np.isfinite(extreme).all()
    assert (extreme > 0).all()


@pytest.mark.parametrize("factors", [(1.0, 1.7), (3.0, 0.01), (1e-6, 1e6), (2.0, 2.0)])
def test_a_stretched_curve_is_the_curve_at_the_same_ratio_of_weights(factors):
    rng = np.random.default_rng(1)
    breakpoints = np.concatenate([[0], np.sort(rng.uniform(size=30)), [1]])
    curve = PiecewiseConstant(breakpoints, rng.permutation(31))
    ours = stretched(curve, np.array(factors))
    np.testing.assert_array_equal(ours.values, curve.values)
    first, second = map(Fraction, factors)
    for at, found in zip(breakpoints, ours.breakpoints, strict=True):
        t = Fraction(at)
        exact = t * first / ((1 - t) * second + t * first)
        assert abs(Fraction(found) - exact) <= Fraction(1, 10**15)


def test_a_stretched_curve_keeps_lower_bounds_and_drops_pieces_without_length():
    curve = PiecewiseConstant(
        [0, 0.25, 0.5, np.nextafter(0.5, 1), 1], [4, 3, 2, 1], lower=[4, 2, 1, 1]
    )
    wide = stretched(curve, np.array([3.0, 1.0]))
    np.testing.assert_allclose(wide.breakpoints[1:3], [0.5, 0.75])
    narrow = stretched(curve, np.array([1e6, 1.0]))
    assert narrow.n_pieces == 3
    np.testing.assert_array_equal(narrow.values, [4, 3, 1])
    np.testing.assert_array_equal(narrow.lower, [4, 2, 1])
    assert stretched(curve, np.array([2.0, 2.0])) == curve


def test_mean_distances_do_not_overflow():
    distances = np.array([[1e308, 1.5e308, 1e308], [1.0, 2.0, 6.0]])
    np.testing.assert_allclose(mean_distances(distances), [3.5 / 3 * 1e308, 3.0])


def test_common_scales_count_instances_alike_and_in_any_order():
    rng = np.random.default_rng(2)
    summaries = list(rng.uniform(size=(50, 2)) * 10.0 ** rng.integers(-9, 9, (50, 1)))
    summaries.insert(7, None)
    known = [summary for summary in summaries if summary is not None]
    alike = [1.0] * 51
    mean = common_scales("mean", 2, summaries, alike)
    np.testing.assert_allclose(mean, np.mean(known, axis=0))
    np.testing.assert_array_equal(
        common_scales("mean", 2, summaries[::-1], alike), mean
    )
    np.testing.assert_array_equal(
        common_scales("max", 2, summaries, alike), np.max(known, axis=0)
    )
    for normalize in ("mean", "max"):
        np.testing.assert_array_equal(common_scales(normalize, 2, [None], [1.0]), 1)
        np.testing.assert_array_equal(
            common_scales(normalize, 2, [(0.0, 2.0)], [0.3]), [1, 2]
        )


def test_common_scales_count_instances_by_their_weight():
    summaries = [(1.0, 1e308), (3.0, 1e308), (100.0, 1.5e308), None]
    for factor in (1, 1e307, 1e-320):
        weights = np.multiply([1, 3, 0, 5], factor)
        np.testing.assert_allclose(
            common_scales("mean", 2, summaries, weights), [2.5, 1e308]
        )
        assert common_scales("max", 2, summaries, weights).tolist() == [3, 1e308]
