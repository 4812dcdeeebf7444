"""Pictures of what a learner found, in the manner of scikit-learn's displays."""

import numpy as np
from sklearn.exceptions import NotFittedError

from ._errors import as_numbers
from ._piecewise import import_pyplot

__all__ = ["LossCurveDisplay"]

# Names of fitted attributes: the learned weight, its interval, what it mixes.
_PARAMETERS = {"alpha": "linkages", "beta": "metrics"}
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

    Attributes
    ----------
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

    texts_ : list of matplotlib Annotation
        The losses of the two ends.

    See Also
    --------
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
    ):
        self.curve = curve
        self.instance_curves = instance_curves
        self.optimum = optimum
        self.interval = interval
        self.names = names
        self.parameter = parameter
        self.loss_name = loss_name

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, **kwargs):
        """Draw the loss curve of a fitted learner.

        Parameters
        ----------
        estimator : LearnedLinkage or another learner with its fitted attributes
            Fitted.

        ax : matplotlib Axes, default=None
            Where to draw; new axes in a new figure by default.

        **kwargs
            Passed to :meth:`plot`.

        Returns
        -------
        display : LossCurveDisplay
            With the drawn artists.
        """
        parameter = _fitted_parameter(estimator)
        mixed = getattr(estimator, _PARAMETERS[parameter])
        loss = getattr(estimator, "loss", None)
        display = cls(
            curve=estimator.loss_curve_,
            instance_curves=estimator.instance_curves_,
            optimum=getattr(estimator, f"{parameter}_"),
            interval=getattr(estimator, f"{parameter}_interval_"),
            names=_names_of(mixed),
            parameter=parameter,
            loss_name=None if loss is None else _name_of(loss),
        )
        return display.plot(ax, **kwargs)

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
            instances.

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
            _, ax = plt.subplots()
        self.ax_, self.figure_ = ax, ax.figure

        n_instances = len(self.instance_curves)
        if name is None:
            name = f"mean of {n_instances} instances" if n_instances > 1 else "loss"
        self.line_ = self.curve.plot(
            ax, **{"label": name, "linewidth": 1.5, "zorder": 2, **(line_kwargs or {})}
        )
        self.band_ = None
        if band is not None and n_instances > 1:
            self.band_ = self._draw_band(band, band_kwargs or {})
        self._draw_ends()
        self._draw_optimum()
        self._label_axes()
        return self

    def _draw_band(self, band, kwargs):
        edges = np.linspace(0, 1, _N_BAND_STEPS + 1)
        middles = (edges[:-1] + edges[1:]) / 2
        losses = np.stack([curve(middles) for curve in self.instance_curves])
        low, high = np.quantile(losses, band, axis=0)
        style = {
            "fill": True,
            "facecolor": self.line_.get_edgecolor(),
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
                xytext=(0, 6),
                textcoords="offset points",
                ha="center",
                fontsize="small",
            )
            for x, loss in zip(at, losses, strict=True)
        ]

    def _draw_optimum(self):
        color = self.line_.get_edgecolor()
        self.ax_.axvspan(
            *self.interval, color=color, alpha=0.25, linewidth=0.8, zorder=0
        )
        loss = self.curve(self.optimum)
        # In the legend, its label cannot cover the curve.
        (self.optimum_,) = self.ax_.plot(
            [self.optimum],
            [loss],
            "o",
            markeredgecolor=color,
            markerfacecolor="white",
            markersize=6,
            zorder=4,
            label=f"{loss:.3f} at {_symbol(self.parameter)} = {self.optimum:.3f}",
        )

    def _label_axes(self):
        ax = self.ax_
        ticks = np.linspace(0, 1, 6)
        labels = [f"{tick:g}" for tick in ticks]
        labels[0] += f"\n{self.names[0]}"
        labels[-1] += f"\n{self.names[1]}"
        ax.set_xticks(ticks, labels)
        # Room for the losses of both ends.
        ax.set_xlim(-0.07, 1.07)
        ax.margins(y=0.1)
        # The symbol stands between the names, in the second line of the tick labels.
        ax.set_xlabel(_symbol(self.parameter), labelpad=-8)
        ax.set_ylabel(f"mean {self.loss_name} loss" if self.loss_name else "mean loss")
        ax.legend(loc="best", fontsize="small", frameon=False)


def _check_band(band):
    if band is None:
        return
    quantiles = as_numbers("band", band)
    if quantiles.shape != (2,) or not 0 <= quantiles[0] <= quantiles[1] <= 1:
        raise ValueError(
            f"band must be None or two rising quantiles in [0, 1], got {band!r}."
        )


def _fitted_parameter(estimator):
    for parameter in _PARAMETERS:
        if hasattr(estimator, f"{parameter}_"):
            return parameter
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be a fitted learner, found {estimator!r}.")
    raise NotFittedError(
        f"This {type(estimator).__name__} has no loss curve: learners have, after fit."
    )


def _names_of(mixed):
    if isinstance(mixed, str):
        return "first metric", "second metric"
    return tuple(_name_of(part) for part in mixed)


def _name_of(part):
    """Name of a linkage, loss or metric: a str, a callable or ``(name, ...)``."""
    if isinstance(part, tuple):
        part = part[0]
    return part if isinstance(part, str) else getattr(part, "__name__", repr(part))


def _symbol(parameter):
    return f"$\\{parameter}$"
