"""Losses of a cluster tree against target labels.

A tree is a linkage matrix `Z` as :func:`scipy.cluster.hierarchy.linkage` returns it.
All losses lie in [0, 1], except that of the adjusted Rand index, which can reach 1.5,
and 0 is perfect. The number of clusters k is that of the distinct labels.
"""

import math
from numbers import Real
from warnings import warn

import numpy as np

from ._core.bounds import BoundedHammingLoss
from ._core.other_losses import (
    AriLoss,
    CallableLoss,
    CutLoss,
    DendrogramPurityLoss,
)
from ._core.pruning import HammingLoss, MajorityLoss, TreeLoss, evaluate_linkage
from ._errors import as_numbers, blame, name_of
from ._instances import read_labels
from ._limits import check_room

__all__ = [
    "UncertifiedLossWarning",
    "ari_loss",
    "cut_loss",
    "dendrogram_purity_loss",
    "hamming_loss",
    "majority_loss",
]

# With so few labels the full subset programme takes a microsecond or two.
_FEW_LABELS = 5


class UncertifiedLossWarning(RuntimeWarning):
    """A loss is only known to lie in an interval; its upper end was returned."""


def hamming_loss(Z, labels, *, return_interval=False):
    """Least fraction of misplaced points over all prunings of a tree.

    The tree is pruned into exactly k subtrees, and each of them is matched with
    another label; the loss is that of the best pruning and the best bijection [1]_.

    Parameters
    ----------
    Z : array-like of shape (n_points - 1, 4)
        Linkage matrix as of :func:`scipy.cluster.hierarchy.linkage`. Heights are not
        used and may have inversions.

    labels : array-like of shape (n_points,)
        Target label of each point.

    return_interval : bool, default=False
        Whether to return bounds of the loss instead of a number.

    Returns
    -------
    loss : float
        The loss; the upper bound of it, with an :class:`UncertifiedLossWarning`, if
        it could not be certified.

    interval : tuple of two floats
        Lower and upper bound, equal if the loss is certified. Only returned, instead
        of `loss`, if `return_interval` is true.

    Notes
    -----
    Up to twelve labels the loss is always exact: a programme over label sets takes
    O(3^k) for each node of depth below k. For more than five it is run only if the
    following fails. Lagrangian prices on the labels [2]_ give a bound that a tree
    knapsack finds in O(nk); a programme restricted to those label sets that could
    still meet the bound then closes what gap there is. Its effort is limited, since
    the problem is hard for unbounded k.

    References
    ----------
    .. [1] M.-F. Balcan, T. Dick and M. Lang, "Learning to Link", ICLR 2020.
    .. [2] M. L. Fisher, "The Lagrangian Relaxation Method for Solving Integer
       Programming Problems", Management Science 27(1), 1981.

    Examples
    --------
    >>> from scipy.cluster.hierarchy import linkage
    >>> from sklearn_linkage_learn.losses import hamming_loss
    >>> Z = linkage([[0.0], [1.0], [5.0], [5.5], [20.0], [21.5]], method="single")
    >>> hamming_loss(Z, ["a", "a", "a", "a", "b", "c"])
    0.0
    >>> hamming_loss(Z, ["a", "a", "a", "b", "b", "b"], return_interval=True)
    (0.16666666666666666, 0.16666666666666666)
    """
    lower, upper = _interval("hamming", Z, labels)
    if return_interval:
        return lower, upper
    return _upper_end(lower, upper)


def majority_loss(Z, labels):
    """Least fraction of points outside the majority of their subtree.

    As :func:`hamming_loss`, but each of the k subtrees counts its most frequent label,
    which several of them may share. It is never larger than the Hamming loss.

    Parameters
    ----------
    Z : array-like of shape (n_points - 1, 4)
        Linkage matrix as of :func:`scipy.cluster.hierarchy.linkage`.

    labels : array-like of shape (n_points,)
        Target label of each point.

    Returns
    -------
    loss : float

    Notes
    -----
    A knapsack over the tree finds the best pruning in O(nk).

    References
    ----------
    .. [1] M.-F. Balcan, T. Dick and M. Lang, "Learning to Link", ICLR 2020.

    Examples
    --------
    >>> from scipy.cluster.hierarchy import linkage
    >>> from sklearn_linkage_learn.losses import majority_loss
    >>> Z = linkage([[0.0], [1.0], [5.0], [5.5], [20.0]], method="single")
    >>> majority_loss(Z, ["a", "b", "a", "a", "a"])
    0.2
    """
    return _interval("majority", Z, labels)[1]


def cut_loss(Z, labels):
    """Fraction of misplaced points of the flat clustering into k clusters.

    The last k - 1 rows of `Z` are undone, whatever their heights, and the clusters
    are matched with the labels by the best bijection.

    Parameters
    ----------
    Z : array-like of shape (n_points - 1, 4)
        Linkage matrix as of :func:`scipy.cluster.hierarchy.linkage`.

    labels : array-like of shape (n_points,)
        Target label of each point.

    Returns
    -------
    loss : float

    Notes
    -----
    The bijection is that of :func:`scipy.optimize.linear_sum_assignment`, O(k^3), on
    counts that take O(nk).

    References
    ----------
    .. [1] D. F. Crouse, "On implementing 2D rectangular assignment algorithms", IEEE
       Transactions on Aerospace and Electronic Systems 52(4), 2016.

    Examples
    --------
    >>> from scipy.cluster.hierarchy import linkage
    >>> from sklearn_linkage_learn.losses import cut_loss
    >>> Z = linkage([[0.0], [1.0], [5.0], [5.5], [20.0], [21.5]], method="single")
    >>> cut_loss(Z, ["a", "a", "a", "a", "b", "c"])
    0.5
    """
    return _interval("cut", Z, labels)[1]


def ari_loss(Z, labels):
    """One minus the adjusted Rand index of the flat clustering into k clusters.

    The last k - 1 rows of `Z` are undone, whatever their heights.

    Parameters
    ----------
    Z : array-like of shape (n_points - 1, 4)
        Linkage matrix as of :func:`scipy.cluster.hierarchy.linkage`.

    labels : array-like of shape (n_points,)
        Target label of each point.

    Returns
    -------
    loss : float

    Notes
    -----
    Equal to one minus :func:`sklearn.metrics.adjusted_rand_score`, in O(nk + k^2).

    References
    ----------
    .. [1] L. Hubert and P. Arabie, "Comparing partitions", Journal of Classification
       2, 1985.

    Examples
    --------
    >>> from scipy.cluster.hierarchy import linkage
    >>> from sklearn_linkage_learn.losses import ari_loss
    >>> Z = linkage([[0.0], [1.0], [5.0], [5.5], [20.0]], method="single")
    >>> ari_loss(Z, ["a", "a", "a", "a", "b"])
    0.0
    """
    return _interval("ari", Z, labels)[1]


def dendrogram_purity_loss(Z, labels):
    """One minus the dendrogram purity of a tree.

    The purity is the mean, over all pairs of points with equal label, of the fraction
    of points with that label below the lowest common ancestor of the two [1]_. It
    judges the tree without a number of clusters; without any such pair it is one.

    Parameters
    ----------
    Z : array-like of shape (n_points - 1, 4)
        Linkage matrix as of :func:`scipy.cluster.hierarchy.linkage`.

    labels : array-like of shape (n_points,)
        Target label of each point.

    Returns
    -------
    loss : float

    Notes
    -----
    Label counts of the two children of a node give the pairs that meet there, so the
    loss takes O(nk).

    References
    ----------
    .. [1] K. A. Heller and Z. Ghahramani, "Bayesian Hierarchical Clustering", ICML
       2005.

    Examples
    --------
    >>> from scipy.cluster.hierarchy import linkage
    >>> from sklearn_linkage_learn.losses import dendrogram_purity_loss
    >>> Z = linkage([[0.0], [1.0], [5.0], [5.5]], method="single")
    >>> dendrogram_purity_loss(Z, ["a", "a", "b", "b"])
    0.0
    >>> dendrogram_purity_loss(Z, ["a", "b", "a", "b"])
    0.5
    """
    return _interval("dendrogram_purity", Z, labels)[1]


# The names of the losses, in the order in which messages list them.
LOSSES = {
    "hamming": hamming_loss,
    "majority": majority_loss,
    "cut": cut_loss,
    "ari": ari_loss,
    "dendrogram_purity": dendrogram_purity_loss,
}

_KERNELS = {
    "majority": MajorityLoss,
    "cut": CutLoss,
    "ari": AriLoss,
    "dendrogram_purity": DendrogramPurityLoss,
}


def make_loss(loss, labels):
    """Return the kernel that evaluates a loss on changing trees over some points.

    Parameters
    ----------
    loss : str, callable or TreeLoss
        A key of `LOSSES`, a function ``loss(Z, labels) -> float``, or the kernel.

    labels : array-like of shape (n_points,)
        Target label of each point, validated.

    Returns
    -------
    kernel : TreeLoss
    """
    if isinstance(loss, TreeLoss):
        return loss
    labels = np.asarray(labels)
    names, codes = np.unique(labels, return_inverse=True)
    codes, n_labels = codes.astype(np.intc), len(names)
    needed = kernel_bytes(loss, len(labels), n_labels)
    check_room(needed, "Computing losses of", len(labels))
    if callable(loss):
        return CallableLoss(codes, n_labels, _checked(loss), labels)
    if not isinstance(loss, str) or loss not in LOSSES:
        names = ", ".join(map(repr, LOSSES))
        raise ValueError(f"loss must be one of {names} or a callable, got {loss!r}")
    if loss == "hamming":
        kernel = HammingLoss if n_labels <= _FEW_LABELS else BoundedHammingLoss
        return kernel(codes, n_labels)
    return _KERNELS[loss](codes, n_labels)


def kernel_bytes(loss, n_points, n_labels):
    """How much memory a kernel takes: labels are counted for every node of the tree."""
    tables = 12 * n_points * n_labels + 8 * n_labels**2
    if loss == "majority":
        tables = tables + 16 * n_points * n_labels
    elif loss == "hamming":
        tables = tables + 48 * n_points * n_labels * (n_labels > _FEW_LABELS)
    return tables


def _checked(loss):
    """A user's loss that fails in its own name, also on values that are no losses."""

    def call(Z, labels):
        with blame(f"loss {name_of(loss)}"):
            value = loss(Z, labels)
            if not isinstance(value, Real) or not math.isfinite(value):
                raise ValueError(f"It returned {value!r}, expected a finite number.")
            return value

    return call


def evaluate(loss, Z, labels):
    """Value of a loss, of a tree and labels that are known to be valid."""
    return _upper_end(*evaluate_linkage(make_loss(loss, labels), *_merges(Z)))


def _interval(loss, Z, labels):
    children, heights = _merges(Z)
    with blame("labels"):
        labels = read_labels(labels, len(children) + 1, input_name="labels")
    return evaluate_linkage(make_loss(loss, labels), children, heights)


def _upper_end(lower, upper):
    if lower < upper:
        warn(
            f"the Hamming loss is between {lower} and {upper}, of which the upper end "
            "is returned; return_interval=True returns both",
            UncertifiedLossWarning,
            stacklevel=3,
        )
    return upper


def _merges(Z):
    """Return children and heights of a linkage matrix."""
    Z = as_numbers("Z", Z)
    if Z.ndim != 2 or Z.shape[1] != 4:
        raise ValueError(f"Z must have shape (n_points - 1, 4), got {Z.shape}.")
    n_points = len(Z) + 1
    nodes = np.sort(Z[:, :2], axis=None)
    made_later = Z[:, :2] >= n_points + np.arange(len(Z))[:, None]
    if not np.array_equal(nodes, np.arange(2 * n_points - 2)) or made_later.any():
        raise ValueError(
            "Z is not a linkage matrix: its first two columns must name each point and "
            "each merged cluster once, a cluster after its own row."
        )
    return np.ascontiguousarray(Z[:, :2], dtype=np.intc), np.ascontiguousarray(Z[:, 2])
