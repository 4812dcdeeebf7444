"""Exact curves against grid searches: what each costs, and what a grid leaves.

    python benchmarks/grid_search.py [--mnist PATH] [--json OUT] [--rst PAGE]

A grid search runs the algorithm at 100 or 1,000 equally spaced parameters and takes the
loss of each. fastcluster can do that for two metrics: distances are mixed, then linked.
It has no mix of two linkages, so there the grid runs our own clusterer; the same number
of runs of fastcluster's complete linkage, F, is what any grid would cost at least.

Times are medians over the first few instances (``--timed``). What a grid leaves is
found on all instances: the loss at its best parameter, less the least loss there is.
These losses are read off the exact curves; those of the timed grids are compared.
"""

from functools import partial

import numpy as np
from _common import (
    AVERAGE_COMPLETE,
    EUCLIDEAN_COSINE,
    SINGLE_COMPLETE,
    Problem,
    command_line,
    has_data,
    in_turn,
    number,
    report,
    seconds,
    settings_of,
    timed,
)

from sklearn_linkage_learn import PiecewiseConstant

GRIDS = (100, 1000)
# More points than this, and the execution tree takes minutes.
MOST_IN_TREE = 100
PROBLEMS = [
    Problem("rings and disks", 100, SINGLE_COMPLETE),
    Problem("rings and disks", 400, SINGLE_COMPLETE),
    Problem("digits", 100, SINGLE_COMPLETE),
    Problem("digits", 750, SINGLE_COMPLETE),
    Problem("digits", 750, AVERAGE_COMPLETE),
    Problem("MNIST", 1000, SINGLE_COMPLETE),
    Problem("digits", 100, ("complete",), EUCLIDEAN_COSINE),
    *(
        Problem("digits", 200, (linkage,), EUCLIDEAN_COSINE)
        for linkage in ("complete", "average", "single")
    ),
]


def grid_of(size):
    return np.linspace(0, 1, size)


def search(problem, size, distances, labels):
    return [problem.loss_at(t, distances, labels) for t in grid_of(size)]


def time_instance(problem, distances, labels, settings):
    """Seconds of the exact curve, of F, of the execution tree and of the grids."""
    exact, run = in_turn(
        partial(problem.curve, distances, labels), distances[0], settings.repeats
    )
    times = {"exact": exact, "F": run, "differences": 0}
    if problem.n <= MOST_IN_TREE:
        work = partial(problem.curve, distances, labels, "execution_tree")
        times["tree"] = seconds(work)
    curve = problem.curve(distances, labels)
    for size in GRIDS:
        times[size], losses = timed(partial(search, problem, size, distances, labels))
        times["differences"] += differences(curve, grid_of(size), losses)
    return times


def differences(curve, grid, losses):
    """How many losses differ from the curve, which does not fix its breakpoints.

    At 0, for one, equal distances may be merged in any order.
    """
    gaps = np.abs(grid[:, None] - curve.breakpoints).min(axis=1)
    return int(np.sum((curve(grid) != losses) & (gaps > 1e-12)))


def left_by_grid(curve, size):
    """How far the best of a grid is above the least loss."""
    return float(curve(grid_of(size)).min() - curve.min())


def measure(problem, settings, n_timed):
    """Times of some instances, the curves of all."""
    times, curves = [], []
    for seed in range(settings.instances):
        distances, labels = problem.instance(seed, settings.mnist)
        curves.append(problem.curve(distances, labels))
        if seed < n_timed:
            times.append(time_instance(problem, distances, labels, settings))
    n_different = sum(one.pop("differences") for one in times)
    times = {key: float(np.median([one[key] for one in times])) for key in times[0]}
    mean = PiecewiseConstant.mean(curves)
    left = {
        size: {
            "mean": left_by_grid(mean, size),
            "each": [left_by_grid(curve, size) for curve in curves],
        }
        for size in GRIDS
    }
    return {
        "times": times,
        "differences": n_different,
        "least": mean.min(),
        "left": left,
    }


def cost_row(problem, times):
    unit = times["exact"]
    return [
        str(problem),
        f"{1e3 * unit:.1f} ms",
        number(unit / times["F"]),
        number(times.get("tree", np.nan) / unit),
        *(number(times[size] / unit) for size in GRIDS),
        *(number(size * times["F"] / unit) for size in GRIDS),
    ]


def loss_row(problem, found):
    row = [str(problem), f"{found['least']:.4f}"]
    for size in GRIDS:
        each = np.array(found["left"][size]["each"])
        row += [f"{found['left'][size]['mean']:.5f}", f"{each.mean():.5f}"]
        row.append(f"{np.mean(each > 0):.0%}")
    return row


def tables_of(results, n_instances):
    costs = [
        "work",
        "exact curve",
        "in F",
        "execution tree",
        *(f"grid of {size:,}" for size in GRIDS),
        *(f"{size:,} F" for size in GRIDS),
    ]
    losses = ["work", "least mean loss"]
    for size in GRIDS:
        losses += [f"{size:,}: left", "left, each instance", "optimum missed"]
    return [
        (
            "Time; from the fourth column on, in times of the exact curve",
            costs,
            [cost_row(problem, found["times"]) for problem, found in results],
        ),
        (
            f"Loss left by a grid, on the mean curve of {n_instances} instances and "
            "on the curve of each",
            losses,
            [loss_row(problem, found) for problem, found in results],
        ),
    ]


def main(argv=None):
    parser = command_line(__doc__, instances=50, repeats=3)
    parser.add_argument("--timed", type=int, default=3, help="default: %(default)s")
    args = parser.parse_args(argv)
    settings = settings_of(args)
    results = []
    for problem in PROBLEMS:
        problem = problem.scaled(settings)
        if has_data(problem, settings):
            results.append((problem, measure(problem, settings, args.timed)))
            print(f"measured: {problem}", flush=True)
    tables = tables_of(results, settings.instances)
    numbers = {str(problem): found for problem, found in results}
    n_different = sum(found["differences"] for _, found in results)
    n_losses = len(results) * min(args.timed, settings.instances) * sum(GRIDS)
    note = (
        f"Of {n_losses:,} losses on grids, {n_different} differ from the exact curve "
        "where it has no breakpoint."
    )
    report(args, "grids", tables, numbers, note)


if __name__ == "__main__":
    main()
