"""The cluster tree of one instance, with its classes."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._base import InstanceLearner
from .._errors import as_numbers
from .._interpolated import InterpolatedLinkage, check_cluster_count, count_below
from .._piecewise import import_pyplot
from ._common import (
    NO_CLASS,
    PARAMETERS,
    add_class_legend,
    check_one,
    colors_of,
    draw_runs,
    fitted_parameter,
    read_classes,
    symbol,
    unwrap,
)
from ._tree_layout import last_merges, leaf_places, links, separating_height

# More leaves than that have no room for their names, and upright names for less.
_MOST_NAMES, _MOST_UPRIGHT_NAMES = 60, 20
# More lines than that make vector graphics slow to show.
_MOST_VECTORS = 1000


class DendrogramDisplay:
    """Cluster tree of one instance, coloured by its classes.

    A merge has the colour of a class if all points below it are of that class, and is
    grey if not. Made by :meth:`from_estimator`; the constructor takes what that
    computes.

    Parameters
    ----------
    linkage_matrix : ndarray of shape (n_points - 1, 4)
        The tree in scipy's form, with rows in the order of merges.

    y : array-like of shape (n_points,), default=None
        The class of each point.

    n_clusters : int, default=None
        The number of clusters that the tree is cut into.

    leaf_names : array-like of shape (n_points,), default=None
        What to call the points; their positions by default.

    height_name : str, default="distance"
        What the height of a merge is, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the tree was drawn.

    figure_ : matplotlib Figure
        The figure of `ax_`.

    links_ : matplotlib LineCollection
        One line for each merge, in the order of merges.

    strip_ : matplotlib LineCollection or None
        The classes of the leaves, from left to right; None without `y`.

    cut_ : matplotlib Line2D or None
        The height that cuts the tree into `n_clusters`; None if there is none.

    leaves_ : list of ndarray
        The points of each leaf that was drawn, from left to right.

    See Also
    --------
    ClusterStripDisplay : The clusters of one instance at every parameter.
    scipy.cluster.hierarchy.dendrogram : Draws trees without classes.

    Notes
    -----
    Clusters are cut out of a tree by the order of merges, not by height. If
    ``"single"`` and ``"average"`` are mixed, a merge can be lower than one before it.
    If no height lies between the merges that make the clusters and those that join
    them, no line is drawn and the legend says so.

    Examples
    --------
    >>> from sklearn_linkage_learn import LearnedLinkage
    >>> from sklearn_linkage_learn.datasets import make_rings_and_disks
    >>> from sklearn_linkage_learn.plotting import DendrogramDisplay
    >>> X, y = make_rings_and_disks(5, n_per_cluster=15, random_state=0)
    >>> learner = LearnedLinkage().fit(X[:4], y[:4])
    >>> display = DendrogramDisplay.from_estimator(learner, X[4], y[4])
    >>> display.figure_.savefig("tree.png")  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        linkage_matrix,
        y=None,
        n_clusters=None,
        leaf_names=None,
        height_name="distance",
    ):
        self.linkage_matrix = linkage_matrix
        self.y = y
        self.n_clusters = n_clusters
        self.leaf_names = leaf_names
        self.height_name = height_name

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X=None,
        y=None,
        *,
        n_clusters=None,
        leaf_names=None,
        ax=None,
        **kwargs,
    ):
        """Draw the tree of one instance.

        Parameters
        ----------
        estimator : learner or InterpolatedLinkage
            A fitted learner, whose tree is that at the learned parameter, or a
            clusterer. A pipeline or a search stands for the one inside.

        X : array-like of shape (n_points, n_features), default=None
            One instance, in any form that the estimator takes. By default the one that
            an :class:`~sklearn_linkage_learn.InterpolatedLinkage` was fitted on.

        y : array-like of shape (n_points,), default=None
            The class of each point.

        n_clusters : int, default=None
            The number of clusters to cut the tree into. By default as many as the
            estimator makes, else as many as there are classes.

        leaf_names : array-like of shape (n_points,), default=None
            What to call the points; their positions by default.

        ax : matplotlib Axes, default=None
            Where to draw; new axes in a new figure by default.

        **kwargs
            Passed to :meth:`plot`.

        Returns
        -------
        display : DendrogramDisplay
            With the drawn artists.
        """
        import_pyplot("DendrogramDisplay")
        estimator, transform = unwrap(estimator)
        if isinstance(estimator, InterpolatedLinkage):
            Z = _clusterer_tree(estimator, X, transform)
            height_name = _height_name(estimator.alpha, estimator.beta)
        else:
            Z = _learner_tree(estimator, X, transform)
            weights = [getattr(estimator, f"{name}_", None) for name in PARAMETERS]
            height_name = _height_name(*weights)
        if n_clusters is None:
            n_clusters = _default_count(estimator, Z)
        if n_clusters is None and y is not None:
            n_clusters = len(read_classes(y, len(Z) + 1)[0])
        display = cls(
            linkage_matrix=Z,
            y=y,
            n_clusters=n_clusters,
            leaf_names=leaf_names,
            height_name=height_name,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax=None, *, max_leaves=None, link_kwargs=None, cut_kwargs=None):
        """Draw the tree, the classes of its leaves and the cut.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; new axes in a new figure by default.

        max_leaves : int, default=None
            Draw only the last merges, of so many clusters; what is below them becomes
            a leaf that is named by its number of points. All points by default.

        link_kwargs : dict, default=None
            Passed to :class:`matplotlib.collections.LineCollection` for the merges.

        cut_kwargs : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.axhline` for the cut.

        Returns
        -------
        display : DendrogramDisplay
            This object, with the drawn artists.
        """
        plt = import_pyplot("DendrogramDisplay")
        Z = as_numbers("linkage_matrix", self.linkage_matrix)
        n = len(Z) + 1
        classes, codes = read_classes(self.y, n)
        names = _read_names(self.leaf_names, n)
        if self.n_clusters is not None:
            check_cluster_count(self.n_clusters, n)
        n_leaves = _check_max_leaves(max_leaves, n)
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure

        tree, members = last_merges(Z, n_leaves)
        places = leaf_places(tree)
        self.leaves_ = [members[leaf] for leaf in np.argsort(places)]
        of_leaf = np.full(n_leaves, -1)
        colors = colors_of(0)
        if codes is not None:
            of_leaf = np.array([_common_code(codes[points]) for points in members])
            colors = colors_of(len(classes))
        mixed = self._draw_links(
            tree, places, of_leaf, colors, n_leaves < n, link_kwargs or {}
        )
        self.strip_ = None
        if codes is not None:
            self.strip_ = self._draw_strip(of_leaf[np.argsort(places)], colors)
            if mixed:
                classes = [*classes, "mixed"]
                colors = [*colors, NO_CLASS]
        handles = self._draw_cut(Z, cut_kwargs or {})
        self._name_leaves(names, n_leaves < n)
        ax.set_ylabel(self.height_name)
        add_class_legend(ax, classes, colors, handles)
        return self

    def _draw_links(self, tree, places, codes, colors, cut_off, kwargs):
        """Draw the tree; return whether a part of it has no class."""
        from matplotlib.collections import LineCollection
        from matplotlib.colors import to_rgba_array

        shapes, codes = links(tree, places, codes)
        # A code of -1 takes the last one.
        colors = np.concatenate([colors, to_rgba_array(NO_CLASS)])
        style = {
            "colors": colors[codes],
            "linewidths": np.clip(60 / len(places), 0.5, 1.2),
            "rasterized": len(places) > _MOST_VECTORS,
        }
        self.links_ = LineCollection(shapes, **{**style, **kwargs})
        self.ax_.add_collection(self.links_)
        self.ax_.set_xlim(0, len(places))
        self.ax_.set_ylim(*_height_limits(tree, cut_off))
        for side in ("top", "right"):
            self.ax_.spines[side].set_visible(False)
        return (codes < 0).any()

    def _draw_strip(self, codes, colors):
        from matplotlib.colors import to_rgba_array

        # What was cut off may hold several classes, and is grey then.
        colors = np.concatenate([colors, to_rgba_array(NO_CLASS)])
        return draw_runs(self.ax_, codes % len(colors), colors, "x")

    def _draw_cut(self, Z, kwargs):
        """Draw the line, and return what the legend says of it."""
        from matplotlib import rcParams
        from matplotlib.lines import Line2D

        self.cut_ = None
        if self.n_clusters is None or self.n_clusters == 1:
            return []
        height = separating_height(Z, self.n_clusters)
        label = f"{self.n_clusters} clusters"
        if height is None:
            label += ":\nno height cuts\nthem out"
            return [Line2D([], [], linestyle="none", label=label)]
        color = rcParams["text.color"]
        style = {"color": color, "linestyle": "--", "linewidth": 1, "label": label}
        self.cut_ = self.ax_.axhline(height, **{**style, **kwargs})
        return [self.cut_]

    def _name_leaves(self, names, cut_off):
        n_leaves, n_points = len(self.leaves_), sum(map(len, self.leaves_))
        self.ax_.set_xlabel(f"{n_points} points")
        if n_leaves > _MOST_NAMES:
            self.ax_.set_xticks([])
            # Without names the strip would be in its place.
            self.ax_.xaxis.labelpad = 14 if self.strip_ is not None else 4
            return
        labels = [
            f"({len(points)})" if len(points) > 1 else names[points[0]]
            for points in self.leaves_
        ]
        longest = max(map(len, labels))
        upright = n_leaves <= _MOST_UPRIGHT_NAMES and longest * n_leaves <= 60
        self.ax_.set_xticks(
            np.arange(n_leaves) + 0.5,
            labels,
            rotation=0 if upright else 90,
            fontsize="small" if n_leaves <= 40 else "x-small",
        )
        self.ax_.tick_params(axis="x", length=0)
        if cut_off:
            self.ax_.set_xlabel(f"{n_points} points; (n) is a cluster of n")


def _learner_tree(estimator, X, transform):
    fitted_parameter(estimator)
    if not isinstance(estimator, InstanceLearner):
        raise TypeError(
            "estimator must be a learner or an InterpolatedLinkage, found "
            f"{estimator!r}."
        )
    if X is None:
        raise ValueError("X is needed: the instance to draw the tree of.")
    X = transform(X)
    check_one(estimator._read_new(X))
    return estimator.linkage_matrix(X)


def _clusterer_tree(estimator, X, transform):
    if X is None:
        check_is_fitted(estimator)
        return estimator.linkage_matrix_
    # The tree does not depend on where it is cut, which may not be decided yet.
    whole = clone(estimator).set_params(n_clusters=1, distance_threshold=None)
    return whole.fit(transform(X)).linkage_matrix_


def _default_count(estimator, Z):
    """The number of clusters that an estimator makes, None if it does not know."""
    if estimator.n_clusters is None and estimator.distance_threshold is not None:
        return count_below(Z, estimator.distance_threshold)
    count = getattr(estimator, "n_clusters_", None)
    if isinstance(estimator, InterpolatedLinkage):
        count = estimator.n_clusters
    return None if count is None or count > len(Z) + 1 else count


def _height_name(alpha, beta):
    weights = {"alpha": alpha, "beta": beta}
    parts = [
        f"{symbol(name)} = {weight:.3g}"
        for name, weight in weights.items()
        if isinstance(weight, Real)
    ]
    return f"distance at {', '.join(parts)}" if parts else "distance"


def _read_names(names, n_points):
    if names is None:
        return list(map(str, range(n_points)))
    if len(names) != n_points:
        raise ValueError(
            f"leaf_names must hold one name for each of the {n_points} points, found "
            f"{len(names)}."
        )
    return list(map(str, names))


def _check_max_leaves(max_leaves, n_points):
    if max_leaves is None:
        return n_points
    if not isinstance(max_leaves, Integral) or max_leaves < 1:
        raise ValueError(f"max_leaves must be a positive integer, got {max_leaves!r}.")
    return min(int(max_leaves), n_points)


def _common_code(codes):
    return codes[0] if (codes == codes[0]).all() else -1


def _height_limits(tree, cut_off):
    low, high = tree[:, 2].min(initial=np.inf), tree[:, 2].max(initial=0.0)
    if high == 0:
        return 0, 1
    # Below its leaves, a tree that was cut off has nothing to show.
    bottom = max(0.0, low - 0.15 * (high - low)) if cut_off else 0.0
    return bottom, high + 0.05 * (high - bottom)
