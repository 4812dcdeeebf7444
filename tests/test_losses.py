"""Losses against enumeration, on random trees."""

import warnings

import numpy as np
import oracle_losses as oracle
import pytest
from scipy.cluster.hierarchy import linkage
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score

from sklearn_linkage_learn import losses
from sklearn_linkage_learn._core import bounds, pruning
from sklearn_linkage_learn.losses import LOSSES, UncertifiedLossWarning, make_loss

ORACLES = {
    "hamming": oracle.hamming,
    "majority": oracle.majority,
    "cut": oracle.cut,
    "ari": oracle.ari,
    "dendrogram_purity": lambda m, y: 1 - oracle.dendrogram_purity(m, y),
}
SHAPES = ["random", "caterpillar", "balanced"]
NAMES = sorted(LOSSES)


def random_merges(n, shape, rng):
    """Merges of a random tree; a caterpillar adds one leaf after the other."""
    alive = list(rng.permutation(n))
    merges = []
    for i in range(n - 1):
        if shape == "random":
            rng.shuffle(alive)
        one, other = alive.pop(0), alive.pop(0)
        alive.insert(0 if shape == "caterpillar" else len(alive), n + i)
        merges.append((int(one), int(other)))
    return merges


def random_labels(n, k, rng):
    """Labels 0..k-1, each used."""
    return rng.permutation(np.concatenate([np.arange(k), rng.integers(k, size=n - k)]))


def as_linkage(merges):
    """Linkage matrix with heights that fall: none of the losses may read them."""
    n = len(merges) + 1
    sizes = [len(oracle.leaves(merges, n + i)) for i in range(n - 1)]
    return np.column_stack(
        [np.reshape(merges, (-1, 2)), np.arange(n - 1, 0, -1.0), sizes]
    )


def small_cases(most_points, n_cases, seed):
    rng = np.random.default_rng(seed)
    for case in range(n_cases):
        n = int(rng.integers(1, most_points + 1))
        k = int(rng.integers(1, min(n, 5) + 1))
        yield random_merges(n, SHAPES[case % 3], rng), random_labels(n, k, rng).tolist()


def evaluate(kernel, merges, nodes=None, changed=None):
    children = np.array(merges, dtype=np.intc).reshape(-1, 2)
    heights = np.zeros(len(children))
    return pruning.evaluate_linkage(kernel, children, heights, nodes, changed)


@pytest.mark.parametrize("name", NAMES)
def test_loss_equals_enumeration_on_small_trees(name):
    for merges, labels in small_cases(10, 400, seed=0):
        expected = float(ORACLES[name](merges, labels))
        assert LOSSES[name](as_linkage(merges), labels) == pytest.approx(
            expected, rel=0, abs=1e-15
        )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["hamming", "majority", "cut"])
def test_loss_equals_enumeration_when_most_points_have_an_own_label(name, shape):
    rng = np.random.default_rng(1)
    for n in range(1, 8):
        for k in range(max(1, n - 2), n + 1):
            merges = random_merges(n, shape, rng)
            labels = random_labels(n, k, rng).tolist()
            assert LOSSES[name](as_linkage(merges), labels) == float(
                ORACLES[name](merges, labels)
            )


@pytest.mark.parametrize("name", NAMES)
def test_one_class_and_one_point_have_no_loss(name):
    rng = np.random.default_rng(2)
    assert LOSSES[name](np.empty((0, 4)), ["a"]) == 0.0
    assert LOSSES[name](as_linkage(random_merges(7, "random", rng)), [3] * 7) == 0.0


def test_all_points_with_an_own_label_have_no_loss():
    Z = as_linkage(random_merges(8, "random", np.random.default_rng(3)))
    assert [LOSSES[name](Z, np.arange(8)) for name in NAMES] == [0.0] * len(NAMES)


def test_hamming_needs_exactly_k_subtrees():
    # Three labels split one of the two pairs in ((0 1) (2 3)), and the other pair can
    # match one of its points only.
    Z = as_linkage([(0, 1), (2, 3), (4, 5)])
    assert losses.hamming_loss(Z, [0, 0, 1, 1]) == 0.0
    assert losses.hamming_loss(Z, [0, 0, 1, 2]) == 0.0
    assert losses.hamming_loss(Z, [0, 1, 0, 2]) == 0.25


def test_losses_keep_their_order_on_larger_trees():
    rng = np.random.default_rng(4)
    for _ in range(30):
        n, k = int(rng.integers(20, 80)), int(rng.integers(2, 12))
        Z = as_linkage(random_merges(n, "random", rng))
        labels = random_labels(n, k, rng)
        majority, hamming, cut = (
            LOSSES[name](Z, labels) for name in ("majority", "hamming", "cut")
        )
        assert majority <= hamming <= cut


def test_cut_undoes_the_last_rows_whatever_their_height():
    Z = np.array([[0, 1, 3.0, 2], [2, 3, 2.0, 2], [4, 5, 1.0, 4]])
    assert losses.cut_loss(Z, [0, 0, 1, 1]) == 0.0
    assert losses.cut_loss(Z, [0, 1, 0, 1]) == 0.5


def test_ari_equals_scikit_learn_to_the_last_bit():
    rng = np.random.default_rng(5)
    for _ in range(50):
        n = int(rng.integers(2, 120))
        merges = random_merges(n, "random", rng)
        labels = random_labels(n, int(rng.integers(1, min(n, 15) + 1)), rng)
        predicted = oracle.flat_labels(merges, labels.tolist())
        expected = 1.0 - adjusted_rand_score(labels, predicted)
        assert losses.ari_loss(as_linkage(merges), labels) == expected


def test_purity_does_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(6)
    for _ in range(30):
        n = 60
        merges = random_merges(n, "random", rng)
        labels = random_labels(n, 7, rng)
        assert losses.dendrogram_purity_loss(
            as_linkage(reordered(merges, topological_order(merges, rng))), labels
        ) == losses.dendrogram_purity_loss(as_linkage(merges), labels)


def topological_order(merges, rng):
    """Another order in which the merges of a tree can happen."""
    n = len(merges) + 1
    made, waiting, order = set(range(n)), list(range(n - 1)), []
    while waiting:
        i = int(rng.choice([i for i in waiting if made.issuperset(merges[i])]))
        waiting.remove(i)
        made.add(n + i)
        order.append(i)
    return order


def reordered(merges, order):
    """The same tree with its merges in that order, and nodes named after it."""
    n = len(merges) + 1
    name = {leaf: leaf for leaf in range(n)} | {
        n + i: n + j for j, i in enumerate(order)
    }
    return [tuple(name[child] for child in merges[i]) for i in order]


@pytest.mark.parametrize("name", NAMES)
def test_labels_can_be_of_any_kind(name):
    rng = np.random.default_rng(7)
    Z = as_linkage(random_merges(12, "random", rng))
    codes = random_labels(12, 3, rng)
    expected = LOSSES[name](Z, codes)
    assert LOSSES[name](Z, np.array(["b", "c", "a"])[codes]) == expected
    assert LOSSES[name](Z, np.array([7.5, -2.5, 0.0])[codes]) == expected
    assert LOSSES[name](Z.tolist(), (codes + 100).tolist()) == expected


def exchange(merges, rng):
    """Exchange two nodes of which none is above the other; rows keep their order."""
    n = len(merges) + 1
    while True:
        one, other = sorted(rng.choice(2 * n - 2, size=2, replace=False).tolist())
        new = [
            tuple({one: other, other: one}.get(child, child) for child in row)
            for row in merges
        ]
        if all(max(row) < n + i for i, row in enumerate(new)):
            return new


def changed_rows(old, new):
    """Rows with another child, or with a child that has other leaves now."""
    n = len(old) + 1
    return [
        i
        for i in range(n - 1)
        if old[i] != new[i]
        or any(
            sorted(oracle.leaves(old, child)) != sorted(oracle.leaves(new, child))
            for child in new[i]
        )
    ]


@pytest.mark.parametrize(("n", "k"), [(6, 2), (12, 3), (30, 5), (40, 9)])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", NAMES)
def test_reused_loss_equals_a_fresh_one_after_every_change(name, shape, n, k):
    rng = np.random.default_rng(8)
    labels = random_labels(n, k, rng)
    merges = random_merges(n, shape, rng)
    kernel = make_loss(name, labels)
    assert evaluate(kernel, merges) == evaluate(make_loss(name, labels), merges)
    values = set()
    for _ in range(40):
        new = exchange(merges, rng)
        value = evaluate(kernel, new, changed=changed_rows(merges, new))
        assert value == evaluate(make_loss(name, labels), new)
        values.add(value)
        merges = new
    assert len(values) > 1


@pytest.mark.parametrize("name", NAMES)
def test_reused_loss_sees_a_tree_made_of_new_nodes_only(name):
    kernel = make_loss(name, [0, 0, 1, 1])
    evaluate(kernel, [(0, 1), (2, 3), (4, 5)])
    new = evaluate(kernel, [(0, 2), (1, 3), (7, 8)], nodes=[7, 8, 9])
    assert new == evaluate(make_loss(name, [0, 0, 1, 1]), [(0, 2), (1, 3), (4, 5)])
    assert new[1] > 0


@pytest.mark.parametrize("name", NAMES)
def test_reused_loss_follows_the_cut_when_only_the_order_changes(name):
    rng = np.random.default_rng(14)
    n = 20
    merges, labels = random_merges(n, "random", rng), random_labels(n, 6, rng)
    kernel = make_loss(name, labels)
    evaluate(kernel, merges)
    values = set()
    for _ in range(40):
        order = topological_order(merges, rng)
        rows, nodes = [merges[i] for i in order], [n + i for i in order]
        value = evaluate(kernel, rows, nodes, changed=())
        assert value == evaluate(make_loss(name, labels), reordered(merges, order))
        values.add(value)
    assert (len(values) > 1) == (name in ("ari", "cut"))


def forced(labels, n_labels, width=50):
    """The certified path alone, without the full subset programme behind it."""
    kernel = bounds.BoundedHammingLoss(labels.astype(np.intc), n_labels)
    kernel.most_exact = 0
    kernel.width = width
    return kernel


@pytest.mark.parametrize("shape", SHAPES)
def test_certified_hamming_equals_the_subset_programme(shape):
    rng = np.random.default_rng(9)
    for _ in range(150):
        n = int(rng.integers(2, 50))
        k = int(rng.integers(1, min(n, 9) + 1))
        merges, labels = random_merges(n, shape, rng), random_labels(n, k, rng)
        exact = evaluate(pruning.HammingLoss(labels.astype(np.intc), k), merges)
        assert evaluate(forced(labels, k), merges) == exact


def test_interval_holds_the_loss_even_with_hardly_any_effort():
    rng = np.random.default_rng(10)
    n_open = 0
    for case in range(300):
        n, k = int(rng.integers(10, 60)), int(rng.integers(6, 10))
        merges = random_merges(n, SHAPES[case % 3], rng)
        labels = random_labels(n, k, rng)
        exact = evaluate(pruning.HammingLoss(labels.astype(np.intc), k), merges)[1]
        kernel = forced(labels, k, width=1 + case % 3)
        kernel.most_steps = 1 + case % 5
        if case % 2:
            kernel.most_pairs = case
        lower, upper = evaluate(kernel, merges)
        assert lower <= exact <= upper
        n_open += lower < upper
    assert n_open > 20


def test_full_programme_settles_what_the_bounds_leave_open():
    rng = np.random.default_rng(11)
    for _ in range(20):
        merges, labels = random_merges(40, "random", rng), random_labels(40, 8, rng)
        kernel = bounds.BoundedHammingLoss(labels.astype(np.intc), 8)
        kernel.most_steps, kernel.most_pairs = 1, 0
        lower, upper = evaluate(kernel, merges)
        assert lower == upper
        assert (
            upper == evaluate(pruning.HammingLoss(labels.astype(np.intc), 8), merges)[1]
        )


@pytest.mark.parametrize("method", ["single", "average", "complete", "ward"])
@pytest.mark.parametrize("spread", [1.0, 4.0, 8.0])
def test_twenty_overlapping_classes_are_certified(method, spread):
    X, y = make_blobs(400, 5, centers=20, cluster_std=spread, random_state=0)
    lower, upper = losses.hamming_loss(linkage(X, method), y, return_interval=True)
    assert lower == upper


@pytest.mark.parametrize("k", [20, 35, 50])
def test_interval_of_many_classes_lies_between_majority_and_any_pruning(k):
    X, y = make_blobs(10 * k, 4, centers=k, cluster_std=5.0, random_state=k)
    for method in ("single", "complete", "ward"):
        Z = linkage(X, method)
        lower, upper = losses.hamming_loss(Z, y, return_interval=True)
        assert losses.majority_loss(Z, y) <= lower <= upper <= losses.cut_loss(Z, y)
        kernel = forced(y, k)
        kernel.most_steps = 3
        rough = evaluate(kernel, Z[:, :2].astype(int).tolist())
        # Both intervals hold the loss, whichever of them is the narrower one.
        assert max(rough[0], lower) <= min(rough[1], upper)


def test_known_optimum_of_fifty_planted_classes_is_found():
    # Each class is a subtree, one point of it strayed into the next class: every
    # bijection but the planted one loses more, so the loss is one point a class.
    k, size = 50, 6
    X = 100.0 * np.repeat(np.arange(k), size)[:, None] ** 1.5
    X = X + np.tile(np.arange(size), k)[:, None]
    labels = np.repeat(np.arange(k), size)
    labels[::size] = (labels[::size] + 1) % k
    Z = linkage(X, "average")
    assert losses.hamming_loss(Z, labels) == 1 / size


def test_known_optimum_of_thousands_of_classes_is_found():
    # Every class is a pair of points, but a point each of three pairs change places.
    k, rng = 2150, np.random.default_rng(9)
    pairs = np.arange(2 * k).reshape(k, 2)
    labels = np.repeat(np.arange(k, dtype=np.intc), 2)
    labels[[0, 1000, 4000]] = labels[[1000, 4000, 0]]
    merges = [*pairs, *(np.array(random_merges(k, "balanced", rng)) + 2 * k)]
    assert evaluate(make_loss("hamming", labels), merges) == (3 / (2 * k),) * 2


def test_digits_are_certified_and_no_worse_than_the_cut():
    X, y = load_digits(return_X_y=True)
    for method in ("average", "ward"):
        Z = linkage(X[:300], method)
        lower, upper = losses.hamming_loss(Z, y[:300], return_interval=True)
        assert lower == upper <= losses.cut_loss(Z, y[:300])


def test_uncertified_loss_warns_and_returns_the_upper_end(monkeypatch):
    def interval(loss, Z, labels):
        return 0.25, 0.5

    monkeypatch.setattr(losses, "_interval", interval)
    with pytest.warns(UncertifiedLossWarning, match=r"between 0\.25 and 0\.5"):
        assert losses.hamming_loss(None, None) == 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert losses.hamming_loss(None, None, return_interval=True) == (0.25, 0.5)


def test_callable_loss_gets_the_linkage_matrix_and_the_labels_as_given():
    rng = np.random.default_rng(12)
    Z = linkage(rng.normal(size=(9, 2)), "average")
    labels = np.array(list("abcabcabc"))
    seen = []

    def height_of_root(Z, labels):
        seen.append((Z, labels))
        return Z[-1, 2]

    kernel = make_loss(height_of_root, labels)
    value = pruning.evaluate_linkage(kernel, Z[:, :2].astype(np.intc), Z[:, 2].copy())
    assert kernel.uses_heights
    assert value == (Z[-1, 2], Z[-1, 2])
    np.testing.assert_array_equal(seen[0][0], Z)
    np.testing.assert_array_equal(seen[0][1], labels)


def test_callable_loss_is_asked_again_when_only_heights_change():
    kernel = make_loss(lambda Z, labels: Z[0, 2], [0, 1])
    children = np.array([[0, 1]], dtype=np.intc)
    assert pruning.evaluate_linkage(kernel, children, np.array([1.0]))[1] == 1.0
    assert (
        pruning.evaluate_linkage(kernel, children, np.array([2.0]), changed=())[1]
        == 2.0
    )


def test_error_of_a_callable_loss_reaches_the_caller_and_does_not_stick():
    fails = [True]

    def fragile(Z, labels):
        if fails[0]:
            raise KeyError("mine")
        return 0.5

    kernel = make_loss(fragile, [0, 1])
    with pytest.raises(KeyError, match="mine"):
        evaluate(kernel, [(0, 1)])
    fails[0] = False
    assert evaluate(kernel, [(0, 1)]) == (0.5, 0.5)


def test_unknown_loss_is_refused_with_the_known_names():
    with pytest.raises(ValueError, match=r"'hamming', .*'cut', .*got 'rand'"):
        make_loss("rand", [0, 1])
    with pytest.raises(ValueError, match="got 3"):
        make_loss(3, [0, 1])


def test_kernel_refuses_labels_outside_its_range():
    with pytest.raises(ValueError, match="labels is empty"):
        pruning.HammingLoss(np.empty(0, dtype=np.intc), 1)
    with pytest.raises(ValueError, match=r"labels\[1\]=2 is not in 0\.\.1"):
        pruning.HammingLoss(np.array([0, 2], dtype=np.intc), 2)
    many = pruning.HammingLoss(np.arange(15, dtype=np.intc), 15)
    with pytest.raises(ValueError, match="n_labels=15 is above 14"):
        evaluate(many, random_merges(15, "random", np.random.default_rng(13)))
    with pytest.raises(ValueError, match=r"n_labels=3 is outside 1\.\.2"):
        pruning.HammingLoss(np.array([0, 1], dtype=np.intc), 3)


def test_kernel_refuses_merges_that_do_not_fit():
    kernel = pruning.HammingLoss(np.array([0, 1, 1], dtype=np.intc), 2)
    with pytest.raises(ValueError, match="3 leaves need 2 merges, got 1"):
        evaluate(kernel, [(0, 1)])
    for merges, nodes in [
        ([(0, 1), (2, 5)], None),
        ([(0, 1), (2, -3)], None),
        ([(0, 1), (2, 3)], [2, 4]),
    ]:
        with pytest.raises(ValueError, match="id out of range"):
            evaluate(kernel, merges, nodes)


def test_base_class_has_no_value():
    with pytest.raises(NotImplementedError, match="not one"):
        evaluate(pruning.TreeLoss(np.array([0, 1], dtype=np.intc), 2), [(0, 1)])
