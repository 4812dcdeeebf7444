import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest
from sklearn.datasets import load_digits

from sklearn_linkage_learn.datasets import (
    make_digits_instances,
    make_rings_and_disks,
)

MAKERS = [make_rings_and_disks, make_digits_instances]


@pytest.mark.parametrize("make", MAKERS)
def test_instances_are_reproducible_and_differ(make):
    first, first_labels = make(3, random_state=0)
    again, again_labels = make(3, random_state=0)
    other, _ = make(3, random_state=1)
    for i in range(3):
        assert_array_equal(first[i], again[i])
        assert_array_equal(first_labels[i], again_labels[i])
        assert not np.array_equal(first[i], other[i])
    assert not np.array_equal(first[0], first[1])


@pytest.mark.parametrize("make", MAKERS)
def test_one_instance_is_still_a_list(make):
    instances, labels = make(random_state=0)
    assert isinstance(instances, list)
    assert isinstance(labels, list)
    assert len(instances) == len(labels) == 1


@pytest.mark.parametrize("make", MAKERS)
def test_a_random_state_object_moves_on(make):
    rng = np.random.RandomState(0)
    (first,), _ = make(random_state=rng)
    (second,), _ = make(random_state=rng)
    assert not np.array_equal(first, second)


def test_rings_are_circles_and_disks_are_disks():
    (points,), (labels,) = make_rings_and_disks(n_per_cluster=500, random_state=0)
    assert points.shape == (2000, 2)
    assert_array_equal(np.bincount(labels), [500] * 4)
    assert_allclose(np.hypot(*points[labels == 0].T), 0.4)
    assert_allclose(np.hypot(*points[labels == 1].T), 0.8)
    for label, center in [(2, (1.5, 0.4)), (3, (1.5, -0.4))]:
        distance = np.hypot(*(points[labels == label] - center).T)
        assert 0.38 < distance.max() <= 0.4 + 1e-12


def test_points_are_uniform_on_circles_and_in_disks():
    (points,), (labels,) = make_rings_and_disks(n_per_cluster=4000, random_state=1)
    for label, center in enumerate([(0, 0), (0, 0), (1.5, 0.4), (1.5, -0.4)]):
        x, y = (points[labels == label] - center).T
        assert kstest(np.arctan2(y, x) / (2 * np.pi) + 0.5, "uniform").pvalue > 0.01
        if label >= 2:
            # Uniform in area: the squared radius is uniform.
            assert kstest((x**2 + y**2) / 0.4**2, "uniform").pvalue > 0.01


def test_digits_instances_hold_the_wanted_classes():
    instances, labels = make_digits_instances(
        20, n_classes=4, n_per_class=7, random_state=0
    )
    seen = set()
    for X, y in zip(instances, labels, strict=True):
        assert X.shape == (28, 64)
        digits, counts = np.unique(y, return_counts=True)
        assert len(digits) == 4
        assert_array_equal(counts, 7)
        seen.update(digits.tolist())
    assert seen == set(range(10))


def test_digits_are_different_images_with_their_own_labels():
    (X,), (y,) = make_digits_instances(n_classes=10, n_per_class=174, random_state=0)
    images, digits = load_digits(return_X_y=True)
    label_of = {
        image.tobytes(): digit for image, digit in zip(images, digits, strict=True)
    }
    assert len({image.tobytes() for image in X}) == len(X)
    assert [label_of[image.tobytes()] for image in X] == y.tolist()
