import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest
from sklearn.datasets import load_digits

from sklearn_linkage_learn.datasets import (
    PAPER_SETTINGS,
    make_digits_instances,
    make_rings_and_disks,
    sample_class_subsets,
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


def test_default_instances_stay_the_same():
    # Numbers in the documentation depend on them.
    (points,), _ = make_rings_and_disks(n_per_cluster=9, random_state=3)
    assert_allclose(points[0], [-0.37979814179795107, -0.12551243558637312], 1e-14)
    _, (labels,) = make_digits_instances(n_classes=4, n_per_class=9, random_state=3)
    assert labels[:12].tolist() == [5, 2, 4, 5, 5, 2, 1, 2, 4, 2, 5, 5]


def test_rings_and_disks_have_the_geometry_asked_for():
    (points,), (labels,) = make_rings_and_disks(
        n_per_cluster=4000,
        ring_radii=[1, 2, 3],
        ring_width=0.5,
        disk_centers=[[5, 5]],
        disk_radius=2,
        random_state=0,
    )
    assert_array_equal(labels, np.repeat(np.arange(4), 4000))
    for label, radius in enumerate([1, 2, 3]):
        squares = (points[labels == label] ** 2).sum(axis=1)
        inner, outer = (radius - 0.25) ** 2, (radius + 0.25) ** 2
        assert kstest((squares - inner) / (outer - inner), "uniform").pvalue > 0.01
    squares = ((points[labels == 3] - 5) ** 2).sum(axis=1)
    assert kstest(squares / 4, "uniform").pvalue > 0.01


def test_rings_and_disks_with_noise_are_gaussian_around_those_without():
    kwargs = {"n_per_cluster": 1000, "random_state": 0}
    (exact,), _ = make_rings_and_disks(**kwargs)
    (noisy,), _ = make_rings_and_disks(noise=0.1, **kwargs)
    assert kstest((noisy - exact).ravel() / 0.1, "norm").pvalue > 0.01


def test_rings_or_disks_may_be_absent():
    (points,), _ = make_rings_and_disks(n_per_cluster=5, ring_radii=())
    assert points.shape == (10, 2)
    (points,), _ = make_rings_and_disks(n_per_cluster=5, disk_centers=())
    assert points.shape == (10, 2)


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"ring_radii": [1, -2]}, r"ring_radii .* positive .*\[1.0, -2.0\]"),
        ({"ring_radii": [[1]]}, "ring_radii must be a list"),
        ({"ring_width": 0.9}, "ring_width=0.9 .* twice .* ring_radii, 0.4"),
        ({"disk_centers": [1, 2]}, "disk_centers must be a list of pairs"),
        ({"disk_centers": [[1, np.nan]]}, "disk_centers .* finite"),
        ({"ring_radii": [], "disk_centers": []}, "are empty, expected a cluster"),
        ({"disk_radius": 0}, "disk_radius"),
        ({"noise": -1}, "noise"),
    ],
)
def test_impossible_rings_and_disks_are_refused(kwargs, message):
    with pytest.raises(ValueError, match=message):
        make_rings_and_disks(**kwargs)


# Eight classes of six points, in two groups of three and five classes.
ROWS = np.arange(48)
CLASSES = np.repeat(list("abcdefgh"), 6)
GROUPS = np.repeat([7, 3], [18, 30])


def sample(**kwargs):
    kwargs = {"X": ROWS, "y": CLASSES, "n_classes": 2, "n_per_class": 4, **kwargs}
    return sample_class_subsets(**kwargs)


def test_subsets_are_different_points_of_different_classes_in_random_order():
    instances, labels = sample(n_instances=40, random_state=0)
    for rows, y in zip(instances, labels, strict=True):
        assert len(set(rows)) == 8
        assert_array_equal(CLASSES[rows], y)
        assert_array_equal(np.unique(y, return_counts=True)[1], [4, 4])
    assert set(np.concatenate(instances)) == set(ROWS)
    assert any(y[0] != y[1] for y in labels)


def test_more_instances_begin_with_the_same():
    kwargs = {"n_classes": (1, 3), "groups": GROUPS, "random_state": 1}
    few, many = sample(n_instances=5, **kwargs), sample(n_instances=10, **kwargs)
    for part, whole in zip(few, many, strict=True):
        assert len(whole) == 10
        for i in range(5):
            assert_array_equal(part[i], whole[i])


def test_number_of_classes_is_uniform_in_a_range():
    _, labels = sample(n_instances=300, n_classes=(3, 5), random_state=0)
    counts = np.bincount([len(set(y)) for y in labels])
    assert_array_equal(np.flatnonzero(counts), [3, 4, 5])
    assert counts[3:].min() > 75


def test_groups_are_equally_frequent_and_never_mixed():
    instances, _ = sample(n_instances=300, groups=GROUPS, random_state=0)
    groups = [set(GROUPS[rows].tolist()) for rows in instances]
    assert all(len(group) == 1 for group in groups)
    assert 120 < groups.count({7}) < 180


def test_points_of_a_class_come_from_the_chosen_group():
    groups = np.tile([0, 1], 24)
    instances, _ = sample(n_instances=10, n_per_class=3, groups=groups, random_state=0)
    assert all(len(set(groups[rows])) == 1 for rows in instances)


def test_only_wanted_classes_are_drawn():
    for groups in (None, GROUPS):
        _, labels = sample(
            n_instances=20, classes=["b", "a"], groups=groups, random_state=0
        )
        assert {label for y in labels for label in y} == {"a", "b"}


def test_all_points_of_a_class_are_taken_where_no_number_is_given():
    y = ["a"] * 2 + ["b"] * 7
    (rows,), _ = sample(X=np.arange(9), y=y, n_per_class=None, random_state=0)
    assert sorted(rows) == list(range(9))
    assert rows.tolist() != list(range(9))


def test_points_keep_their_type():
    pd = pytest.importorskip("pandas")
    (rows,), _ = sample(random_state=0)
    (table,), _ = sample(X=pd.DataFrame({"row": ROWS}), random_state=0)
    assert_array_equal(table["row"], rows)
    (words,), _ = sample(X=[f"word {i}" for i in ROWS], random_state=0)
    assert words == [f"word {i}" for i in rows]


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"n_classes": 9}, "n_classes=9 asks for 9 classes, found 8 .* in y"),
        ({"n_classes": (2, 9)}, r"n_classes=\(2, 9\) asks for 9 classes, found 8"),
        ({"n_classes": 4, "groups": GROUPS}, "found 3 to draw from in group 7"),
        ({"classes": ["a"], "groups": GROUPS}, "found 1 to draw from in group 7"),
        ({"classes": []}, "found 0 to draw from"),
        ({"classes": [], "groups": GROUPS}, "found 0 to draw from"),
        ({"n_classes": (3, 2)}, r"n_classes must be .* pair .* \(3, 2\)"),
        ({"n_classes": (1, 2, 3)}, "n_classes must be"),
        ({"n_classes": (1, 2.5)}, "n_classes must be"),
        ({"n_per_class": 7}, "n_per_class=7 is more than the 6 points of class 'a'"),
        (
            {"groups": np.tile([0, 1], 24)},
            "n_per_class=4 is more than the 3 points of class 'a' in group 0",
        ),
        ({"classes": ["a", "z", "q"]}, "classes must be found in y, .* no q, z"),
        ({"y": CLASSES[1:]}, "y has length 47, expected .* 48 points of X"),
        ({"groups": GROUPS[1:]}, "groups has length 47, expected .* 48 points"),
        ({"y": np.ones((48, 2))}, "y: .*1d array"),
    ],
)
def test_impossible_subsets_are_refused(kwargs, message):
    with pytest.raises(ValueError, match=message):
        sample(**kwargs)


def test_settings_of_the_paper_are_arguments_of_the_sampler():
    sizes = {"mnist": 1000, "cifar10": 250, "places2-diverse": 200}
    y = np.repeat(np.arange(10), 200)
    for name, settings in PAPER_SETTINGS.items():
        (rows,), _ = sample_class_subsets(np.arange(2000), y, **settings)
        assert len(rows) == sizes.get(name, len(rows))
        assert len(rows) in range(100, 201, 20) or name in sizes
