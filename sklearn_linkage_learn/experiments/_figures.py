"""Figures of experiments."""

import numpy as np

from .._piecewise import PiecewiseConstant, import_pyplot
from ..plotting import LossCurveDisplay
from ._tasks import USUAL_LINKAGES

_STYLES = {"single": ":", "average": "-.", "complete": "--", "ward": (0, (1, 4))}


def draw_curves(summaries, path):
    """Draw mean loss curves in the same axes, in the manner of the paper's figures.

    Parameters
    ----------
    summaries : list of dict
        Of tasks of one experiment that learn the same kind of parameter.

    path : Path
        Where to write the figure.
    """
    plt = import_pyplot("The figure")
    figure, ax = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
    same_count = len({summary["instances"] for summary in summaries}) == 1
    for summary in summaries:
        of_how_many = f"{summary['instances']} instances"
        task = summary["settings"]["task"]
        LossCurveDisplay(
            curve=PiecewiseConstant(
                np.array(summary["breakpoints"]), np.array(summary["values"])
            ),
            instance_curves=[],
            optimum=summary["optimum"],
            interval=summary["interval"],
            names=tuple(summary["ends"]),
            parameter=summary["parameter"],
            loss_name="hamming",
        ).plot(ax, name=task if same_count else f"{task}, {of_how_many}", band=None)
    # Room for the legend.
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.25 * (high - low))
    variant = summary["variant"]
    title = f"{variant}, {of_how_many}" if same_count else variant
    ax.set_title(title, fontsize="medium")
    figure.savefig(path, dpi=100)
    plt.close(figure)


def draw_carry_over(summary, path):
    """Draw the held-out loss against the number of instances learned from."""
    plt = import_pyplot("The figure")
    study = summary["carry_over"]
    sizes = [int(size) for size in study["sizes"]]
    mean, low, high = (
        [found[name] for found in study["sizes"].values()]
        for name in ("loss", "low", "high")
    )
    figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    ax.plot(sizes, mean, "o-", label=f"learned: {mean[-1]:.3f} in the end")
    ax.fill_between(sizes, low, high, alpha=0.2, label="80% of the repetitions")
    usual = {name: study["usual"][name]["loss"] for name in USUAL_LINKAGES}
    best = study["hindsight"]
    shown = [best, *low, *high, *_worth_showing(usual.values(), mean[-1])]
    for name, loss in usual.items():
        above = " (above)" if loss > max(shown) else ""
        label = f"{name}: {loss:.3f}{above}"
        ax.axhline(loss, color="0.45", linestyle=_STYLES[name], label=label)
    ax.axhline(best, color="C2", label=f"best in hindsight: {best:.3f}")
    margin = 0.05 * (max(shown) - min(shown)) or 0.01
    ax.set_ylim(min(shown) - margin, max(shown) + margin)
    ax.set_xscale("log")
    ax.set_xticks(sizes, map(str, sizes))
    ax.minorticks_off()
    ax.set_xlabel("instances learned from")
    ax.set_ylabel("loss of held-out instances")
    title = f"{summary['variant']}, {summary['settings']['task']}"
    ax.set_title(title, fontsize="medium")
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small", frameon=False)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _worth_showing(losses, learned):
    """Losses that are better than the learned one, and the next worse one.

    Others may be so bad that nothing could be told from these.
    """
    better = [loss for loss in losses if loss <= learned]
    worse = [loss for loss in losses if loss > learned]
    return [*better, *sorted(worse)[:1]]
