"""Engines for one linkage on two metrics against the exact oracle."""

from fractions import Fraction
from itertools import product

import numpy as np
import oracle
import oracle_losses
import pytest
from make_data import GENERATORS, labels, of_points
from scipy.spatial.distance import pdist
from test_families import (
    assert_same_curve,
    condensed,
    loss_of_run,
    merges_of,
    weights,
)

from sklearn_linkage_learn._families import metric_curve, mixed_linkage
from sklearn_linkage_learn.losses import LOSSES, make_loss

LINKAGES = ("single", "complete", "average", "ward")
ENGINES = list(product(("execution_tree", "kinetic"), LINKAGES))


def random_points(n, rng):
    return [of_points(rng.normal(size=(n, 2))) for _ in range(2)]


def grid_points(n, rng):
    """Few places, so that both metrics tie and have duplicates."""
    return [of_points(rng.integers(0, 3, size=(n, 2))) for _ in range(2)]


def equal_metrics(n, rng):
    return [of_points(rng.integers(0, 4, size=(n, 2)))] * 2


def constant_metric(n, rng):
    """The second metric tells no two points apart from any others: a simplex."""
    return [of_points(rng.normal(size=(n, 2))), np.ones((n, n)) - np.eye(n)]


def zero_metric(n, rng):
    return [of_points(rng.normal(size=(n, 2))), np.zeros((n, n))]


def different_scales(n, rng):
    first, second = random_points(n, rng)
    return [1e-8 * first, 1e8 * second]


def opposed(n, rng):
    """What is near in one metric is far in the other; no metric, but lines cross."""
    d = GENERATORS["small_integers"](n, rng)
    return [d, (3 - d) * (1 - np.eye(n))]


def mixed_generators(n, rng):
    """Any two of the hard dissimilarities of usual size."""
    usual = [
        f
        for name, f in GENERATORS.items()
        if name not in ("tiny", "subnormal", "huge", "mixed_scales")
    ]
    return [usual[i](n, rng) for i in rng.integers(len(usual), size=2)]


def extreme(n, rng):
    name = ("tiny", "subnormal", "huge", "mixed_scales")[rng.integers(4)]
    return [GENERATORS[name](n, rng) for _ in range(2)]


EUCLIDEAN = {
    f.__name__: f
    for f in (
        random_points,
        grid_points,
        equal_metrics,
        constant_metric,
        zero_metric,
        different_scales,
    )
}
ALL = {f.__name__: f for f in (*EUCLIDEAN.values(), opposed, mixed_generators, extreme)}
CASES = [
    (data, linkage)
    for data, linkage in product(ALL, LINKAGES)
    # Ward's criterion is one of squared Euclidean distances.
    if linkage != "ward" or data in EUCLIDEAN
]


def for_oracle(squares, linkage):
    """The oracle takes squared distances for Ward linkage, as floats like the rest."""
    return [d * d for d in squares] if linkage == "ward" else squares


def trees_along(squares, linkage, algorithm):
    seen = []

    def count(Z, labels):
        seen.append(oracle.tree_of(merges_of(Z)))
        return float(len(seen))

    kernel = make_loss(count, ["a"] * len(squares[0]))
    curve = metric_curve([condensed(d) for d in squares], linkage, kernel, algorithm)
    return curve.breakpoints[:-1], [seen[int(value) - 1] for value in curve.values]


@pytest.mark.parametrize("data, linkage", CASES)
@pytest.mark.parametrize("algorithm", ["execution_tree", "kinetic"])
def test_trees_and_breakpoints_equal_those_of_the_oracle(data, linkage, algorithm):
    rng = np.random.default_rng(sum(map(ord, data + linkage)))
    for n in (1, 2, 3, 5, 6, 8):
        squares = ALL[data](n, rng)
        pieces = oracle.breakpoints_and_runs_metric(
            *for_oracle(squares, linkage), linkage
        )
        assert_same_curve(
            *trees_along(squares, linkage, algorithm),
            [start for start, _, _ in pieces],
            [oracle.tree_of(run) for _, _, run in pieces],
        )


@pytest.mark.parametrize("data, linkage", CASES)
def test_fixed_run_is_the_greedy_run_merge_by_merge(data, linkage):
    rng = np.random.default_rng(11)
    for n, t in product((2, 5, 7), (0.0, 0.25, 0.5, rng.uniform(), 1.0)):
        squares = ALL[data](n, rng)
        Z = mixed_linkage([condensed(d) for d in squares], [linkage], [1.0], weights(t))
        run = oracle.greedy_metric(*for_oracle(squares, linkage), linkage, Fraction(t))
        assert oracle.order_of(merges_of(Z)) == oracle.order_of(run)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("algorithm, linkage", ENGINES)
def test_losses_equal_those_of_the_oracle_on_every_piece(loss, algorithm, linkage):
    true_loss = oracle_losses.LOSSES[loss]
    rng = np.random.default_rng(12)
    for data, (n, n_classes) in product(
        (random_points, grid_points), ((4, 2), (7, 3), (8, 4))
    ):
        squares = data(n, rng)
        y = list(labels(n, rng, n_classes))
        curve = metric_curve(
            [condensed(d) for d in squares], linkage, make_loss(loss, y), algorithm
        )
        starts, values = oracle.curve_of(
            oracle.breakpoints_and_runs_metric(*for_oracle(squares, linkage), linkage),
            lambda run, y=y: float(true_loss(oracle.children(run), y)),
        )
        assert_same_curve(
            curve.breakpoints[:-1],
            np.round(curve.values, 14),
            starts[:-1],
            np.round(values, 14),
        )


@pytest.mark.parametrize("data", [random_points, grid_points, different_scales])
@pytest.mark.parametrize("loss", ["hamming", "cut", "dendrogram_purity"])
@pytest.mark.parametrize("linkage", LINKAGES)
def test_curve_equals_loss_of_a_run_at_every_midpoint(data, loss, linkage):
    rng = np.random.default_rng(13)
    distances = [condensed(d) for d in data(40, rng)]
    kernel = make_loss(loss, labels(40, rng, 4))
    curve = metric_curve(distances, linkage, kernel, "kinetic")
    middles = (curve.breakpoints[1:] + curve.breakpoints[:-1]) / 2
    # Nearer to a breakpoint than this nothing is promised.
    middles = middles[np.diff(curve.breakpoints) > 2e-12]
    for t in (0.0, *middles, 1.0):
        Z = mixed_linkage(distances, [linkage], [1.0], weights(t))
        assert curve(t) == loss_of_run(kernel, Z)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("linkage", ["complete", "average"])
def test_curve_equals_loss_of_a_run_after_many_repairs(seed, linkage):
    rng = np.random.default_rng(seed)
    distances = [pdist(rng.normal(size=(120, 2))) for _ in range(2)]
    kernel = make_loss("hamming", rng.integers(0, 6, size=120))
    curve = metric_curve(distances, linkage, kernel)
    assert curve.n_pieces > 90
    for t in (curve.breakpoints[1:] + curve.breakpoints[:-1]) / 2:
        Z = mixed_linkage(distances, [linkage], [1.0], weights(t))
        assert curve(t) == loss_of_run(kernel, Z)


@pytest.mark.parametrize("linkage", LINKAGES)
def test_both_engines_agree_on_larger_instances(linkage):
    rng = np.random.default_rng(14)
    distances = [condensed(d) for d in random_points(25, rng)]
    y = rng.integers(0, 3, size=25)
    for loss in ("cut", "ari", "hamming"):
        curves = [
            metric_curve(distances, linkage, make_loss(loss, y), algorithm)
            for algorithm in ("kinetic", "execution_tree")
        ]
        assert curves[0] == curves[1]


def test_equal_metrics_give_one_piece():
    rng = np.random.default_rng(15)
    d = condensed(of_points(rng.normal(size=(30, 2))))
    for linkage in LINKAGES:
        kernel = make_loss("hamming", rng.integers(0, 3, size=30))
        assert metric_curve([d, d], linkage, kernel).n_pieces == 1


@pytest.mark.parametrize(
    "d0, d1, y, loss",
    [
        # The line of a merge is newer than the one it was merged at.
        (
            [1, 2, 7, 8, 2, 7, 5, 4, 0, 8, 3, 2, 6, 1, 1],
            [1, 3, 0, 2, 0, 1, 1, 1, 1, 3, 2, 3, 1, 3, 3],
            [0, 2, 0, 1, 1, 2],
            "dendrogram_purity",
        ),
        # The cut of the past is taken by the lines of the past.
        (
            [1, 2, 2, 2, 1, 1, 1, 2, 2, 2],
            [2, 2, 0, 1, 4, 2, 1, 2, 1, 1],
            [2, 0, 1, 0, 1],
            "cut",
        ),
        # A steep line is not the greatest any more at the parameter where it expires.
        (
            [1e5, 1e-30, 0, 1e5, 0, 0, 1e-30, 1e5, 0, 1e-30, 1e5, 0, 1e-30, 3e3, 0],
            [0, 2, 1, 0, 1, 1, 0, 0, 2, 2, 0, 0, 0, 1, 0],
            [2, 0, 3, 0, 3, 0],
            "dendrogram_purity",
        ),
        # Near 1 the first metric hardly counts, but its last bits decide.
        (
            [0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1 + 2**-52, 1 + 2**-52, 1, 0, 1 - 2**-53],
            [0, 1e-25, 0, 0, 5e80, 0, 4e133, 1e28, 0, 1e145, 1e-130, 0, 0, 0, 9e-25],
            [0, 2, 0, 0, 0, 0],
            "dendrogram_purity",
        ),
    ],
)
def test_complete_linkage_agrees_with_the_execution_tree(d0, d1, y, loss):
    distances = np.array([d0, d1], dtype=float)
    fast, slow = (
        metric_curve(distances, "complete", make_loss(loss, y), algorithm)
        for algorithm in ("kinetic", "execution_tree")
    )
    np.testing.assert_allclose(fast.breakpoints, slow.breakpoints, atol=1e-12)
    np.testing.assert_array_equal(fast.values, slow.values)
