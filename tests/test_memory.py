"""Memory that passes from instance to instance."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from sklearn_linkage_learn import LearnedLinkage
from sklearn_linkage_learn._core.memory import Workspace, idle_bytes, kept_blocks
from sklearn_linkage_learn._families import merge_curve, metric_curve, mixed_linkage
from sklearn_linkage_learn.losses import make_loss


def outputs(seed):
    """What several engines make of instances of different sizes, in turn."""
    rng = np.random.default_rng(seed)
    for n in rng.permutation([5, 40, 12, 25]):
        y = rng.integers(0, 3, size=n)
        first, second = (pdist(rng.normal(size=(n, 2))) for _ in range(2))
        for linkages in (("single", "complete"), ("average", "complete")):
            yield merge_curve(first, linkages, make_loss("hamming", y))
            yield mixed_linkage([first], linkages, (0.3, 0.7)).tolist()
        yield merge_curve(first, ("single", "average"), make_loss("cut", y))
        for linkage in ("complete", "average", "ward"):
            yield metric_curve([first, second], linkage, make_loss("hamming", y))


def test_kept_blocks_change_no_result():
    fresh = list(outputs(0))
    with kept_blocks():
        list(outputs(1))
        assert idle_bytes() > 0
        assert list(outputs(0)) == fresh


def test_blocks_are_handed_on_while_they_are_kept_and_freed_after():
    assert idle_bytes() == 0
    with kept_blocks():
        with kept_blocks():
            del [Workspace(1, 1000)][0]
        assert idle_bytes() == 8000
        smaller = Workspace(1, 500)
        assert idle_bytes() == 0
        larger = Workspace(1, 2000)
        del smaller, larger
        assert idle_bytes() == 24000
    assert idle_bytes() == 0
    Workspace(1, 1000)
    assert idle_bytes() == 0


def test_a_larger_block_takes_the_place_of_one_that_waits():
    with kept_blocks():
        for n_doubles in (100, 300, 200, 1000):
            Workspace(1, n_doubles)
            assert idle_bytes() == 8 * (n_doubles if n_doubles != 200 else 300)
    assert idle_bytes() == 0


def test_a_fit_keeps_no_memory_even_if_it_fails():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(3, 30, 2)), rng.integers(0, 3, size=(3, 30))
    LearnedLinkage(n_jobs=2).fit(X, y)
    assert idle_bytes() == 0

    def fail(Z, labels):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        LearnedLinkage(loss=fail).fit(X, y)
    assert idle_bytes() == 0


def test_memory_that_cannot_be_had_is_an_error():
    with pytest.raises(MemoryError, match="bytes"):
        Workspace(1, 2**59)
