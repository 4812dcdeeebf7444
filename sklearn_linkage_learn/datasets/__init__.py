"""Distributions of labelled clustering instances to learn from and to test with."""

from ._digits import make_digits_instances
from ._images import load_cifar10, load_mnist, load_places
from ._omniglot import load_omniglot
from ._subsets import sample_class_subsets
from ._synthetic import make_rings_and_disks

__all__ = [
    "PAPER_SETTINGS",
    "load_cifar10",
    "load_mnist",
    "load_omniglot",
    "load_places",
    "make_digits_instances",
    "make_rings_and_disks",
    "sample_class_subsets",
]

#: How the paper samples its instances from each data set, as keyword arguments of
#: :func:`~sklearn_linkage_learn.datasets.sample_class_subsets`. For Omniglot, `groups`
#: are the alphabets; for ``"places2-diverse"``, `classes` are the ``diverse_classes``
#: of :func:`~sklearn_linkage_learn.datasets.load_places`.
PAPER_SETTINGS = {
    "mnist": {"n_classes": 5, "n_per_class": 200},
    "cifar10": {"n_classes": 5, "n_per_class": 50},
    "omniglot": {"n_classes": (5, 10), "n_per_class": 20},
    "places2": {"n_classes": (5, 10), "n_per_class": 20},
    "places2-diverse": {"n_classes": 4, "n_per_class": 50},
}
