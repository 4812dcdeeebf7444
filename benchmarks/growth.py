"""How the cost of a curve grows with the number of points.

    python benchmarks/growth.py [--mnist PATH] [--plot OUT] [--json OUT] [--rst PAGE]

Time, events and time by event against n, on instances of MNIST if it is given, else
of rings and disks; medians over instances. Beside them stand a run at one parameter and
a run of fastcluster. Exponents are those of least squares in the logarithms.
"""

from functools import partial

import numpy as np
from _common import (
    AVERAGE_COMPLETE,
    SINGLE_COMPLETE,
    Problem,
    command_line,
    in_turn,
    medians,
    number,
    report,
    settings_of,
    work_of,
)

SIZES = (125, 250, 500, 1000, 2000)
CURVES = {"single-complete": SINGLE_COMPLETE, "average-complete": AVERAGE_COMPLETE}
RUN, FASTCLUSTER = "one run of average-complete", "fastcluster, complete"
# Okabe and Ito's colours, which colour-blind readers can tell apart.
STYLES = {
    "single-complete": ("#D55E00", "o"),
    "average-complete": ("#0072B2", "s"),
    RUN: ("#009E73", "^"),
    FASTCLUSTER: ("#000000", "D"),
}


def measure(data, n, settings):
    """Median times in seconds, and counts of work, by what was done."""
    found = {name: [] for name in STYLES}
    for seed in range(settings.instances):
        for name, linkages in CURVES.items():
            problem = Problem(data, n, linkages)
            distances, labels = problem.instance(seed, settings.mnist)
            work = partial(problem.curve, distances, labels)
            work()
            time, run = in_turn(work, distances[0], settings.repeats)
            counts = work_of(problem.pieces(distances, labels))
            found[name].append({"seconds": time, **counts})
            found[FASTCLUSTER].append({"seconds": run})
        work = partial(problem.run_at, 0.5, distances)
        time, _ = in_turn(work, distances[0], settings.repeats)
        found[RUN].append({"seconds": time})
    return {name: medians(many) for name, many in found.items()}


def exponent(sizes, values):
    if not np.all(values > 0):
        return np.nan
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def column(measured, name, key):
    return np.array([at_n[name].get(key, np.nan) for at_n in measured.values()])


def quantities(measured):
    """What is drawn and tabled: by title, the numbers of each name."""
    time = {name: 1e3 * column(measured, name, "seconds") for name in STYLES}
    events = {name: column(measured, name, "events") for name in CURVES}
    each = {name: 1e3 * time[name] / np.maximum(events[name], 1) for name in CURVES}
    found = {"time, ms": time, "events": events, "time by event, µs": each}
    first = next(iter(measured.values()))[next(iter(CURVES))]
    for key in [key for key in first if key not in ("seconds", "trees", "events")]:
        found[f"{key} by event"] = {
            name: column(measured, name, key) / np.maximum(events[name], 1)
            for name in CURVES
        }
    return found


def rows_of(measured):
    sizes = list(measured)
    return [
        [title, name, *map(number, values), number(exponent(sizes, values))]
        for title, by_name in quantities(measured).items()
        for name, values in by_name.items()
    ]


def draw_plot(measured, data, path):
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullLocator

    panels = list(quantities(measured).items())[:3]
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
    sizes = list(measured)
    for ax, (title, by_name) in zip(axes, panels, strict=True):
        for name, values in by_name.items():
            color, marker = STYLES[name]
            ax.loglog(
                sizes,
                values,
                color=color,
                marker=marker,
                markersize=5,
                label=f"{name}: $n^{{{exponent(sizes, values):.1f}}}$",
            )
        ax.set(title=title, xlabel=f"points of an instance of {data}, $n$")
        ax.set_xticks(sizes, sizes)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.grid(color="0.9")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(
            loc="upper center",
            bbox_to_anchor=(0.5, -0.2),
            frameon=False,
            fontsize="small",
        )
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(argv=None):
    parser = command_line(__doc__, instances=3, repeats=3)
    parser.add_argument("--plot", metavar="OUT", help="where to write the plot")
    args = parser.parse_args(argv)
    settings = settings_of(args)
    data = "MNIST" if args.mnist else "rings and disks"
    measured = {}
    for n in SIZES:
        n = Problem(data, n, SINGLE_COMPLETE).scaled(settings).n
        measured[n] = measure(data, n, settings)
        print(f"measured: n = {n}", flush=True)
    header = ["", f"on {data}", *(f"n = {n}" for n in measured), "exponent"]
    tables = [("Growth with the number of points", header, rows_of(measured))]
    report(args, "growth", tables, measured)
    if args.plot:
        draw_plot(measured, data, args.plot)


if __name__ == "__main__":
    main()
