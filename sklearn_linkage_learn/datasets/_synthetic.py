"""Instances drawn from geometric shapes in the plane."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, validate_params

RING_RADII = (0.4, 0.8)
DISK_RADIUS = 0.4
DISK_CENTERS = ((1.5, 0.4), (1.5, -0.4))


@validate_params(
    {
        "n_instances": [Interval(Integral, 1, None, closed="left")],
        "n_per_cluster": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_rings_and_disks(n_instances=1, *, n_per_cluster=100, random_state=None):
    """Draw instances of two concentric rings beside two touching disks.

    Single linkage finds the rings but chains the disks together, complete linkage
    finds the disks but cuts the rings; mixtures of the two do better than both. This
    is the distribution "Rings and Disks" of [1]_.

    Clusters 0 and 1 are circles of radius 0.4 and 0.8 around the origin, clusters 2
    and 3 disks of radius 0.4 around (1.5, 0.4) and (1.5, -0.4). Points are uniform on
    each circle and in each disk.

    Parameters
    ----------
    n_instances : int, default=1
        Number of instances.

    n_per_cluster : int, default=100
        Number of points in each of the four clusters of an instance.

    random_state : int, RandomState instance or None, default=None
        Source of randomness. Pass an int for the same instances at each call.

    Returns
    -------
    instances : list of ndarray of shape (4 * n_per_cluster, 2)
        The points of each instance.

    labels : list of ndarray of shape (4 * n_per_cluster,)
        The cluster of each point, in the order of `instances`.

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
    rng = check_random_state(random_state)
    instances = [_rings_and_disks(n_per_cluster, rng) for _ in range(n_instances)]
    labels = [np.repeat(np.arange(4), n_per_cluster) for _ in range(n_instances)]
    return instances, labels


def _rings_and_disks(n_points, rng):
    rings = [radius * _on_unit_circle(n_points, rng) for radius in RING_RADII]
    disks = [
        center + DISK_RADIUS * _in_unit_disk(n_points, rng) for center in DISK_CENTERS
    ]
    return np.concatenate(rings + disks)


def _on_unit_circle(n_points, rng):
    angle = rng.uniform(0, 2 * np.pi, size=n_points)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _in_unit_disk(n_points, rng):
    # The area within a radius grows with its square.
    radius = np.sqrt(rng.uniform(size=(n_points, 1)))
    return radius * _on_unit_circle(n_points, rng)
