"""Instances drawn from geometric shapes in the plane."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, validate_params

from .._errors import as_numbers


@validate_params(
    {
        "n_instances": [Interval(Integral, 1, None, closed="left")],
        "n_per_cluster": [Interval(Integral, 1, None, closed="left")],
        "ring_radii": ["array-like"],
        "ring_width": [Interval(Real, 0, None, closed="left")],
        "disk_radius": [Interval(Real, 0, None, closed="neither")],
        "disk_centers": ["array-like"],
        "noise": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_rings_and_disks(
    n_instances=1,
    *,
    n_per_cluster=100,
    ring_radii=(0.4, 0.8),
    ring_width=0.0,
    disk_radius=0.4,
    disk_centers=((1.5, 0.4), (1.5, -0.4)),
    noise=0.0,
    random_state=None,
):
    """Draw instances of concentric rings beside disks, by default two and two.

    Single linkage finds the rings but chains the disks together, complete linkage
    finds the disks but cuts the rings; mixtures of the two do better than both. This
    is the distribution "Rings and Disks" of [1]_.

    Points are uniform on each ring around the origin and in each disk. By default
    the rings are circles and the disks touch.

    Parameters
    ----------
    n_instances : int, default=1
        Number of instances.

    n_per_cluster : int, default=100
        Number of points in each ring and in each disk of an instance.

    ring_radii : array-like of shape (n_rings,), default=(0.4, 0.8)
        Radius of each ring, from the origin to the middle of its width. May be empty.

    ring_width : float, default=0.0
        Width of all rings, at most twice the least radius. Rings of width 0 are
        circles.

    disk_radius : float, default=0.4
        Radius of all disks.

    disk_centers : array-like of shape (n_disks, 2), \
            default=((1.5, 0.4), (1.5, -0.4))
        Center of each disk. May be empty.

    noise : float, default=0.0
        Standard deviation of Gaussian noise that is added to all coordinates.

    random_state : int, RandomState instance or None, default=None
        Source of randomness. Pass an int for the same instances at each call.

    Returns
    -------
    instances : list of ndarray of shape (n_clusters * n_per_cluster, 2)
        The points of each instance, where ``n_clusters = n_rings + n_disks``.

    labels : list of ndarray of shape (n_clusters * n_per_cluster,)
        The cluster of each point: rings and then disks, numbered in the order in which
        they are given.

    See Also
    --------
    make_digits_instances : Instances of images of digits.

    References
    ----------
    .. [1] M.-F. Balcan, T. Dick, M. Lang, "Learning to Link", International
       Conference on Learning Representations, 2020.

    Examples
    --------
    >>> from sklearn_linkage_learn.datasets import make_rings_and_disks
    >>> instances, labels = make_rings_and_disks(3, random_state=0)
    >>> len(instances), instances[0].shape
    (3, (400, 2))
    >>> labels[0][::100].tolist()
    [0, 1, 2, 3]
    """
    ring_radii = _check_radii(ring_radii, ring_width)
    disk_centers = _check_centers(disk_centers)
    n_clusters = len(ring_radii) + len(disk_centers)
    if n_clusters == 0:
        raise ValueError("ring_radii and disk_centers are empty, expected a cluster.")
    rng = check_random_state(random_state)
    instances = []
    for _ in range(n_instances):
        rings = [_in_ring(n_per_cluster, r, ring_width, rng) for r in ring_radii]
        disks = [c + disk_radius * _in_disk(n_per_cluster, rng) for c in disk_centers]
        points = np.concatenate(rings + disks)
        if noise > 0:
            points += rng.normal(scale=noise, size=points.shape)
        instances.append(points)
    labels = [np.repeat(np.arange(n_clusters), n_per_cluster) for _ in instances]
    return instances, labels


def _check_radii(radii, width):
    radii = as_numbers("ring_radii", radii)
    if radii.ndim != 1 or not (np.isfinite(radii) & (radii > 0)).all():
        raise ValueError(
            f"ring_radii must be a list of positive numbers, got {radii.tolist()}."
        )
    if len(radii) > 0 and width > 2 * radii.min():
        raise ValueError(
            f"ring_width={width} is more than twice the least of ring_radii, "
            f"{radii.min()}."
        )
    return radii


def _check_centers(centers):
    centers = as_numbers("disk_centers", centers)
    if centers.size == 0:
        return np.empty((0, 2))
    if centers.ndim != 2 or centers.shape[1] != 2 or not np.isfinite(centers).all():
        raise ValueError(
            "disk_centers must be a list of pairs of finite numbers, got "
            f"{centers.tolist()}."
        )
    return centers


def _in_ring(n_points, radius, width, rng):
    if width == 0:
        return radius * _on_unit_circle(n_points, rng)
    inner, outer = radius - width / 2, radius + width / 2
    # The area within a radius grows with its square.
    radii = np.sqrt(rng.uniform(inner**2, outer**2, size=(n_points, 1)))
    return radii * _on_unit_circle(n_points, rng)


def _on_unit_circle(n_points, rng):
    angle = rng.uniform(0, 2 * np.pi, size=n_points)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _in_disk(n_points, rng):
    """Points in the unit disk, which is the ring from radius 0 to radius 1."""
    return _in_ring(n_points, 0.5, 1, rng)
