"""What displays share: whose picture it is, and its names and colours."""

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from .._errors import blame
from .._instances import read_labels

# Names of fitted attributes: the learned weight, its interval, what it mixes.
PARAMETERS = {"alpha": "linkages", "beta": "metrics"}
# Those of matplotlib's tab10 but grey, which is for what has no class; then lighter
# ones of the same hues.
_COLORS = (
    *("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd"),
    *("#8c564b", "#e377c2", "#bcbd22", "#17becf", "#20295c"),
    *("#aec7e8", "#ffbb78", "#98df8a", "#ff9896", "#c5b0d5"),
    *("#c49c94", "#f7b6d2", "#dbdb8d", "#9edae5", "#8c96c9"),
)
NO_CLASS = "0.6"
# More classes than that have no room in a legend.
_MOST_CLASSES = 21


def unwrap(estimator):
    """Take a learner out of pipelines and searches.

    Returns
    -------
    learner : estimator
        What is left: the last step, or the best estimator.

    transform : callable
        What the steps before it do to `X`.
    """
    transforms = []
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            if len(estimator) > 1:
                transforms.append(estimator[:-1].transform)
            estimator = estimator[-1]
        else:
            break

    def transform(X):
        for step in transforms:
            X = step(X)
        return X

    return estimator, transform


def fitted_parameter(estimator):
    """Name the parameter that a learner has learned, or refuse what has none."""
    for parameter in PARAMETERS:
        if hasattr(estimator, f"{parameter}_"):
            return parameter
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must be a fitted learner, found {estimator!r}.")
    raise NotFittedError(
        f"This {type(estimator).__name__} has no loss curve: learners have, after fit."
    )


def names_of(mixed):
    """Names of the two linkages or metrics that a learner mixes."""
    if isinstance(mixed, str):
        return "first metric", "second metric"
    return tuple(map(name_of, mixed))


def name_of(part):
    """Name of a linkage, loss or metric: a str, a callable or ``(name, ...)``."""
    if isinstance(part, tuple):
        part = part[0]
    return part if isinstance(part, str) else getattr(part, "__name__", repr(part))


def symbol(parameter):
    """The Greek letter of a parameter."""
    return f"$\\{parameter}$"


def label_parameter_axis(ax, names, parameters):
    """Name what stands at 0 and at 1, and the parameter between them.

    Parameters
    ----------
    ax : matplotlib Axes

    names : list of (str, str)
        What stands at 0 and at 1, of one family of algorithms or of several.

    parameters : list of str
    """
    ticks = np.linspace(0, 1, 6)
    labels = [f"{tick:g}" for tick in ticks]
    for tick, ends in zip((0, -1), zip(*names, strict=True), strict=True):
        labels[tick] = "\n".join([labels[tick], *dict.fromkeys(ends)])
    ax.set_xticks(ticks, labels)
    # The symbol stands between the names, in the last line of the tick labels.
    ax.set_xlabel(", ".join(map(symbol, dict.fromkeys(parameters))), labelpad=-8)


def check_one(instances):
    """Refuse a collection where one instance is drawn."""
    if not instances.single:
        raise ValueError(
            f"X must be one instance, found a collection of {len(instances)}: pass one "
            "of them, such as X[0]."
        )


def read_classes(y, n_points):
    """Validate the labels of one instance: its classes, and the code of each point."""
    if y is None:
        return None, None
    with blame("y"):
        labels = read_labels(y, n_points)
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes


def colors_of(count):
    """Colours of so many classes or clusters, as an array of RGBA rows."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgba_array

    if count <= len(_COLORS):
        return to_rgba_array(_COLORS[:count])
    # Steps of the golden ratio keep all of them apart, and neighbours far apart.
    return colormaps["turbo"](np.arange(count) * 0.6180339887 % 1)


def draw_runs(ax, codes, colors, axis):
    """Draw the class of each place of an axis, in a narrow strip beside it.

    Parameters
    ----------
    ax : matplotlib Axes

    codes : ndarray of shape (n_places,)
        A row of `colors` for each place: place i is from i to i + 1 on the axis.

    colors : array-like of colours

    axis : {"x", "y"}
        Below the axes, or to their left.

    Returns
    -------
    matplotlib LineCollection
        One line for each run of equal codes.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.transforms import ScaledTranslation

    edges = np.flatnonzero(np.diff(codes, prepend=codes[0] - 1, append=codes[-1] - 1))
    ends = np.column_stack([edges[:-1], edges[1:]])
    segments = np.zeros((len(ends), 2, 2))
    segments[:, :, "xy".index(axis)] = ends
    # Its width is in points, and so has to be its distance from the axes.
    offset = (0, -6 / 72) if axis == "x" else (-6 / 72, 0)
    along = ax.get_xaxis_transform() if axis == "x" else ax.get_yaxis_transform()
    strip = LineCollection(
        segments,
        colors=np.asarray(colors)[codes[edges[:-1]]],
        linewidths=7,
        capstyle="butt",
        antialiased=False,
        transform=along + ScaledTranslation(*offset, ax.figure.dpi_scale_trans),
        clip_on=False,
    )
    ax.add_collection(strip, autolim=False)
    ax.tick_params(axis=axis, length=0, pad=12)
    return strip


def add_class_legend(ax, classes, colors, handles):
    """Name the classes beside the axes, below what `handles` are for.

    Parameters
    ----------
    ax : matplotlib Axes

    classes : sequence or None

    colors : sequence of colours
        One for each class.

    handles : list of matplotlib Artist
        Entries that come first.
    """
    from matplotlib.patches import Patch

    classes = [] if classes is None else classes
    if len(classes) <= _MOST_CLASSES:
        handles = handles + [
            Patch(color=color, label=str(name))
            for name, color in zip(classes, colors, strict=True)
        ]
    if handles:
        ax.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            fontsize="small",
            frameon=False,
        )
