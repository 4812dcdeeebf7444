"""Check random instances for as long as asked.

    python tests/fuzz.py --minutes 60 --jobs 2

Families, sizes, losses and kinds of ties are drawn at random. For each instance both
engines and runs at fixed weights have to agree, and for some small ones fractions as
well. A failing instance is made as small as it gets and printed as a test. An instance
that never ends, or that ends the process, is a failure too.
"""

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from dataclasses import replace

import numpy as np
from cases import MOST_POINTS_OF_TREE, Case, check, check_with_fractions
from make_data import GENERATORS, square
from make_data import labels as random_labels
from scipy.spatial.distance import squareform
from test_families import PAIRS
from test_metric_families import ALL as PAIRS_OF_METRICS
from test_metric_families import CASES as METRIC_FAMILIES

from sklearn_linkage_learn._core.memory import kept_blocks
from sklearn_linkage_learn.losses import LOSSES

TIME_LIMIT = 30  # seconds for one instance; they take milliseconds
FORK = multiprocessing.get_context("fork")
N_RUNS = 5  # that are compared with a curve
WITH_FRACTIONS = 0.05  # of the instances that are small enough
NORMALIZATIONS = (None, None, "mean", "max", "instance_max")


def integers(n, rng):
    """Dissimilarities of few or many different integers."""
    return square(n, rng.integers(0, 2 ** rng.integers(1, 8), size=n * (n - 1) // 2))


def any_matrix(n, rng):
    makers = [*GENERATORS.values(), *[integers] * 6]
    return makers[rng.integers(len(makers))](n, rng)


def random_case(rng):
    of_metrics = rng.random() < 0.5
    n = rng.integers(2, 13)
    size = rng.random()
    if size < 0.005:
        n = rng.integers(MOST_POINTS_OF_TREE + 1, 150)
    elif size < 0.1:
        # Of two metrics, execution trees grow fast.
        n = rng.integers(13, 20 if of_metrics else MOST_POINTS_OF_TREE + 1)
    n_labels = rng.integers(1, min(n, rng.choice([4, 16])) + 1)
    normalize = None
    if not of_metrics:
        linkages = PAIRS[rng.integers(len(PAIRS))]
        squares = [any_matrix(n, rng)]
    else:
        name, linkage = METRIC_FAMILIES[rng.integers(len(METRIC_FAMILIES))]
        linkages = (linkage,)
        squares = PAIRS_OF_METRICS[name](n, rng)
        if linkage != "ward" and rng.random() < 0.3:
            squares = [any_matrix(n, rng) for _ in range(2)]
        if rng.random() < 0.2:
            # All that matters happens near 0 or 1.
            squares = [d * 2.0 ** -rng.integers(60) for d in squares]
        normalize = NORMALIZATIONS[rng.integers(len(NORMALIZATIONS))]
    return Case(
        tuple(condensed(d) for d in squares),
        tuple(random_labels(n, rng, n_labels).tolist()),
        linkages,
        list(LOSSES)[rng.integers(len(LOSSES))],
        normalize,
    )


def condensed(matrix):
    return tuple(squareform(matrix, checks=False).tolist())


def suits_fractions(case):
    return len(case.labels) <= 7 and len(set(case.labels)) <= 4


def check_quickly(case, rng):
    """Check a case at some parameters; return the kind of check it was."""
    check(case, N_RUNS, rng)
    if suits_fractions(case) and rng.random() < WITH_FRACTIONS:
        check_with_fractions(case)
        return "with fractions"
    return "checked"


def check_fully(case):
    check(case)
    if suits_fractions(case):
        check_with_fractions(case)


def failure(check, *args):
    """What goes wrong in a check, or None."""
    try:
        check(*args)
    except Exception as error:
        if "too far for exact arithmetic" not in str(error):
            return f"{type(error).__name__}: {error}"


def failure_apart(case, limit=1):
    """The same of the full check, in a process that may crash or never end."""
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = FORK.Process(target=lambda: sender.send(failure(check_fully, case)))
    process.start()
    sender.close()
    found = f"no end after {limit} s"
    if receiver.poll(limit):
        try:
            found = receiver.recv()
        except EOFError:
            found = "the process ended"
    process.kill()
    process.join()
    return found


def shrunk(case):
    """Simplify a case as long as it fails."""
    before = None
    while case != before:
        before = case
        for i in reversed(range(len(case.labels))):
            case = first_failing([without_point(case, i)], case)
        for label in sorted(set(case.labels)):
            merged = tuple(0 if other == label else other for other in case.labels)
            case = first_failing([replace(case, labels=merged)], case)
        case = first_failing([replace(case, normalize=None)], case)
        for metric, distances in enumerate(case.distances):
            case = first_failing([with_distances(case, metric, ranks(distances))], case)
            for pair in range(len(distances)):
                case = first_failing(with_smaller(case, metric, pair), case)
    return case


def first_failing(cases, otherwise):
    for case in cases:
        if case != otherwise and failure_apart(case):
            return case
    return otherwise


def without_point(case, i):
    n = len(case.labels)
    if n <= 2:
        return case
    left = np.delete(np.arange(n), i)
    squares = [squareform(np.array(d)) for d in case.distances]
    return replace(
        case,
        distances=tuple(condensed(d[np.ix_(left, left)]) for d in squares),
        labels=tuple(np.array(case.labels)[left].tolist()),
    )


def with_distances(case, metric, distances):
    changed = list(case.distances)
    changed[metric] = tuple(distances)
    return replace(case, distances=tuple(changed))


def ranks(distances):
    values = sorted({0.0, *distances})
    return [float(values.index(d)) for d in distances]


def with_smaller(case, metric, pair):
    """Cases where a distance is zero, or the next smaller one."""
    distances = list(case.distances[metric])
    smaller = [0.0, *(d for d in distances if d < distances[pair])]
    for value in (0.0, max(smaller)):
        distances[pair] = value
        yield with_distances(case, metric, distances)


def report(seed, number, reason):
    """Print how to repeat a failing case, and what it shrinks to."""
    print(f"\nFAILED: {reason}\nrepeat: python tests/fuzz.py --repeat {seed} {number}")
    case = shrunk(random_case(np.random.default_rng([seed, number])))
    print(f"shrunk: {failure_apart(case)}\n    check_fully({case})", flush=True)


def repeat(seed, number):
    """Check one case again, in full; return whether it failed."""
    case = random_case(np.random.default_rng([seed, number]))
    reason = failure_apart(case, TIME_LIMIT)
    print(case)
    if reason:
        report(seed, number, reason)
    return reason is not None


def work(seed, stop, number, results):
    """Check cases until `stop`; `number` tells which is the current one."""
    counts, failed = Counter(), []
    with kept_blocks():
        while time.time() < stop and len(failed) < 5:
            rng = np.random.default_rng([seed, number.value])
            case = random_case(rng)
            kind = "small" if suits_fractions(case) else "larger"
            counts["-".join(case.linkages), kind] += 1
            reason = failure(check_quickly, case, rng)
            if reason:
                failed.append((number.value, reason))
            number.value += 1
    results.put((counts, failed))


class Worker:
    """A process that checks cases, and is watched while it does."""

    def __init__(self, seed, stop):
        self.seed, self.number = seed, FORK.Value("q", 0)
        self.results = FORK.Queue()
        self.process = FORK.Process(
            target=work, args=(seed, stop, self.number, self.results)
        )
        self.process.start()
        self.seen, self.since = -1, time.time()

    def is_busy(self):
        """Whether it goes on; one that is stuck is ended."""
        if self.number.value != self.seen:
            self.seen, self.since = self.number.value, time.time()
        elif time.time() > self.since + TIME_LIMIT:
            self.process.kill()
        return self.process.is_alive()

    def result(self):
        """Counts, and the numbers of failed cases with the reasons."""
        if self.process.exitcode == 0:
            return self.results.get()
        return Counter(), [(self.number.value, "stuck, or the process ended")]


def fuzz(seed, minutes, n_jobs):
    """Check cases in several processes; return whether any failed."""
    stop = time.time() + 60 * minutes
    workers = [Worker(seed + i, stop) for i in range(n_jobs)]
    while sum(worker.is_busy() for worker in workers):
        time.sleep(0.2)
        if sys.stderr.isatty():
            n_done = sum(worker.seen for worker in workers)
            left = max(stop - time.time(), 0)
            sys.stderr.write(f"\r{n_done:,} instances, {left:.0f} s left ")
    counts, failed = Counter(), []
    for worker in workers:
        some_counts, some_failed = worker.result()
        counts += some_counts
        failed += [(worker.seed, *failure) for failure in some_failed]
    for (family, kind), count in sorted(counts.items()):
        print(f"{family:18} {kind:8} {count:12,}")
    print(f"{'all':18} {'':8} {counts.total():12,}, {len(failed)} failed")
    for failed_case in failed:
        report(*failed_case)
    return len(failed) > 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="and the following ones")
    parser.add_argument("--repeat", type=int, nargs=2, metavar=("SEED", "NUMBER"))
    args = parser.parse_args()
    if args.repeat:
        return repeat(*args.repeat)
    return fuzz(args.seed, args.minutes, args.jobs)


if __name__ == "__main__":
    sys.exit(main())
