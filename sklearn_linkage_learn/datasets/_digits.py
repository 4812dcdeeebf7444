"""Instances sampled from scikit-learn's images of handwritten digits."""

from numbers import Integral

from sklearn.datasets import load_digits
from sklearn.utils._param_validation import Interval, validate_params

from ._subsets import sample_class_subsets


@validate_params(
    {
        "n_instances": [Interval(Integral, 1, None, closed="left")],
        "n_classes": [Interval(Integral, 1, 10, closed="both")],
        "n_per_class": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_digits_instances(
    n_instances=1, *, n_classes=5, n_per_class=30, random_state=None
):
    """Sample instances from the 8x8 images of :func:`sklearn.datasets.load_digits`.

    An instance is made of `n_classes` different digits, chosen at random, and of
    `n_per_class` different images of each, in random order. This is the sampling
    "MNIST Subsets" of [1]_ on a data set that comes with scikit-learn.

    Parameters
    ----------
    n_instances : int, default=1
        Number of instances.

    n_classes : int, default=5
        Number of digits in an instance, at most 10.

    n_per_class : int, default=30
        Number of images of each digit in an instance, at most 174: the rarest digit
        has no more.

    random_state : int, RandomState instance or None, default=None
        Source of randomness. Pass an int for the same instances at each call.

    Returns
    -------
    instances : list of ndarray of shape (n_classes * n_per_class, 64)
        The pixels of each instance's images.

    labels : list of ndarray of shape (n_classes * n_per_class,)
        The digit each image shows.

    See Also
    --------
    sample_class_subsets : The same from any data set.
    make_rings_and_disks : Synthetic instances in the plane.

    References
    ----------
    .. [1] M.-F. Balcan, T. Dick, M. Lang, "Learning to Link", International
       Conference on Learning Representations, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_linkage_learn.datasets import make_digits_instances
    >>> instances, labels = make_digits_instances(2, n_classes=3, random_state=0)
    >>> instances[0].shape
    (90, 64)
    >>> np.unique(labels[0]).size
    3
    """
    images, digits = load_digits(return_X_y=True)
    return sample_class_subsets(
        images,
        digits,
        n_instances,
        n_classes=n_classes,
        n_per_class=n_per_class,
        random_state=random_state,
    )
