"""What is told of experiments in numbers: summaries of runs, and tables of them."""

import csv
import json
from pathlib import Path
from statistics import fmean

from .._piecewise import PiecewiseConstant, widest_optimal_interval
from ._carry_over import GRIDS, SIZES, TOLERANCES, carry_over
from ._tasks import USUAL_LINKAGES


def summarize(curves, usual):
    """Collect the numbers that are told of curves.

    Parameters
    ----------
    curves : list of PiecewiseConstant
        The loss of each instance.

    usual : list of dict
        Losses of usual linkages, for at least as many instances.

    Returns
    -------
    summary : dict
        What can be written as JSON. ``breakpoints`` and ``values`` are those of the
        mean curve, ``carry_over`` is what :func:`carry_over` finds, or None if there
        are too few instances to hold some out.
    """
    mean = PiecewiseConstant.mean(curves)
    start, stop = widest_optimal_interval(mean)
    return {
        "instances": len(curves),
        "optimum": (start + stop) / 2,
        "interval": (start, stop),
        "loss": mean.min(),
        "at_0": mean(0),
        "at_1": mean(1),
        "gain": min(mean(0), mean(1)) - mean.min(),
        "discontinuities": fmean(curve.n_pieces - 1 for curve in curves),
        "carry_over": carry_over(curves, usual) if len(curves) >= 4 else None,
        "breakpoints": mean.breakpoints.tolist(),
        "values": mean.values.tolist(),
    }


def write_summary(summary, stem):
    """Write all of it as JSON, and the mean curve as CSV."""
    Path(f"{stem}.json").write_text(json.dumps(summary), encoding="utf-8")
    starts, values = summary["breakpoints"][:-1], summary["values"]
    rows = zip(starts, summary["breakpoints"][1:], values, strict=True)
    _write_csv(f"{stem}.csv", ["from", "to", "mean_loss"], *rows)


def read_summaries(directory):
    """All that earlier runs have written to a directory."""
    paths = sorted(Path(directory).glob("*.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def table_of_results(summaries):
    """Rows of texts, the first one with names: what was learned, and the paper's."""
    names = ["experiment", "task", "instances", "optimum", "(paper)", "interval"]
    names += ["loss", "at 0", "at 1", "gain", "(paper)", "jumps", "(paper)", "seconds"]
    rows = [names]
    for summary in summaries:
        paper = summary["paper"]
        rows.append(
            [
                *_name_of(summary),
                str(summary["instances"]),
                f"{summary['optimum']:.3f}",
                f"{paper.get('optimum', '')}",
                "{:.6f} to {:.6f}".format(*summary["interval"]),
                *(f"{summary[name]:.4f}" for name in ("loss", "at_0", "at_1", "gain")),
                f"{paper.get('gain', '')}",
                f"{summary['discontinuities']:.1f}",
                f"{paper.get('discontinuities', '')}",
                f"{summary['seconds']:.1f}",
            ]
        )
    return rows


def table_of_sizes(summaries):
    """Mean held-out loss after learning from so many instances, and in hindsight."""
    sizes = [str(size) for size in SIZES]
    rows = [["experiment", "task", *sizes, "half", "hindsight"]]
    for summary in summaries:
        study = summary["carry_over"]
        by_size = [study["sizes"].get(size) for size in sizes]
        rows.append(
            [
                *_name_of(summary),
                *("" if found is None else f"{found['loss']:.4f}" for found in by_size),
                f"{study['loss']:.4f}",
                f"{study['hindsight']:.4f}",
            ]
        )
    return rows


def table_of_usual(summaries):
    """Held-out loss of usual linkages beside that of what was learned."""
    rows = [["experiment", "task", "learned", *USUAL_LINKAGES]]
    for summary in summaries:
        study = summary["carry_over"]
        rows.append(
            [
                *_name_of(summary),
                f"{study['loss']:.4f}",
                *(
                    "{loss:.4f} ({excess:+.4f} ± {margin:.4f})".format(
                        **study["usual"][name]
                    )
                    for name in USUAL_LINKAGES
                ),
            ]
        )
    return rows


def table_of_widths(summaries):
    """How much of [0, 1] is almost optimal, and what grids lose."""
    names = [f"within {tol}" for tol in TOLERANCES]
    names += [f"grid of {count}" for count in GRIDS]
    rows = [["experiment", "task", "optimal", *names]]
    for summary in summaries:
        study = summary["carry_over"]
        start, stop = summary["interval"]
        rows.append(
            [
                *_name_of(summary),
                f"{stop - start:.1g}",
                *(f"{study['width'][str(tol)]:.3f}" for tol in TOLERANCES),
                *(
                    "{learning:.5f} ({held_out:+.5f})".format(
                        **study["grids"][str(count)]
                    )
                    for count in GRIDS
                ),
            ]
        )
    return rows


TABLES_OF_CARRY_OVER = {
    "sizes": table_of_sizes,
    "usual": table_of_usual,
    "widths": table_of_widths,
}


def write_tables(summaries, directory):
    """Write each table as CSV."""
    _write_csv(directory / "results.csv", *table_of_results(summaries))
    studied = [summary for summary in summaries if summary["carry_over"]]
    for name, table in TABLES_OF_CARRY_OVER.items():
        _write_csv(directory / f"{name}.csv", *table(studied))


def as_text(rows):
    """Align the columns of a table: names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            text.ljust(width) if i < 2 else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def _name_of(summary):
    return summary["variant"], summary["settings"]["task"]


def _write_csv(path, *rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
