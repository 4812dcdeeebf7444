"""Sums of many floats that are exact until their one final rounding.

A number of [-1, 1] is cut into limbs, integers that are its digits to the base
``2**width``. Integer sums, running ones included, make no error, so the order of the
terms cannot matter and equal sums stay equal. Only `quotient` rounds: it divides in
double-double arithmetic, whose result is the nearest float unless the true quotient
lies within one part in 2**100 of the middle between two floats.
"""

from fractions import Fraction

import numpy as np


def limb_width(n_terms):
    """Bits a limb may have so that sums of `n_terms` limbs are exact in float64."""
    return 53 - int(n_terms).bit_length()


def exponent(numbers):
    """Least ``e`` with all ``|numbers| < 2**e``, 0 if there is no nonzero number."""
    return int(np.frexp(np.max(np.abs(numbers), initial=0.0))[1])


def to_limbs(numbers, width):
    """Cut numbers of [-1, 1] into limbs, most significant first.

    Returns an int64 array of shape (n_limbs, n_numbers), with as many limbs as the
    finest number needs; number ``j`` is ``sum_i limbs[i, j] * 2**(-width * (i + 1))``.
    """
    limbs = []
    rest = numbers
    while True:
        rest = rest * 2.0**width
        digits = np.trunc(rest)
        limbs.append(digits.astype(np.int64))
        rest = rest - digits
        if not rest.any():
            return np.stack(limbs)


def two_product(a, b):
    """The product as a float and the error of that float, without fused multiply."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    error = a_low * b_low - (
        ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    )
    return product, error


def quotient(limbs, width, divisor):
    """Nearest floats to the numbers of `limbs` divided by a positive Fraction."""
    sign = _normalize(limbs, width)
    high, low = _to_double_double(limbs, width)
    divisor_high = float(divisor)
    divisor_low = float(divisor - Fraction(divisor_high))
    first = high / divisor_high
    product, error = two_product(first, divisor_high)
    rest = ((high - product) - error) + (low - first * divisor_low)
    return sign * (first + rest / divisor_high)


def _halves(a):
    # Veltkamp's split: two parts of at most 26 bits, whose products are exact.
    scaled = a * 134217729.0
    high = scaled - (scaled - a)
    return high, a - high


def _normalize(limbs, width):
    """Make `limbs` the unique digits of the absolute values; return the signs."""
    _carry(limbs, width)
    negative = limbs[0] < 0
    if negative.any():
        np.negative(limbs, out=limbs, where=negative)
        _carry(limbs, width)
    return np.where(negative, -1.0, 1.0)


def _carry(limbs, width):
    for i in range(len(limbs) - 1, 0, -1):
        limbs[i - 1] += limbs[i] >> width
        limbs[i] &= (1 << width) - 1


def _to_double_double(limbs, width):
    high = low = np.zeros(limbs.shape[1])
    for i in range(len(limbs) - 1, -1, -1):
        # A nonzero limb is above all that follows it, so this two-sum needs no test.
        term = limbs[i] * 2.0 ** (-width * (i + 1))
        total = term + high
        low = low + (high - (total - term))
        high = total
    return high, low
