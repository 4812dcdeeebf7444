"""The loss curve of a learner, or of several, in one picture."""

import numpy as np

from .._errors import as_numbers
from .._piecewise import import_pyplot
from ._common import (
    PARAMETERS,
    fitted_parameter,
    name_of,
    names_of,
    symbol,
    unwrap,
)
from ._shared_axes import arrange

# Enough for one band value per two or three pixels of an ordinary figure.
_N_BAND_STEPS = 400


class LossCurveDisplay:
    """Mean loss of a family of algorithms at every parameter, and its optimum.

    Made by :meth:`from_estimator`; the constructor takes what that computes.

    Parameters
    ----------
    curve : PiecewiseConstant
        Mean loss of the instances.

    instance_curves : list of PiecewiseConstant
        Loss of each instance, for the band that shows their spread.

    optimum : float
        The learned parameter.

    interval : tuple of two floats
        The interval that `optimum` was taken from.

    names : tuple of two str
        What stands at parameter 0 and at parameter 1.

    parameter : str, default="alpha"
        Name of the parameter.

    loss_name : str, default=None
        Name of the loss, for the axis.

    instance_weight : array-like of shape (n_instances,), default=None
        Weights of the instances in the mean, and in the band: a quantile is then the
        least loss such that instances up to it have that share of all weight.

    Attributes
    ----------
    name_ : str
        The name of the curve among several.

    ax_ : matplotlib Axes
        Where the curve was drawn.

    figure_ : matplotlib Figure
        The figure of `ax_`.

    line_ : matplotlib StepPatch
        The mean loss.

    band_ : matplotlib StepPatch or None
        The spread of the instances; None if there is no band.

    ends_, optimum_ : matplotlib Line2D
        The marks of the loss at parameters 0 and 1, and at the optimum.

    span_ : matplotlib Patch
        The optimal interval.

    texts_ : list of matplotlib Annotation
        The losses of the two ends. Where those of several curves in the same axes
        would overlap, some are hidden.

    See Also
    --------
    ClusterStripDisplay : The clusters of one instance at every parameter.
    PiecewiseConstant.plot : Draw a single curve.

    Examples
    --------
    >>> from sklearn_linkage_learn import LearnedLinkage
    >>> from sklearn_linkage_learn.datasets import make_rings_and_disks
    >>> from sklearn_linkage_learn.plotting import LossCurveDisplay
    >>> X, y = make_rings_and_disks(5, n_per_cluster=15, random_state=0)
    >>> learner = LearnedLinkage().fit(X, y)
    >>> display = LossCurveDisplay.from_estimator(learner)
    >>> display.figure_.savefig("loss.png")  # doctest: +SKIP

    Another learner in the same axes:

    >>> other = LearnedLinkage(("average", "complete")).fit(X, y)
    >>> display = LossCurveDisplay.from_estimator(other, ax=display.ax_)
    """

    def __init__(
        self,
        *,
        curve,
        instance_curves,
        optimum,
        interval,
        names,
        parameter="alpha",
        loss_name=None,
        instance_weight=None,
    ):
        self.curve = curve
        self.instance_curves = instance_curves
        self.optimum = optimum
        self.interval = interval
        self.names = names
        self.parameter = parameter
        self.loss_name = loss_name
        self.instance_weight = instance_weight

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, **kwargs):
        """Draw the loss curve of a fitted learner.

        Parameters
        ----------
        estimator : LearnedLinkage or another learner with its fitted attributes
            Fitted. A pipeline or a search stands for the learner inside.

        ax : matplotlib Axes, default=None
            Where to draw; new axes in a new figure by default. Axes may hold the
            curves of several learners.

        **kwargs
            Passed to :meth:`plot`.

        Returns
        -------
        display : LossCurveDisplay
            With the drawn artists.
        """
        return cls._of(estimator).plot(ax, **kwargs)

    @classmethod
    def from_estimators(cls, estimators, *, ax=None, **kwargs):
        """Draw the loss curves of several fitted learners in the same axes.

        Parameters
        ----------
        estimators : dict
            Fitted learners by the names that they have in the legend.

        ax : matplotlib Axes, default=None
            Where to draw; new axes in a new figure by default.

        **kwargs
            Passed to :meth:`plot` of each display.

        Returns
        -------
        displays : dict
            The display of each learner, by name.

        Examples
        --------
        >>> from sklearn_linkage_learn import LearnedLinkage
        >>> from sklearn_linkage_learn.datasets import make_rings_and_disks
        >>> from sklearn_linkage_learn.plotting import LossCurveDisplay
        >>> X, y = make_rings_and_disks(5, n_per_cluster=15, random_state=0)
        >>> learners = {
        ...     first: LearnedLinkage((first, "complete")).fit(X, y)
        ...     for first in ("single", "average")
        ... }
        >>> list(LossCurveDisplay.from_estimators(learners))
        ['single', 'average']
        """
        if not hasattr(estimators, "items") or not estimators:
            raise TypeError(
                "estimators must be a dict of fitted learners by name, found "
                f"{estimators!r}."
            )
        displays = {name: cls._of(learner) for name, learner in estimators.items()}
        for name, display in displays.items():
            ax = display.plot(ax, name=str(name), **kwargs).ax_
        return displays

    @classmethod
    def _of(cls, estimator):
        learner, _ = unwrap(estimator)
        parameter = fitted_parameter(learner)
        loss = getattr(learner, "loss", None)
        return cls(
            curve=learner.loss_curve_,
            instance_curves=learner.instance_curves_,
            optimum=getattr(learner, f"{parameter}_"),
            interval=getattr(learner, f"{parameter}_interval_"),
            names=names_of(getattr(learner, PARAMETERS[parameter])),
            parameter=parameter,
            loss_name=None if loss is None else name_of(loss),
            instance_weight=_differing(learner.instance_weight_),
        )

    def plot(
        self,
        ax=None,
        *,
        name=None,
        band=(0.25, 0.75),
        line_kwargs=None,
        band_kwargs=None,
    ):
        """Draw the mean loss, the spread of the instances and the optimum.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; new axes in a new figure by default.

        name : str, default=None
            Label of the curve in the legend. By default it tells the number of
            instances, or what is mixed if there are several curves.

        band : tuple of two floats or None, default=(0.25, 0.75)
            Quantiles of the instances' losses between which the band lies, or None
            for no band. Needs at least two instances.

        line_kwargs, band_kwargs : dict, default=None
            Passed to :meth:`matplotlib.axes.Axes.stairs` for the curve and the band.

        Returns
        -------
        display : LossCurveDisplay
            This object, with the drawn artists.
        """
        plt = import_pyplot("LossCurveDisplay")
        _check_band(band)
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure

        self.name_ = name or " to ".join(self.names)
        n_instances = len(self.instance_curves)
        if name is None:
            mean = "mean" if self.instance_weight is None else "weighted mean"
            name = f"{mean} of {n_instances} instances" if n_instances > 1 else "loss"
        self.line_ = self.curve.plot(
            ax, **{"label": name, "linewidth": 1.5, "zorder": 2, **(line_kwargs or {})}
        )
        # Whoever draws here next finds this display by it.
        self.line_.loss_curve_display = self
        self.band_ = None
        if band is not None and n_instances > 1:
            self.band_ = self._draw_band(band, band_kwargs or {})
        self._draw_ends()
        self._draw_optimum()
        arrange(ax)
        return self

    def _draw_band(self, band, kwargs):
        edges = np.linspace(0, 1, _N_BAND_STEPS + 1)
        middles = (edges[:-1] + edges[1:]) / 2
        losses = np.stack([curve(middles) for curve in self.instance_curves])
        low, high = _quantiles(losses, band, self.instance_weight)
        style = {
            "fill": True,
            "color": self.line_.get_edgecolor(),
            "alpha": 0.15,
            "linewidth": 0,
            "zorder": 1,
            "label": f"{band[0]:.0%} to {band[1]:.0%} of the instances",
        }
        artist = self.ax_.stairs(high, edges, baseline=low, **{**style, **kwargs})
        # A histogram stands on its axis; a band keeps away from it.
        artist.sticky_edges.y.clear()
        return artist

    def _draw_ends(self):
        at, losses = np.array([0.0, 1.0]), self.curve([0, 1])
        style = {"color": self.line_.get_edgecolor(), "markersize": 5, "zorder": 3}
        (self.ends_,) = self.ax_.plot(at, losses, "o", **style)
        self.texts_ = [
            self.ax_.annotate(
                f"{loss:.3f}",
                (x, loss),
                xytext=(0, 0),
                textcoords="offset points",
                fontsize="small",
            )
            for x, loss in zip(at, losses, strict=True)
        ]

    def _draw_optimum(self):
        color = self.line_.get_edgecolor()
        self.span_ = self.ax_.axvspan(
            *self.interval, color=color, alpha=0.25, linewidth=0.8, zorder=0
        )
        loss = self.curve(self.optimum)
        # In the legend, its label cannot cover the curve.
        (self.optimum_,) = self.ax_.plot(
            [self.optimum],
            [loss],
            "o",
            color=color,
            markerfacecolor="white",
            markersize=6,
            zorder=4,
            label=f"{loss:.3f} at {symbol(self.parameter)} = {self.optimum:.3f}",
        )


def _check_band(band):
    if band is None:
        return
    quantiles = as_numbers("band", band)
    if quantiles.shape != (2,) or not 0 <= quantiles[0] <= quantiles[1] <= 1:
        raise ValueError(
            f"band must be None or two rising quantiles in [0, 1], got {band!r}."
        )


def _differing(weights):
    """The weights, or None if all are the same."""
    return None if np.ptp(weights) == 0 else weights


def _quantiles(values, quantiles, weights=None):
    """Quantiles of each column; with weights, of the distribution that they make."""
    if weights is None:
        return np.quantile(values, quantiles, axis=0)
    weights = as_numbers("instance_weight", weights)
    values, weights = values[weights > 0], weights[weights > 0]
    order = np.argsort(values, axis=0)
    values = np.take_along_axis(values, order, axis=0)
    shares = np.cumsum(weights[order], axis=0)
    # Sums of weights are rounded.
    shares /= shares[-1] * (1 - 1e-12)
    return [
        np.take_along_axis(values, np.argmax(shares >= q, axis=0)[None], axis=0)[0]
        for q in quantiles
    ]
