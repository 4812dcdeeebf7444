"""All engines and the fixed-weight run against the exact oracle."""

from bisect import bisect_right
from fractions import Fraction
from itertools import combinations, pairwise, permutations, product

import numpy as np
import oracle
import oracle_losses
import pytest
from make_data import GENERATORS, labels
from scipy.cluster.hierarchy import is_valid_linkage, linkage
from scipy.spatial.distance import pdist, squareform

from sklearn_linkage_learn._core.pruning import evaluate_linkage
from sklearn_linkage_learn._families import (
    MIXABLE,
    choose_algorithm,
    is_reducible,
    merge_curve,
    mixed_linkage,
)
from sklearn_linkage_learn.losses import LOSSES, make_loss

PAIRS = list(permutations(MIXABLE, 2))
NOT_REDUCIBLE = [("single", "average"), ("average", "single")]
ENGINES = list(product(("execution_tree", "kinetic"), PAIRS))
# Breakpoints are promised to this accuracy.
SAME = Fraction(1, 10**12)


def condensed(square):
    return squareform(square, checks=False).astype(float)


def weights(t):
    """(1 - t, t) as exact sums of two floats."""
    rest = 1 - t
    return [(rest, float(1 - Fraction(t) - Fraction(rest))), (t, 0.0)]


def merges_of(Z):
    """A linkage matrix as the oracle's merges."""
    clusters = oracle.singletons(len(Z) + 1)
    merges = []
    for left, right, height, _ in Z:
        A, B = sorted((clusters[int(left)], clusters[int(right)]), key=min)
        merges.append((A, B, height))
        clusters.append(A | B)
    return merges


def trees_along(d, linkages, algorithm):
    """Start and tree of every piece, by an engine."""
    seen = []

    def count(Z, labels):
        seen.append(oracle.tree_of(merges_of(Z)))
        return float(len(seen))

    curve = merge_curve(d, linkages, make_loss(count, ["a"] * n_of(d)), algorithm)
    return curve.breakpoints[:-1], [seen[int(value) - 1] for value in curve.values]


def n_of(d):
    return len(squareform(d)) if len(d) else 1


def assert_same_curve(starts, values, true_starts, true_values):
    """Equal wherever no breakpoint is nearer than the promised accuracy."""
    starts = [Fraction(t) for t in starts]
    ends = sorted({*starts, *true_starts, Fraction(1)})
    for start, end in pairwise(ends):
        if end - start > SAME:
            middle = (start + end) / 2
            value = values[bisect_right(starts, middle) - 1]
            true_value = true_values[bisect_right(true_starts, middle) - 1]
            assert value == true_value, float(middle)


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("algorithm, linkages", ENGINES)
def test_trees_and_breakpoints_equal_those_of_the_oracle(name, algorithm, linkages):
    rng = np.random.default_rng(sum(map(ord, name)))
    for n in (2, 3, 5, 7, 9):
        square = GENERATORS[name](n, rng)
        pieces = oracle.breakpoints_and_runs(square, linkages)
        assert_same_curve(
            *trees_along(condensed(square), linkages, algorithm),
            [start for start, _, _ in pieces],
            [oracle.tree_of(run) for _, _, run in pieces],
        )


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("algorithm, linkages", ENGINES)
def test_losses_equal_those_of_the_oracle_on_every_piece(loss, algorithm, linkages):
    true_loss = oracle_losses.LOSSES[loss]
    rng = np.random.default_rng(1)
    for name in ("euclidean", "small_integers", "grid", "duplicated_points"):
        for n, n_classes in ((4, 2), (7, 3), (9, 4)):
            square = GENERATORS[name](n, rng)
            y = list(labels(n, rng, n_classes))
            curve = merge_curve(
                condensed(square), linkages, make_loss(loss, y), algorithm
            )
            starts, values = oracle.curve(
                square,
                linkages,
                lambda run, y=y: float(true_loss(oracle.children(run), y)),
            )
            assert curve.is_exact
            assert_same_curve(
                curve.breakpoints[:-1],
                np.round(curve.values, 14),
                starts[:-1],
                np.round(values, 14),
            )


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("linkages", [*PAIRS, *((name, name) for name in MIXABLE)])
def test_fixed_run_is_the_greedy_run_merge_by_merge(name, linkages):
    rng = np.random.default_rng(2)
    for n, t in product((2, 4, 8), (0.0, 0.25, 0.5, rng.uniform(), 1.0)):
        square = GENERATORS[name](n, rng)
        Z = mixed_linkage([condensed(square)], linkages, weights(t))
        assert oracle.is_greedy_run(square, linkages, t, merges_of(Z))


@pytest.mark.parametrize("name", ["euclidean", "grid", "two_values", "last_bit"])
@pytest.mark.parametrize("linkages", [*combinations(MIXABLE, 2), ("complete",)])
def test_fixed_runs_of_more_points_are_those_of_the_oracle(name, linkages):
    rng = np.random.default_rng(11)
    metrics = [GENERATORS[name](45, rng), GENERATORS["grid"](45, rng)]
    alpha = [3, 1][: len(linkages)]
    for n_metrics, beta in ((1, [1]), (2, [1, 2])):
        run = oracle.greedy_weighted(metrics[:n_metrics], beta, linkages, alpha)
        distances = [condensed(d) for d in metrics[:n_metrics]]
        Z = mixed_linkage(distances, linkages, alpha, beta)
        assert oracle.order_of(merges_of(Z)) == oracle.order_of(run)


@pytest.mark.parametrize("algorithm, linkages", ENGINES)
def test_every_tree_is_a_greedy_run_at_the_middle_of_its_piece(algorithm, linkages):
    rng = np.random.default_rng(3)
    for name in ("euclidean", "grid", "duplicated_points", "last_bit"):
        square = GENERATORS[name](8, rng)
        starts, trees = trees_along(condensed(square), linkages, algorithm)
        ends = [*starts[1:], 1.0]
        for start, end, tree in zip(starts, ends, trees, strict=True):
            if end - start > 2e-12:
                t = (start + end) / 2
                Z = mixed_linkage([condensed(square)], linkages, weights(t))
                assert oracle.is_greedy_run(square, linkages, t, merges_of(Z))
                assert oracle.tree_of(merges_of(Z)) == tree


@pytest.mark.parametrize("name", ["euclidean", "grid", "duplicated_points", "last_bit"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("linkages", PAIRS)
def test_curve_equals_loss_of_a_run_at_every_midpoint(name, loss, linkages):
    rng = np.random.default_rng(4)
    d = condensed(GENERATORS[name](60, rng))
    kernel = make_loss(loss, labels(60, rng, 4))
    curve = merge_curve(d, linkages, kernel, "kinetic")
    for t in (curve.breakpoints[1:] + curve.breakpoints[:-1]) / 2:
        Z = mixed_linkage([d], linkages, weights(t))
        assert curve(t) == loss_of_run(kernel, Z)
    for t in (0.0, 1.0):
        Z = mixed_linkage([d], linkages, weights(t))
        assert curve(t) == loss_of_run(kernel, Z)


@pytest.mark.parametrize("linkages", PAIRS)
def test_curve_equals_loss_of_a_run_after_many_repairs(linkages):
    rng = np.random.default_rng(11)
    d = pdist(rng.normal(size=(200, 8)))
    kernel = make_loss("dendrogram_purity", rng.integers(0, 5, size=200))
    curve = merge_curve(d, linkages, kernel)
    assert curve.n_pieces > 50
    for t in (curve.breakpoints[1:] + curve.breakpoints[:-1]) / 2:
        assert curve(t) == loss_of_run(kernel, mixed_linkage([d], linkages, weights(t)))


def loss_of_run(kernel, Z):
    children = np.ascontiguousarray(Z[:, :2], dtype=np.intc)
    return evaluate_linkage(kernel, children, np.ascontiguousarray(Z[:, 2]))[1]


@pytest.mark.parametrize("linkages", PAIRS)
def test_both_engines_agree_on_larger_instances(linkages):
    rng = np.random.default_rng(5)
    for points in (rng.normal(size=(40, 2)), rng.integers(0, 5, size=(40, 2))):
        y = rng.integers(0, 3, size=40)
        curves = [
            merge_curve(pdist(points), linkages, make_loss("cut", y), algorithm)
            for algorithm in ("kinetic", "execution_tree")
        ]
        assert curves[0] == curves[1]


@pytest.mark.parametrize("algorithm, linkages", ENGINES)
@pytest.mark.parametrize("loss", LOSSES)
def test_smallest_instances_have_a_curve(algorithm, linkages, loss):
    for d, y in (
        ([], [0]),
        ([1.0], [0, 0]),
        ([1.0], [0, 1]),
        ([0.0], [0, 1]),
        ([2.0, 2.0, 2.0], ["a", "b", "c"]),
        ([0.0] * 15, [0, 1, 0, 1, 0, 1]),
    ):
        curve = merge_curve(np.array(d), linkages, make_loss(loss, y), algorithm)
        assert 0 <= curve.values.min() <= curve.values.max() <= 1
        if len(set(y)) in (1, len(y)) and loss != "ari":
            assert curve.n_pieces == 1
            assert curve(0.5) == 0


@pytest.mark.parametrize("method", ["single", "complete", "average", "weighted"])
def test_pure_weights_give_scipys_tree_and_heights(method):
    points = np.random.default_rng(6).normal(size=(50, 3))
    Z = mixed_linkage([pdist(points)], (method,), (1.0,))
    np.testing.assert_allclose(Z, linkage(pdist(points), method), rtol=1e-12)


def test_ward_alone_gives_scipys_tree_and_heights():
    points = np.random.default_rng(7).normal(size=(50, 3))
    Z = mixed_linkage([pdist(points)], ("ward",), (1.0,))
    np.testing.assert_allclose(Z, linkage(points, "ward"), rtol=1e-10)


def test_several_metrics_and_merge_functions_match_the_oracle():
    rng = np.random.default_rng(8)
    for linkages in (("single", "complete"), ("average", "complete"), MIXABLE):
        for n in (3, 6, 8):
            metrics = [
                GENERATORS[name](n, rng) for name in ("euclidean", "grid", "last_bit")
            ]
            alpha, beta = rng.uniform(size=len(linkages)), rng.integers(0, 3, size=3)
            beta[0] = 1
            Z = mixed_linkage([condensed(d) for d in metrics], linkages, alpha, beta)
            run = oracle.greedy_weighted(
                metrics, beta.tolist(), linkages, alpha.tolist()
            )
            assert oracle.order_of(merges_of(Z)) == oracle.order_of(run)


def test_single_average_has_inversions_and_keeps_the_merge_order():
    points = [(2, 0), (7, 0), (5, 3), (2, 5)]
    Z = mixed_linkage([pdist(points)], ("single", "average"), (0.5, 0.5))
    assert np.any(np.diff(Z[:, 2]) < 0)
    assert is_valid_linkage(Z)


def test_only_single_with_average_is_not_reducible():
    for linkages in PAIRS:
        assert is_reducible(linkages) == (linkages not in NOT_REDUCIBLE)


def test_kinetic_engine_is_the_default():
    assert choose_algorithm("auto") == choose_algorithm("kinetic") == "kinetic"
    assert choose_algorithm("execution_tree") == "execution_tree"


@pytest.mark.parametrize("linkages", NOT_REDUCIBLE)
@pytest.mark.parametrize("name", GENERATORS)
def test_greedy_run_is_followed_to_the_last_bit(name, linkages):
    rng = np.random.default_rng(11)
    for n in (*range(2, 13), 20, 30):
        d = condensed(GENERATORS[name](n, rng))
        for loss, n_classes in product(LOSSES, (1, 2, 4)):
            kernel = make_loss(loss, labels(n, rng, n_classes))
            assert merge_curve(d, linkages, kernel, "kinetic") == merge_curve(
                d, linkages, kernel, "execution_tree"
            )


def test_greedy_run_changes_at_two_neighbouring_floats():
    # Two merges cross a pair at parameters that round to 1 - 2**-48 and the next one.
    whole = "1111111121111122212121122222121122221212121211211221222"
    rest = "2416737427570026646602105660577376147353715006764655000"
    d = np.array([int(a) + int(b) * 2.0**-50 for a, b in zip(whole, rest, strict=True)])
    kernel = make_loss("dendrogram_purity", [0, 0, 1, 1, 1, 2, 0, 2, 1, 0, 2])
    curve = merge_curve(d, ("average", "single"), kernel, "kinetic")
    assert np.diff(curve.breakpoints).min() == 2.0**-53
    assert curve == merge_curve(d, ("average", "single"), kernel, "execution_tree")


def test_a_weighted_mean_rounded_down_does_not_come_before_its_parts():
    # The second merge rounds to the height of the first, and has an earlier pair.
    d = np.array([np.nextafter(1, 2), 1.0, 1.0])
    Z = mixed_linkage([d], ("weighted",), (1.0,))
    np.testing.assert_array_equal(Z, [[0, 2, 1, 2], [1, 3, 1, 3]])


def test_distances_beyond_exact_arithmetic_are_refused():
    with pytest.raises(ValueError, match="span"):
        mixed_linkage([np.array([1e-300, 1e300, 1.0])], ("single",), (1.0,))
    with pytest.raises(ValueError, match="span"):
        mixed_linkage([np.array([1e-160, 1.0, 1.0])], ("ward",), (1.0,))


@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**1000])
def test_squares_of_extreme_distances_are_not_lost(unit):
    d = pdist(np.random.default_rng(12).normal(size=(30, 3)))
    Z = mixed_linkage([d], ("ward",), (1.0,))
    extreme = mixed_linkage([unit * d], ("ward",), (1.0,))
    np.testing.assert_array_equal(extreme[:, [0, 1, 3]], Z[:, [0, 1, 3]])
    np.testing.assert_array_equal(extreme[:, 2], unit * Z[:, 2])


def test_an_error_in_a_callable_loss_ends_the_sweep():
    d = pdist(np.random.default_rng(9).normal(size=(30, 2)))
    calls = []

    def loss(Z, labels):
        calls.append(Z)
        if len(calls) == 3:
            raise LookupError("enough")
        return 0.0

    pairs = ("single", "complete"), ("single", "average")
    for algorithm, linkages in product(("kinetic", "execution_tree"), pairs):
        calls.clear()
        kernel = make_loss(loss, [0] * 30)
        with pytest.raises(LookupError, match="enough"):
            merge_curve(d, linkages, kernel, algorithm)
        assert len(calls) == 3


@pytest.mark.parametrize("linkages", PAIRS)
def test_a_tree_holds_every_cluster_once(linkages):
    d = pdist(np.random.default_rng(10).integers(0, 4, size=(30, 2)))
    _, trees = trees_along(d, linkages, "kinetic")
    for tree in trees:
        assert len(tree) == 29
        for A, B in combinations(tree, 2):
            assert A <= B or B <= A or not A & B
