"""The oracle itself: against scipy, brute force and real small perturbations."""

import random
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from make_data import GENERATORS, TIED, labels, of_points, square
from oracle import (
    breakpoints_and_runs,
    breakpoints_and_runs_metric,
    children,
    crossing,
    curve,
    exact,
    family,
    greedy,
    greedy_metric,
    greedy_weighted,
    is_greedy_run,
    is_mutual_nearest_run,
    line_weights,
    merge_line,
    merged,
    mutual_nearest_pairs,
    mutual_nearest_run,
    order_of,
    singletons,
    tree_of,
)
from scipy.cluster.hierarchy import is_valid_linkage, linkage
from scipy.spatial.distance import squareform

LINKAGES = ("single", "complete", "average")
PAIRS = tuple(product(LINKAGES, repeat=2))
REDUCIBLE = tuple(pair for pair in PAIRS if set(pair) != {"single", "average"})
PARAMETERS = (0, Fraction(1, 3), Fraction(1, 2), Fraction(3, 4), 1)


def instances(names, sizes, repeats, seed):
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        for name in names:
            yield exact(GENERATORS[name](int(rng.choice(sizes)), rng))


# The generators


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_generator_gives_finite_symmetric_dissimilarities(name, n):
    d = GENERATORS[name](n, np.random.default_rng(0))
    assert d.shape == (n, n)
    assert d.dtype == np.float64
    assert np.isfinite(d).all()
    assert (d >= 0).all()
    assert (d == d.T).all()
    assert (np.diag(d) == 0).all()
    np.testing.assert_array_equal(d, GENERATORS[name](n, np.random.default_rng(0)))


@pytest.mark.parametrize("name", TIED)
def test_tied_generator_repeats_values(name):
    d = GENERATORS[name](9, np.random.default_rng(0))
    condensed = squareform(d, checks=False)
    assert len(np.unique(condensed)) < len(condensed)


def test_labels_hold_all_classes():
    assert set(labels(5, np.random.default_rng(0), 3)) == {0, 1, 2}


# One merge function


def test_ward_is_half_the_squared_distance_of_centroids_by_harmonic_mean_of_sizes():
    points = np.array([[0, 0], [2, 0], [1, 5], [3, 7], [5, 6]])
    d = exact(of_points(points, "sqeuclidean"))
    value, _ = merge_value(d, "ward", frozenset({0, 1}), frozenset({2, 3, 4}))
    gap = points[:2].mean(axis=0) - points[2:].mean(axis=0)
    assert float(value) == pytest.approx(2 * 3 / 5 * (gap @ gap))


def merge_value(d, linkage, A, B):
    (value,), pair = merge_line([d], [1], linkage, A, B)
    return value, pair


def test_deciding_pair_is_earliest_of_minimum_latest_of_maximum_first_of_mean():
    d = exact(square(4, [5, 1, 1, 1, 3, 5]))  # 01 02 03 12 13 23
    A, B = frozenset({0, 1}), frozenset({2, 3})
    assert merge_value(d, "single", A, B) == (1, (0, 2))
    assert merge_value(d, "average", A, B) == (Fraction(6, 4), (0, 2))
    d = exact(square(4, [5, 3, 3, 1, 3, 5]))
    assert merge_value(d, "complete", A, B) == (3, (1, 3))
    assert merge_value(d, "single", A, B) == (1, (1, 2))


def test_condensed_and_square_input_agree():
    d = GENERATORS["euclidean"](6, np.random.default_rng(1))
    assert exact(d) == exact(squareform(d)) == exact(exact(d))
    assert exact([]) == exact([[0.0]]) == [[0]]


def test_unknown_linkage_is_an_error():
    with pytest.raises(KeyError):
        greedy(np.zeros((2, 2)), ("single", "median"), 0)


@pytest.mark.parametrize("name", LINKAGES)
@pytest.mark.parametrize("data", ["euclidean", "random_symmetric"])
@pytest.mark.parametrize("t", [0, 1])
def test_end_of_family_is_scipy_linkage_on_data_without_ties(name, data, t):
    rng = np.random.default_rng(2)
    for n in (2, 5, 12):
        d = GENERATORS[data](n, rng)
        other = "complete" if name == "single" else "single"
        run = greedy(d, (other, name) if t else (name, other), t)
        expected = linkage(squareform(d), name)
        assert children(run) == [tuple(row) for row in expected[:, :2].astype(int)]
        heights = [float(height) for *_, height in run]
        np.testing.assert_allclose(heights, expected[:, 2], rtol=1e-12)


def test_children_make_a_valid_linkage_matrix():
    for d in instances(GENERATORS, [2, 5, 7], 1, seed=3):
        run = greedy(d, ("average", "complete"), Fraction(1, 4))
        rows = [
            (*ids, float(height), len(A | B))
            for ids, (A, B, height) in zip(children(run), run, strict=True)
        ]
        assert is_valid_linkage(np.array(rows, dtype=float))


# Weights


@pytest.mark.parametrize("pair", PAIRS)
def test_weights_of_two_functions_are_the_family(pair):
    for d in instances(TIED, [1, 4, 6], 1, seed=4):
        for t in PARAMETERS:
            run = greedy(d, pair, t)
            assert run == greedy_weighted([d], [1], pair, [1 - t, t])
            halves = greedy_weighted([d, d], [0.25, 0.75], pair, [1 - t, t])
            assert halves == run
            doubled = greedy_weighted([d], [2], pair, [1 - t, t])
            assert order_of(doubled) == order_of(run)


def test_function_of_weight_zero_only_breaks_ties():
    # Point 4 is at 3, 7 from the group 01 and at 3, 5 from the group 23.
    d = square(5, [1, 9, 9, 3, 9, 9, 7, 1, 3, 5])
    alone = greedy_weighted([d], [1], ["single"], [1])
    assert alone[2] == (frozenset({0, 1}), frozenset({4}), 3)
    for second in ("complete", "average"):
        run = greedy_weighted([d], [1], ("single", second), (1, 0))
        assert run[2] == (frozenset({2, 3}), frozenset({4}), 3)


def test_ties_look_at_the_last_function_first():
    # Point 5 is at 5, 5, 8 from the group 012 and at 5, 7.5 from the group 34:
    # single ties, the mean prefers the first group, the maximum the second.
    group = np.array([0, 0, 0, 1, 1, 2])
    d = np.where(group[:, None] == group, 1.0, 99.0)
    d[5] = d[:, 5] = [5, 5, 8, 5, 7.5, 0]
    np.fill_diagonal(d, 0)
    for last, joined in (("average", {0, 1, 2}), ("complete", {3, 4})):
        before = "complete" if last == "average" else "average"
        run = greedy_weighted([d], [1], ("single", before, last), (1, 0, 0))
        assert run[3] == (frozenset(joined), frozenset({5}), 5)


def perturbed_run(n, value):
    """Greedy by plain values, which must all differ."""
    clusters, order = singletons(n), []
    while len(clusters) > 1:
        values = {pair: value(*pair) for pair in combinations(clusters, 2)}
        assert len(set(values.values())) == len(values)
        A, B = min(values, key=values.get)
        order.append((A, B))
        clusters = merged(clusters, A, B)
    return order


def lowered(d):
    """The distances, each lowered by far less than the one before it."""
    out = [list(row) for row in d]
    for k, (i, j) in enumerate(combinations(range(len(d)), 2)):
        out[i][j] = out[j][i] = d[i][j] - Fraction(1, 2 ** (400 * (k + 1)))
    return out


def beside(t):
    return t + (-1 if t == 1 else 1) * Fraction(1, 2**200)


@pytest.mark.parametrize("pair", PAIRS)
def test_tie_rule_is_the_limit_of_lowered_distances(pair):
    names = ("small_integers", "two_values", "grid", "collinear", "all_equal")
    for d in instances(names, [3, 5, 6], 3, seed=5):
        moved = lowered(d)
        for t in PARAMETERS:
            w = line_weights(beside(t))

            def value(A, B, moved=moved, w=w):
                values = [merge_value(moved, f, A, B)[0] for f in pair]
                return w[0] * values[0] + w[1] * values[1]

            assert perturbed_run(len(d), value) == order_of(greedy(d, pair, t))


@pytest.mark.parametrize("function", LINKAGES)
def test_tie_rule_of_two_metrics_is_the_limit_of_lowered_distances(function):
    rng = np.random.default_rng(6)
    for _ in range(12):
        n = int(rng.integers(3, 6))
        ds = [exact(GENERATORS["small_integers"](n, rng)) for _ in range(2)]
        for b in PARAMETERS:
            w = line_weights(beside(b))
            mix = lowered(
                [
                    [w[0] * ds[0][i][j] + w[1] * ds[1][i][j] for j in range(n)]
                    for i in range(n)
                ]
            )

            def value(A, B, mix=mix):
                return merge_value(mix, function, A, B)[0]

            expected = order_of(greedy_metric(*ds, function, b))
            assert perturbed_run(n, value) == expected


# Properties of a run


@pytest.mark.parametrize("pair", PAIRS)
def test_greedy_run_has_the_greedy_and_the_mutual_property(pair):
    for d in instances(GENERATORS, [1, 2, 5, 7], 1, seed=7):
        for t in (0, Fraction(2, 5), 1):
            run = greedy(d, pair, t)
            assert is_greedy_run(d, pair, t, run)
            assert is_mutual_nearest_run(d, pair, t, run)


def test_property_checks_reject_wrong_runs():
    d = of_points([[0], [1], [10], [12], [40]])
    pair = ("single", "complete")
    run = greedy(d, pair, 0.5)
    swapped = [run[1], run[0], *run[2:]]
    assert not is_greedy_run(d, pair, 0.5, swapped)
    assert is_mutual_nearest_run(d, pair, 0.5, swapped)
    assert tree_of(swapped) == tree_of(run)
    far = [(frozenset({0}), frozenset({4})), *run[1:]]
    for check in (is_greedy_run, is_mutual_nearest_run):
        assert not check(d, pair, 0.5, far)
        assert not check(d, pair, 0.5, run[:-1])
        assert not check(d, pair, 0.5, [*run, run[-1]])


# The partition of [0, 1]


def assert_partition(pieces, run_at, rng):
    assert pieces[0][0] == 0
    assert pieces[-1][1] == 1
    for (_, end, run), (start, _, following) in pairwise(pieces):
        assert end == start
        assert order_of(run) != order_of(following)
    for start, end, run in pieces:
        assert start < end
        assert run == run_at(start)
        inside = Fraction(int(rng.integers(1, 1000)), 1000)
        for share in (Fraction(1, 2), inside):
            between = start + share * (end - start)
            assert order_of(run_at(between)) == order_of(run)
    assert order_of(run_at(1)) == order_of(pieces[-1][2])


@pytest.mark.parametrize("pair", PAIRS)
def test_every_interval_holds_one_run(pair):
    rng = np.random.default_rng(8)
    for d in instances(GENERATORS, [1, 2, 5, 7, 9], 2, seed=9):
        pieces = breakpoints_and_runs(d, pair)
        assert_partition(pieces, lambda t, d=d: greedy(d, pair, t), rng)


@pytest.mark.parametrize("function", LINKAGES)
def test_every_interval_of_two_metrics_holds_one_run(function):
    rng = np.random.default_rng(10)
    for name in GENERATORS:
        n = int(rng.integers(1, 6))
        names = (name, "small_integers")
        if function == "ward":
            # Other dissimilarities are no squared distances, and Ward's criterion of
            # them is not reducible.
            names = ("grid_squared", "grid_squared")
        ds = [exact(GENERATORS[f](n, rng)) for f in names]
        pieces = breakpoints_and_runs_metric(*ds, function)
        assert_partition(pieces, lambda b, ds=ds: greedy_metric(*ds, function, b), rng)


def all_cluster_pairs(n):
    for sides in product((0, 1, 2), repeat=n):
        A = frozenset(i for i in range(n) if sides[i] == 1)
        B = frozenset(i for i in range(n) if sides[i] == 2)
        if A and B and min(A) < min(B):
            yield A, B


def brute_force_partition(lines, run_at):
    """Try between all crossings of all lines; join what is equal."""
    crossings = {crossing(p, q) for p, q in combinations(set(lines), 2)}
    cuts = sorted({c for c in crossings if c is not None and 0 < c < 1} | {0, 1})
    pieces = []
    for start, end in pairwise(cuts):
        order = order_of(run_at((start + end) / 2))
        if pieces and pieces[-1][2] == order:
            start, _, _ = pieces.pop()
        pieces.append((start, end, order))
    return pieces


@pytest.mark.parametrize("pair", PAIRS)
def test_partition_is_that_of_all_crossings(pair):
    names = ("euclidean", "random_symmetric", "small_integers", "almost_parallel")
    for d in instances(names, [4, 5], 2, seed=11):
        measure = family([d], [1], pair)
        lines = [measure(A, B)[0] for A, B in all_cluster_pairs(len(d))]
        expected = brute_force_partition(lines, lambda t, d=d: greedy(d, pair, t))
        found = breakpoints_and_runs(d, pair)
        assert [(s, e, order_of(run)) for s, e, run in found] == expected


@pytest.mark.parametrize("function", LINKAGES)
def test_partition_of_two_metrics_is_that_of_all_crossings(function):
    rng = np.random.default_rng(12)
    for name in ("random_symmetric", "small_integers", "grid"):
        ds = [exact(GENERATORS[name](4, rng)) for _ in range(2)]
        lines = [
            tuple(merge_value(d, function, A, B)[0] for d in ds)
            for A, B in all_cluster_pairs(4)
            if function == "average" or len(A | B) == 2
        ]
        expected = brute_force_partition(
            lines, lambda b, ds=ds: greedy_metric(*ds, function, b)
        )
        found = breakpoints_and_runs_metric(*ds, function)
        assert [(s, e, order_of(run)) for s, e, run in found] == expected


def test_curve_joins_neighbours_of_equal_loss():
    d = GENERATORS["random_symmetric"](10, np.random.default_rng(13))
    pair = ("single", "complete")
    pieces = breakpoints_and_runs(d, pair)
    assert len(pieces) > 5
    assert curve(d, pair, lambda run: Fraction(1, 2)) == ([0, 1], [Fraction(1, 2)])
    numbers = {}
    breakpoints, values = curve(
        d, pair, lambda run: numbers.setdefault(tree_of(run), len(numbers))
    )
    assert len(breakpoints) == len(values) + 1 <= len(pieces) + 1
    assert all(a != b for a, b in pairwise(values))
    for start, end, run in pieces:
        middle = (start + end) / 2
        (value,) = [
            v
            for v, (low, high) in zip(values, pairwise(breakpoints), strict=True)
            if low < middle < high
        ]
        assert value == numbers[tree_of(run)]


# Order of merges


@pytest.mark.parametrize("pair", REDUCIBLE)
def test_any_mutual_order_gives_the_greedy_tree_of_a_reducible_pair(pair):
    choice = random.Random(14).choice
    for d in instances(GENERATORS, range(3, 9), 2, seed=15):
        for t in (0, Fraction(1, 2), Fraction(choice(range(13)), 12), 1):
            run = mutual_nearest_run(d, pair, t, choice)
            assert is_mutual_nearest_run(d, pair, t, run)
            assert tree_of(run) == tree_of(greedy(d, pair, t))


def trees_of_all_mutual_orders(clusters, measure, weights):
    if len(clusters) == 1:
        return {frozenset()}
    return {
        tree | {A | B}
        for A, B in mutual_nearest_pairs(clusters, measure, weights)
        for tree in trees_of_all_mutual_orders(merged(clusters, A, B), measure, weights)
    }


@pytest.mark.parametrize("pair", REDUCIBLE)
def test_all_mutual_orders_give_one_tree_on_all_matrices_of_two_values(pair):
    for values in product((1.0, 2.0), repeat=6):
        measure = family([exact(values)], [1], pair)
        for t in PARAMETERS:
            trees = trees_of_all_mutual_orders(singletons(4), measure, line_weights(t))
            assert trees == {tree_of(greedy(values, pair, t))}


@pytest.mark.parametrize("pair", REDUCIBLE)
def test_heights_of_a_reducible_pair_never_fall(pair):
    for d in instances(GENERATORS, range(3, 8), 2, seed=16):
        heights = [h for *_, h in greedy(d, pair, Fraction(1, 3))]
        assert heights == sorted(heights)


@pytest.mark.parametrize("function", [*LINKAGES, "ward"])
def test_any_mutual_order_gives_the_greedy_tree_of_two_metrics(function):
    rng, choice = np.random.default_rng(17), random.Random(18).choice
    for name in 3 * tuple(GENERATORS):
        n = int(rng.integers(3, 8))
        names = (name, "small_integers")
        if function == "ward":
            # Other dissimilarities are no squared distances, and Ward's criterion of
            # them is not reducible.
            names = ("grid_squared", "grid_squared")
        ds = [exact(GENERATORS[f](n, rng)) for f in names]
        for b in PARAMETERS:
            weights = line_weights(b)
            measure, clusters = family(ds, weights, [function]), singletons(n)
            run = []
            while len(clusters) > 1:
                run.append(choice(mutual_nearest_pairs(clusters, measure, weights)))
                clusters = merged(clusters, *run[-1])
            assert tree_of(run) == tree_of(greedy_metric(*ds, function, b))


@pytest.mark.parametrize("pair", [("single", "average"), ("average", "single")])
def test_single_with_average_has_an_inversion_in_the_plane(pair):
    d = of_points([[2, 0], [7, 0], [5, 3], [2, 5]])
    heights = [h for *_, h in greedy(d, pair, Fraction(1, 2))]
    assert heights[2] < heights[1]


@pytest.mark.parametrize("pair", [("single", "average"), ("average", "single")])
def test_tree_of_single_with_average_depends_on_the_order_in_the_plane(pair):
    d = of_points([[5, 0], [1, 2], [0, 7], [3, 4], [7, 3]])
    run = greedy(d, pair, Fraction(1, 2))
    other = mutual_nearest_run(d, pair, Fraction(1, 2), lambda pairs: pairs[-1])
    assert is_mutual_nearest_run(d, pair, Fraction(1, 2), other)
    assert tree_of(other) != tree_of(run)


@pytest.mark.parametrize("pair", [("single", "average"), ("average", "single")])
@pytest.mark.parametrize("t", [0, 1])
def test_order_matters_on_ties_even_if_single_or_average_has_no_weight(pair, t):
    # The function of weight zero breaks ties, and the two together are not reducible.
    d = exact(square(6, [2, 2, 2, 1, 3, 1, 1, 1, 3, 3, 3, 2, 2, 2, 1]))
    trees = trees_of_all_mutual_orders(
        singletons(6), family([d], [1], pair), line_weights(t)
    )
    assert tree_of(greedy(d, pair, t)) in trees
    assert len(trees) > 1
