from fractions import Fraction

import numpy as np
import pytest

from sklearn_linkage_learn._exact_sum import (
    exponent,
    limb_width,
    quotient,
    to_limbs,
    two_product,
)


def exact(limbs, width):
    """The numbers that limbs stand for."""
    return [
        sum(
            Fraction(int(limb), 2 ** (width * (i + 1))) for i, limb in enumerate(column)
        )
        for column in limbs.T
    ]


@pytest.mark.parametrize("width", [20, 43, 52])
def test_limbs_are_exact(width):
    rng = np.random.default_rng(0)
    numbers = rng.uniform(-1, 1, size=200) * 10.0 ** rng.integers(-80, 1, size=200)
    numbers[:6] = [0, 1, -1, 2.0**-1000, -(2.0**-52), 5e-324]
    assert exact(to_limbs(numbers, width), width) == list(map(Fraction, numbers))


def test_fractions_of_a_few_thousand_points_need_two_limbs():
    losses = np.concatenate([np.arange(n + 1) / n for n in range(1, 3000, 7)])
    assert len(to_limbs(losses, limb_width(2000))) == 2


@pytest.mark.parametrize("n_terms", [1, 2, 1000, 1024, 10**6])
def test_sums_of_as_many_limbs_as_told_are_exact_floats(n_terms):
    assert n_terms * 2 ** limb_width(n_terms) <= 2**53


def test_exponent_bounds_all_numbers():
    assert exponent(np.array([])) == 0
    assert exponent(np.array([0.0])) == 0
    assert exponent(np.array([-0.75, 0.1])) == 0
    assert exponent(np.array([1.0, -3.0])) == 2
    assert exponent(np.array([1e308])) == 1024


def test_two_product_has_no_error():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 500))
    product, error = two_product(a, b)
    for i in range(500):
        assert Fraction(product[i]) + Fraction(error[i]) == Fraction(a[i]) * Fraction(
            b[i]
        )


@pytest.mark.parametrize(
    "divisor", [Fraction(1), Fraction(2), Fraction(3), Fraction(999), Fraction(0.1)]
)
def test_quotient_is_the_nearest_float(divisor):
    rng = np.random.default_rng(2)
    width = 40
    limbs = rng.integers(-(2**50), 2**50, size=(3, 500))
    # Sums that nearly cancel in the first limb, or are zero there.
    limbs[0, :100] = 0
    limbs[0, 100:200] = rng.integers(-1, 2, size=100)
    limbs[:, 0] = 0
    expected = [float(number / divisor) for number in exact(limbs, width)]
    assert quotient(limbs.copy(), width, divisor).tolist() == expected


def test_quotient_does_not_depend_on_how_limbs_are_carried():
    width = 40
    one_way = np.array([[1], [0], [-1]])
    other_way = np.array([[0], [2**width - 1], [2**width - 1]])
    results = [quotient(limbs, width, Fraction(7)) for limbs in (one_way, other_way)]
    assert results[0] == results[1]
