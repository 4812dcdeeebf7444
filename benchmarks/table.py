"""What exact curves cost, in runs of fastcluster, against what they should cost.

    python benchmarks/table.py [--mnist PATH] [--only NAME] [--json OUT] [--rst PAGE]

F is the time of ``fastcluster.linkage(distances, "complete")`` on the same points,
measured by turns with the work. Distances are given to both; the loss is included.
Every instance is worked on in a fresh process, one after the other, by one thread
unless the row says more. Numbers are medians over instances: of the warm calls, of the
first call in the process, of the engine's counts, and of the memory by which the
process grows in its first call (the peak of its resident memory, which Linux resets on
request; it includes the pages of the code itself).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from _common import (
    AVERAGE_COMPLETE,
    EUCLIDEAN_COSINE,
    SINGLE_COMPLETE,
    Problem,
    command_line,
    has_data,
    in_fresh_process,
    in_turn,
    medians,
    number,
    peak_extra_bytes,
    report,
    seconds,
    settings_of,
    work_of,
)

from sklearn_linkage_learn import LearnedLinkage
from sklearn_linkage_learn.datasets import make_rings_and_disks

MERGE_FAMILIES = (SINGLE_COMPLETE, AVERAGE_COMPLETE)
# How many times fewer points the smaller instances have if growth is measured.
GROWTH = 8


def measure_curve(problem, settings, seed):
    """An exact curve, in runs of fastcluster."""
    distances, labels = problem.instance(seed, settings.mnist)
    work = partial(problem.curve, distances, labels)
    first = []
    rise = peak_extra_bytes(lambda: first.append(seconds(work)))
    warm, run = in_turn(work, distances[0], settings.repeats)
    return {
        "value": warm / run,
        "first": first[0] / run,
        "memory": None if rise is None else rise / problem.n**2,
        **work_of(problem.pieces(distances, labels)),
    }


def measure_against_tree(problem, settings, seed):
    """An exact curve, as a fraction of the execution tree's time."""
    measured = measure_curve(problem, settings, seed)
    distances, labels = problem.instance(seed, settings.mnist)
    work = partial(problem.curve, distances, labels, "execution_tree")
    tree, run = in_turn(work, distances[0], repeats=1)
    for key in ("value", "first"):
        measured[key] *= run / tree
    return measured


def measure_fixed_run(problem, settings, seed):
    """A run at one parameter, in runs of fastcluster."""
    distances, _ = problem.instance(seed, settings.mnist)
    work = partial(problem.run_at, 0.5, distances)
    first = seconds(work)
    warm, run = in_turn(work, distances[0], settings.repeats)
    return {"value": warm / run, "first": first / run}


def measure_growth(problem, settings, seed):
    """The power of n by which the time of a curve grows."""
    times = []
    for part in (replace(problem, n=problem.n // GROWTH), problem):
        distances, labels = part.instance(seed, settings.mnist)
        work = partial(part.curve, distances, labels)
        work()
        times.append(in_turn(work, distances[0], settings.repeats)[0])
    return {"value": float(np.log(times[1] / times[0]) / np.log(GROWTH))}


def measure_jobs(problem, settings, seed, n_instances):
    """How many times faster two threads are than one."""
    X, y = _collection(problem, settings, seed, n_instances)
    times = {1: [], 2: []}
    for _ in range(settings.repeats):
        for n_jobs, found in times.items():
            learner = LearnedLinkage(problem.linkages, n_jobs=n_jobs)
            found.append(seconds(partial(learner.fit, X, y)))
    return {"value": float(np.median(times[1]) / np.median(times[2]))}


def measure_fit(problem, settings, seed, n_instances):
    """Seconds of a whole fit by two threads, distances included."""
    X, y = _collection(problem, settings, seed, n_instances)
    learner = LearnedLinkage(problem.linkages, n_jobs=2)
    return {"value": seconds(partial(learner.fit, X, y))}


def _collection(problem, settings, seed, n_instances):
    n_instances = max(int(n_instances * settings.scale), 4)
    return make_rings_and_disks(
        n_instances, n_per_cluster=problem.n // 4, random_state=seed
    )


@dataclass(frozen=True)
class Row:
    """A work, and the bounds of its value."""

    problem: Problem | None
    must: float
    aim: float | None
    measure: Callable = measure_curve
    unit: str = "F"
    what: str = ""
    at_least: bool = False
    one_instance: bool = False

    def __str__(self):
        return f"{self.what}{self.problem or ''}"


DIGITS = partial(Problem, "digits", 200)
RINGS = Problem("rings and disks", 400, SINGLE_COMPLETE)
ROWS = [
    Row(Problem("digits", 750, SINGLE_COMPLETE), 20, 10),
    Row(Problem("MNIST", 1000, SINGLE_COMPLETE), 30, 15),
    Row(Problem("digits", 750, AVERAGE_COMPLETE), 10, 5),
    Row(Problem("MNIST", 1000, AVERAGE_COMPLETE), 10, 5),
    Row(DIGITS(("complete",), EUCLIDEAN_COSINE), 15, 8),
    Row(DIGITS(("complete",), ("upper half", "lower half")), 120, 40),
    Row(DIGITS(("complete",), ("euclidean", "shuffled")), 120, 40),
    Row(DIGITS(("single",), EUCLIDEAN_COSINE), 60, 30),
    Row(DIGITS(("average",), EUCLIDEAN_COSINE), 15, 7.5),
    Row(
        DIGITS(("single", "average")),
        0.05,
        None,
        measure_against_tree,
        "of the execution tree",
    ),
    *(
        Row(
            Problem("rings and disks", 2000, linkages),
            2,
            1.2,
            measure_fixed_run,
            what="run at one parameter, ",
        )
        for linkages in MERGE_FAMILIES
    ),
    *(
        Row(
            Problem(data, 2000, SINGLE_COMPLETE),
            2.4,
            2.2,
            measure_growth,
            unit="",
            what="exponent of growth from an eighth of the points, ",
        )
        for data in ("rings and disks", "MNIST")
    ),
    Row(
        RINGS,
        1.7,
        1.9,
        partial(measure_jobs, n_instances=100),
        "times one",
        what="two threads, 100 instances, ",
        at_least=True,
        one_instance=True,
    ),
    Row(
        RINGS,
        30,
        10,
        partial(measure_fit, n_instances=1000),
        "s",
        what="whole fit by two threads, 1,000 instances, ",
        one_instance=True,
    ),
]
MEMORY = Row(None, 64, 40, unit="n^2 bytes", what="peak extra memory, merge families")


def measure_row(row, settings):
    """What was found on each instance of a row, each in a process of its own."""
    seeds = range(1 if row.one_instance else settings.instances)
    return [in_fresh_process(row.measure, row.problem, settings, s) for s in seeds]


def met(row, value):
    """Which of the two bounds a value keeps."""
    for name in ("aim", "must"):
        bound = getattr(row, name)
        if bound is not None and (value >= bound if row.at_least else value <= bound):
            return name
    return "no"


def table_of(results):
    """Header and rows; what else engines count than trees and events is by event."""
    shown = ("first", "trees", "events", "memory")
    counted = dict.fromkeys(key for _, numbers in results for key in numbers)
    counters = [key for key in counted if key not in ("value", *shown)]
    header = ["work", "must", "aim", "measured", "met", "first call", "trees", "events"]
    header += ["memory, n^2 bytes", *(f"{name} by event" for name in counters)]
    rows = []
    for row, numbers in results:
        events = numbers.get("events") or np.nan
        rows.append(
            [
                str(row),
                f"{'>=' if row.at_least else '<='} {row.must} {row.unit}".rstrip(),
                number(row.aim),
                number(numbers["value"]),
                met(row, numbers["value"]),
                *(number(numbers.get(key)) for key in shown),
                *(number(numbers.get(key, np.nan) / events) for key in counters),
            ]
        )
    return header, rows


def most_memory(results):
    """The row of the most memory that a merge family took, if any was measured."""
    rises = [
        numbers["memory"]
        for row, numbers in results
        if row.problem.linkages in MERGE_FAMILIES and numbers.get("memory") is not None
    ]
    return [(MEMORY, {"value": max(rises)})] if rises else []


def main(argv=None):
    parser = command_line(__doc__, instances=5, repeats=5)
    parser.add_argument("--only", metavar="NAME", help="rows whose name contains this")
    args = parser.parse_args(argv)
    settings = settings_of(args)
    results, instances = [], {}
    for row in ROWS:
        row = replace(row, problem=row.problem.scaled(settings))
        if (args.only or "") in str(row) and has_data(row.problem, settings):
            found = measure_row(row, settings)
            results.append((row, medians(found)))
            instances[str(row)] = found
            print(f"{row}: {number(results[-1][1]['value'])} {row.unit}", flush=True)
    results += most_memory(results)
    title = f"Medians over {settings.instances} instances"
    report(args, "costs", [(title, *table_of(results))], instances)


if __name__ == "__main__":
    main()
