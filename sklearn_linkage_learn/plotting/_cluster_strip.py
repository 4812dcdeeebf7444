"""The flat clusters of one instance at every parameter."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._base import InstanceLearner
from .._core.other_losses import FlatClusterings
from .._piecewise import import_pyplot
from ._common import (
    PARAMETERS,
    check_one,
    colors_of,
    draw_runs,
    fitted_parameter,
    label_parameter_axis,
    name_of,
    names_of,
    read_classes,
    symbol,
    unwrap,
)
from ._tree_layout import leaf_places


class ClusterStripDisplay:
    """How the flat clusters of one instance change along the parameter.

    Each row is a point, and its colour at a parameter is its cluster there. The
    picture is exact: colours change where the clusters of a run do, not on a grid. A
    cluster keeps its colour as long as it keeps most of its points, and at the learned
    parameter it has that of the class it is most like. Made by :meth:`from_estimator`;
    the constructor takes what that computes.

    Parameters
    ----------
    breakpoints : ndarray of shape (n_pieces + 1,)
        Where the clusters change, from 0 to 1.

    clusters : ndarray of shape (n_pieces, n_points)
        The cluster of each point between two breakpoints.

    order : ndarray of shape (n_points,)
        The points from the lowest row to the highest.

    optimum : float
        The learned parameter.

    names : tuple of two str
        What stands at parameter 0 and at parameter 1.

    parameter : str, default="alpha"
        Name of the parameter.

    y : array-like of shape (n_points,), default=None
        The class of each point.

    loss_curve : PiecewiseConstant, default=None
        The loss of the instance, to be drawn above.

    loss_name : str, default=None
        Name of the loss, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the clusters were drawn.

    loss_ax_ : matplotlib Axes or None
        Where the loss was drawn; None if it was not.

    figure_ : matplotlib Figure
        The figure of `ax_`.

    mesh_ : matplotlib QuadMesh
        The clusters.

    strip_ : matplotlib LineCollection or None
        The classes of the rows; None without `y`.

    optimum_ : matplotlib Line2D
        The learned parameter.

    line_ : matplotlib StepPatch or None
        The loss.

    See Also
    --------
    DendrogramDisplay : The cluster tree of one instance at the learned parameter.
    LossCurveDisplay : The mean loss of all training instances.

    Examples
    --------
    >>> from sklearn_linkage_learn import LearnedLinkage
    >>> from sklearn_linkage_learn.datasets import make_rings_and_disks
    >>> from sklearn_linkage_learn.plotting import ClusterStripDisplay
    >>> X, y = make_rings_and_disks(5, n_per_cluster=15, random_state=0)
    >>> learner = LearnedLinkage().fit(X[:4], y[:4])
    >>> display = ClusterStripDisplay.from_estimator(learner, X[4], y[4])
    >>> display.clusters.shape == (len(display.breakpoints) - 1, 60)
    True
    """

    def __init__(
        self,
        *,
        breakpoints,
        clusters,
        order,
        optimum,
        names,
        parameter="alpha",
        y=None,
        loss_curve=None,
        loss_name=None,
    ):
        self.breakpoints = breakpoints
        self.clusters = clusters
        self.order = order
        self.optimum = optimum
        self.names = names
        self.parameter = parameter
        self.y = y
        self.loss_curve = loss_curve
        self.loss_name = loss_name

    @classmethod
    def from_estimator(
        cls, estimator, X, y=None, *, n_clusters=None, ax=None, **kwargs
    ):
        """Draw the clusters of one instance for all parameters of a fitted learner.

        It takes about as long as learning from that instance.

        Parameters
        ----------
        estimator : learner
            Fitted. A pipeline or a search stands for the learner inside.

        X : array-like of shape (n_points, n_features)
            One instance, in any form that the learner takes.

        y : array-like of shape (n_points,), default=None
            The class of each point.

        n_clusters : int, default=None
            The number of clusters. By default as many as `predict` makes, or else as
            many as there are classes.

        ax : matplotlib Axes, default=None
            Where to draw; new axes in a new figure by default.

        **kwargs
            Passed to :meth:`plot`.

        Returns
        -------
        display : ClusterStripDisplay
            With the drawn artists.
        """
        import_pyplot("ClusterStripDisplay")
        learner, transform = unwrap(estimator)
        parameter = fitted_parameter(learner)
        if not isinstance(learner, InstanceLearner):
            raise TypeError(f"estimator must be a fitted learner, found {learner!r}.")
        instances = learner._read_new(transform(X))
        check_one(instances)
        points, n_points = instances.points[0], instances.sizes[0]
        classes, codes = read_classes(y, n_points)
        if n_clusters is None and learner.n_clusters_ is None and y is not None:
            n_clusters = len(classes)
        counts = learner._cluster_counts(instances, n_clusters)
        if counts is None:
            raise ValueError(
                "n_clusters is needed: a distance_threshold makes another number of "
                "clusters at each parameter."
            )
        learner._check_room(instances, "Drawing", learner._family.curve_bytes)

        best = getattr(learner, f"{parameter}_")
        breakpoints, clusters = _clusters_of(learner._family, points, counts[0])
        piece = np.searchsorted(breakpoints[1:-1], best, side="right")
        rows = leaf_places(learner._family.tree(points, best))
        loss_curve = None
        if y is not None:
            rows = np.lexsort((rows, codes))
            loss = learner._fitted_loss
            labels = np.asarray(y) if callable(loss) else codes
            loss_curve = learner._family.curve(points, labels, loss)
        else:
            rows = np.argsort(rows)
        display = cls(
            breakpoints=breakpoints,
            clusters=match_clusters(clusters, piece, codes),
            order=rows,
            optimum=best,
            names=names_of(getattr(learner, PARAMETERS[parameter])),
            parameter=parameter,
            y=y,
            loss_curve=loss_curve,
            loss_name=name_of(learner._fitted_loss),
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax=None, *, show_loss=True, mesh_kwargs=None):
        """Draw the clusters, the classes, the learned parameter and the loss.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; new axes in a new figure by default. The loss is drawn just
            above them.

        show_loss : bool, default=True
            Whether to draw the loss of the instance, if it is known.

        mesh_kwargs : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.pcolormesh`.

        Returns
        -------
        display : ClusterStripDisplay
            This object, with the drawn artists.
        """
        plt = import_pyplot("ClusterStripDisplay")
        clusters, order = np.asarray(self.clusters), np.asarray(self.order)
        classes, codes = read_classes(self.y, clusters.shape[1])
        n_colors = max(clusters.max() + 1, 0 if classes is None else len(classes))
        colors = colors_of(int(n_colors))
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure

        self._draw_mesh(clusters[:, order], colors, mesh_kwargs or {})
        self.strip_ = None
        ax.set_yticks([])
        ax.set_ylabel(f"{len(order)} points")
        if codes is not None:
            self.strip_ = draw_runs(ax, codes[order], colors, "y")
            self._name_classes(classes, codes[order])
        self.loss_ax_ = self.line_ = None
        if show_loss and self.loss_curve is not None:
            self._draw_loss()
        self._draw_optimum()
        label_parameter_axis(ax, [self.names], [self.parameter])
        ax.set_xlabel(f"{symbol(self.parameter)} (learned: {self.optimum:.3f})")
        ax.set_xlim(0, 1)
        return self

    def _draw_mesh(self, rows, colors, kwargs):
        from matplotlib.colors import ListedColormap

        style = {
            "cmap": ListedColormap(colors),
            "vmin": -0.5,
            "vmax": len(colors) - 0.5,
            "rasterized": True,
        }
        edges = np.arange(rows.shape[1] + 1)
        self.mesh_ = self.ax_.pcolormesh(
            self.breakpoints, edges, rows.T, **{**style, **kwargs}
        )

    def _name_classes(self, classes, codes):
        """Name each class at the middle of its rows, as far as there is room."""
        sizes = np.bincount(codes)
        ends = np.cumsum(sizes)
        at, labels, room = [], [], len(codes) / 25
        for name, middle in zip(classes, ends - sizes / 2, strict=True):
            if not at or middle - at[-1] >= room:
                at.append(middle)
                labels.append(str(name))
        self.ax_.set_yticks(at, labels, fontsize="small")
        self.ax_.set_ylabel(f"{len(codes)} points by class")
        for end in ends[:-1]:
            self.ax_.axhline(end, color="white", linewidth=0.8)

    def _draw_loss(self):
        from matplotlib import rcParams

        self.loss_ax_ = self.ax_.inset_axes([0, 1.04, 1, 0.22], sharex=self.ax_)
        self.line_ = self.loss_curve.plot(
            self.loss_ax_, color=rcParams["text.color"], linewidth=1.2
        )
        self.loss_ax_.margins(y=0.15)
        self.loss_ax_.tick_params(axis="x", labelbottom=False)
        # The axes are too low for one line.
        label = f"{self.loss_name}\nloss" if self.loss_name else "loss"
        self.loss_ax_.set_ylabel(label, fontsize="small")

    def _draw_optimum(self):
        from matplotlib import rcParams
        from matplotlib.patheffects import Normal, Stroke

        self.optimum_ = self.ax_.axvline(
            self.optimum,
            color="black",
            linewidth=1.2,
            path_effects=[Stroke(linewidth=3, foreground="white"), Normal()],
        )
        if self.loss_ax_ is not None:
            color = rcParams["text.color"]
            self.loss_ax_.axvline(self.optimum, color=color, linewidth=1.2, zorder=1)


def _clusters_of(family, points, n_clusters):
    """Where the flat clusters of an instance change, and what they are between."""
    n_points = points.shape[-2]
    # Only the number of labels counts.
    labels = np.minimum(np.arange(n_points), n_clusters - 1).astype(np.intc)
    clusterings = FlatClusterings(labels, n_clusters)
    curve = family.curve(points, labels, clusterings)
    found = clusterings.found
    return curve.breakpoints, np.stack([found[int(i)] for i in curve.values])


def match_clusters(clusters, piece, codes=None):
    """Number clusters so that neighbouring pieces agree in as many points as they can.

    Parameters
    ----------
    clusters : ndarray of shape (n_pieces, n_points)
        Every piece has the same number of clusters, numbered from 0 in any way.

    piece : int
        Where to begin.

    codes : ndarray of shape (n_points,), default=None
        Classes that the clusters there are matched with.

    Returns
    -------
    ndarray of shape (n_pieces, n_points)
        The same clusters with other numbers.
    """
    matched = clusters.copy()
    if codes is not None:
        matched[piece] = _matched(clusters[piece], codes)
    for i in range(piece + 1, len(clusters)):
        matched[i] = _matched(clusters[i], matched[i - 1])
    for i in range(piece - 1, -1, -1):
        matched[i] = _matched(clusters[i], matched[i + 1])
    return matched


def _matched(clusters, target):
    size = max(clusters.max(), target.max()) + 1
    overlap = np.zeros((size, size), dtype=np.intp)
    np.add.at(overlap, (clusters, target), 1)
    _, number = linear_sum_assignment(overlap, maximize=True)
    return number[clusters]
