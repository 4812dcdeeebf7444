"""Check random instances for as long as asked.

    python tests/fuzz.py --minutes 60 --jobs 2

Families, sizes, losses and kinds of ties are drawn at random. For each instance both
engines and runs at fixed weights have to agree, and for some small ones fractions as
well. A failing instance is made as small as it gets and printed as a test. An instance
that never ends, or that ends the process, is a failure too.
"""

import argparse
import multiprocessing
import signal
import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from cases import Case, check, check_with_fractions
from make_data import GENERATORS, square
from make_data import labels as random_labels
from scipy.spatial.distance import squareform
from test_families import PAIRS
from test_metric_families import ALL as PAIRS_OF_METRICS
from test_metric_families import CASES as METRIC_FAMILIES

from sklearn_linkage_learn._core.memory import kept_blocks
from sklearn_linkage_learn.losses import LOSSES

TIME_LIMIT = 60  # seconds for one instance
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
    if rng.random() < 0.1:
        # Of two metrics, execution trees grow fast.
        n = rng.integers(13, 20 if of_metrics else 40)
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


@contextmanager
def failures(found):
    """Append what goes wrong in the block to a list."""

    def stop(*_):
        raise TimeoutError(f"no end after {TIME_LIMIT} s")

    # The core polls for signals.
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, TIME_LIMIT)
    try:
        yield
    except Exception as error:
        if "too far for exact arithmetic" not in str(error):
            found.append(f"{type(error).__name__}: {error}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def failure_of(case):
    found = []
    with failures(found):
        check_fully(case)
    return found[0] if found else None


def shrunk(case):
    """Take the first simpler case that still fails, until there is none."""
    while True:
        failing = (simpler for simpler in simpler_cases(case) if failure_of(simpler))
        smaller = next(failing, None)
        if smaller is None:
            return case
        case = smaller


def simpler_cases(case):
    """Cases with a point less, a class less, or simpler distances."""
    n = len(case.labels)
    squares = [squareform(np.array(d)) for d in case.distances] if n > 1 else []
    for i in range(n if n > 2 else 0):
        left = np.delete(np.arange(n), i)
        yield replace(
            case,
            distances=tuple(condensed(d[np.ix_(left, left)]) for d in squares),
            labels=tuple(np.array(case.labels)[left].tolist()),
        )
    for label in sorted(set(case.labels))[1:]:
        merged = tuple(0 if other == label else other for other in case.labels)
        yield replace(case, labels=merged)
    if case.normalize is not None:
        yield replace(case, normalize=None)
    for metric, distances in enumerate(case.distances):
        for simpler in simpler_distances(distances):
            changed = list(case.distances)
            changed[metric] = simpler
            yield replace(case, distances=tuple(changed))


def simpler_distances(distances):
    """Ranks, then one distance after the other as another smaller one or zero."""
    values = sorted(set(distances))
    ranks = tuple(float(values.index(d)) for d in distances)
    if ranks != distances:
        yield ranks
    for i, distance in enumerate(distances):
        for value in sorted({0.0, *values[: values.index(distance)]}):
            yield (*distances[:i], value, *distances[i + 1 :])


def report(seed, number, reason):
    """Print a failing case, shrunk, and how to repeat it."""
    rng = np.random.default_rng([seed, number])
    case = shrunk(random_case(rng))
    print(
        f"\nFAILED: {reason}\n"
        f"repeat: python tests/fuzz.py --repeat {seed} {number}\n"
        f"shrunk: {failure_of(case)}\n"
        f"    check({case})\n",
        flush=True,
    )


def work(seed, stop, place, results):
    """Check cases until `stop`; `place` tells the number of the current one."""
    counts, failed = Counter(), []
    with kept_blocks():
        while time.time() < stop and len(failed) < 5:
            rng, found = np.random.default_rng([seed, place.value]), []
            case = random_case(rng)
            with failures(found):
                counts["-".join(case.linkages), check_quickly(case, rng)] += 1
            failed += [(seed, place.value, reason) for reason in found]
            place.value += 1
    results.put((counts, failed))


def repeat(seed, number):
    """Check one case again, in full."""
    case = random_case(np.random.default_rng([seed, number]))
    print(case)
    reason = failure_of(case)
    if reason:
        report(seed, number, reason)
    return reason is not None


def fuzz(seed, minutes, n_jobs):
    """Check cases in several processes; return whether any failed."""
    results = multiprocessing.Queue()
    stop = time.time() + 60 * minutes
    seeds = range(seed, seed + n_jobs)
    places = [multiprocessing.Value("q", 0) for _ in seeds]
    workers = [
        multiprocessing.Process(target=work, args=(s, stop, place, results))
        for s, place in zip(seeds, places, strict=True)
    ]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        time.sleep(1)
        if sys.stderr.isatty():
            n_done = sum(place.value for place in places)
            left = max(stop - time.time(), 0)
            print(f"\r{n_done:,} instances, {left:.0f} s left ", end="", file=sys.stderr)
    return summarise(results, seeds, places, workers)


def summarise(results, seeds, places, workers):
    counts, failed = Counter(), []
    for worker in workers:
        if worker.exitcode == 0:
            some_counts, some_failed = results.get()
            counts += some_counts
            failed += some_failed
    for (family, kind), number in sorted(counts.items()):
        print(f"{family:20} {kind:16} {number:10,}")
    print(f"{'all':20} {'':16} {counts.total():10,}, {len(failed)} failed")
    for failure in failed:
        report(*failure)
    ok = not failed
    for s, place, worker in zip(seeds, places, workers, strict=True):
        if worker.exitcode != 0:
            ok = False
            print(f"CRASHED: python tests/fuzz.py --repeat {s} {place.value}")
    return not ok


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
