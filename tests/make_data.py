"""Small instances that are hard on exactness: ties, duplicates, extreme scales.

`GENERATORS` maps a name to ``function(n, rng)``, which gives a square float64 matrix,
symmetric with a zero diagonal, for any ``n >= 1``. `TIED` names those whose ties are
many and exact.
"""

import numpy as np
from scipy.spatial.distance import pdist, squareform


def square(n, condensed):
    out = np.zeros((n, n))
    rows, columns = np.triu_indices(n, 1)
    out[rows, columns] = out[columns, rows] = condensed
    return out


def n_pairs(n):
    return n * (n - 1) // 2


def of_points(points, metric="euclidean"):
    points = np.asarray(points, dtype=float)
    return square(len(points), pdist(points, metric))


def euclidean(n, rng):
    """Random points in the plane."""
    return of_points(rng.normal(size=(n, 2)))


def random_symmetric(n, rng):
    """Random dissimilarities; no triangle inequality."""
    return square(n, rng.uniform(size=n_pairs(n)))


def small_integers(n, rng):
    """Dissimilarities from 0 to 3."""
    return square(n, rng.integers(0, 4, size=n_pairs(n)))


def two_values(n, rng):
    """Dissimilarities 1 and 2, a metric with nothing but ties."""
    return square(n, rng.integers(1, 3, size=n_pairs(n)))


def grid(n, rng):
    """Points of a small integer grid, Euclidean."""
    return of_points(rng.integers(0, 3, size=(n, 2)))


def grid_squared(n, rng):
    """Points of a small integer grid, squared Euclidean."""
    return of_points(rng.integers(0, 3, size=(n, 2)), "sqeuclidean")


def duplicated_points(n, rng):
    """Every place is held by two or more of the points on average."""
    places = rng.normal(size=((n + 1) // 2, 2))
    return of_points(places[rng.integers(0, len(places), size=n)])


def collinear(n, rng):
    """Equally spaced points on a line, in random order."""
    return of_points(rng.permutation(n)[:, None])


def all_equal(n, rng):
    """All points at one place."""
    return np.zeros((n, n))


def all_at_distance_one(n, rng):
    """All points at one positive distance from each other."""
    return np.ones((n, n)) - np.eye(n)


def zero_between_classes(n, rng):
    """Zero between odd and even points, positive among them."""
    d = 1 + random_symmetric(n, rng)
    parity = np.arange(n) % 2
    d[parity[:, None] != parity] = 0
    np.fill_diagonal(d, 0)
    return d


def last_bit(n, rng):
    """One value but for the last two bits."""
    steps = np.array([1.0, np.nextafter(1, 2), np.nextafter(1, 0)])
    return square(n, steps[rng.integers(0, 3, size=n_pairs(n))])


def last_bit_euclidean(n, rng):
    """Euclidean, with some of the distances moved to a neighbouring float."""
    d = squareform(grid(n, rng), checks=False)
    towards = rng.choice([-1, 1], size=len(d)) * np.inf
    moved = (rng.uniform(size=len(d)) < 0.3) & (d > 0)
    return square(n, np.where(moved, np.nextafter(d, towards), d))


def tiny(n, rng):
    """Distances near 1e-300: products of two underflow."""
    return random_symmetric(n, rng) * 1e-300


def subnormal(n, rng):
    """A few multiples of the smallest positive float."""
    return small_integers(n, rng) * 5e-324


def huge(n, rng):
    """Distances near 1e300: products of two overflow."""
    return random_symmetric(n, rng) * 1e300


def mixed_scales(n, rng):
    """Distances from 1e-150 to 1e150."""
    return square(n, 10.0 ** rng.uniform(-150, 150, size=n_pairs(n)))


def almost_parallel(n, rng):
    """Integers plus a few units of 2**-50: slopes that agree to the last bits."""
    base = rng.integers(1, 3, size=n_pairs(n))
    return square(n, base + rng.integers(0, 8, size=n_pairs(n)) * 2.0**-50)


GENERATORS = {
    f.__name__: f
    for f in (
        euclidean,
        random_symmetric,
        small_integers,
        two_values,
        grid,
        grid_squared,
        duplicated_points,
        collinear,
        all_equal,
        all_at_distance_one,
        zero_between_classes,
        last_bit,
        last_bit_euclidean,
        tiny,
        subnormal,
        huge,
        mixed_scales,
        almost_parallel,
    )
}

TIED = (
    "small_integers",
    "two_values",
    "grid",
    "grid_squared",
    "duplicated_points",
    "collinear",
    "all_equal",
    "all_at_distance_one",
    "zero_between_classes",
    "last_bit",
    "last_bit_euclidean",
    "subnormal",
    "almost_parallel",
)


def labels(n, rng, n_classes=2):
    """Random labels from 0 to n_classes - 1, all present if n allows it."""
    return rng.permutation(np.arange(n) % n_classes)
