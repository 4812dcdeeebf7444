"""What the benchmark scripts share: problems, clocks, memory and tables."""

import argparse
import ctypes
import json
import os
import platform
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import fastcluster
import numpy as np
from scipy.spatial.distance import pdist

from sklearn_linkage_learn._core.memory import kept_blocks
from sklearn_linkage_learn._families import (
    _curve,
    merge_pieces,
    metric_pieces,
    mixed_linkage,
)
from sklearn_linkage_learn._interpolated import weight_vector
from sklearn_linkage_learn.datasets import (
    load_mnist,
    make_digits_instances,
    make_rings_and_disks,
    sample_class_subsets,
)
from sklearn_linkage_learn.losses import hamming_loss, make_loss

SINGLE_COMPLETE = ("single", "complete")
AVERAGE_COMPLETE = ("average", "complete")
EUCLIDEAN_COSINE = ("euclidean", "cosine")
N_CLASSES = 5
# A run of fastcluster is short beside a curve, so that it needs more repeats.
RUNS_PER_TURN = 5
# What takes longer than this, in seconds, is repeated less often than asked for.
PATIENCE = 3.0

METRICS = {
    "euclidean": pdist,
    "cosine": lambda points: pdist(points, "cosine"),
    "upper half": lambda points: pdist(points[:, : points.shape[1] // 2]),
    "lower half": lambda points: pdist(points[:, points.shape[1] // 2 :]),
    # The distances of other points: they have nothing to do with those of these.
    "shuffled": lambda points: pdist(np.random.default_rng(0).permutation(points)),
}


@dataclass(frozen=True)
class Settings:
    """What the command line decides for every measurement."""

    mnist: str | None
    instances: int
    repeats: int
    scale: float


@dataclass(frozen=True)
class Problem:
    """Instances of one kind and the family of algorithms whose curve is wanted.

    Two linkages are mixed on one metric, or two metrics under one linkage.
    """

    data: str
    n: int
    linkages: tuple
    metrics: tuple = ("euclidean",)

    def __str__(self):
        return f"{self.family}, {self.data}, n = {self.n}"

    @property
    def family(self):
        metrics = "" if len(self.metrics) == 1 else ", " + "/".join(self.metrics)
        return "-".join(self.linkages) + metrics

    def scaled(self, settings):
        return replace(self, n=max(int(self.n * settings.scale), 4 * N_CLASSES))

    def instance(self, seed, mnist=None):
        """Condensed distances, one row for each metric, and labels."""
        points, labels = draw(self.data, self.n, seed, mnist)
        return np.array([METRICS[name](points) for name in self.metrics]), labels

    def pieces(self, distances, labels, algorithm="auto"):
        loss = make_loss("hamming", labels)
        if len(self.linkages) == 2:
            return merge_pieces(distances[0], self.linkages, loss, algorithm)
        return metric_pieces(distances, self.linkages[0], loss, algorithm)

    def curve(self, distances, labels, algorithm="auto"):
        return _curve(self.pieces(distances, labels, algorithm))

    def run_at(self, t, distances):
        """The tree at one parameter, by fastcluster if it has the algorithm."""
        if len(self.linkages) == 1:
            mixed = (1 - t) * distances[0] + t * distances[1]
            return fastcluster.linkage(mixed, self.linkages[0])
        weights = weight_vector("alpha", t, "linkages", 2)
        return mixed_linkage(distances, self.linkages, weights, [(1.0, 0.0)])

    def loss_at(self, t, distances, labels):
        return hamming_loss(self.run_at(t, distances), labels)


def draw(data, n, seed, mnist=None):
    """Points and labels of one instance of about `n` points."""
    if data == "rings and disks":
        X, y = make_rings_and_disks(1, n_per_cluster=n // 4, random_state=seed)
        return X[0], y[0]
    n_per_class = n // N_CLASSES
    if data == "digits":
        X, y = make_digits_instances(
            1, n_classes=N_CLASSES, n_per_class=n_per_class, random_state=seed
        )
        return X[0], y[0]
    images = _load_images(mnist)
    X, y = sample_class_subsets(
        images.data,
        images.target,
        n_classes=N_CLASSES,
        n_per_class=n_per_class,
        random_state=seed,
    )
    return X[0].astype(float), y[0]


_load_images = cache(load_mnist)


def timed(work):
    """The seconds that work takes, and what it returns."""
    start = perf_counter()
    result = work()
    return perf_counter() - start, result


def seconds(work):
    return timed(work)[0]


def in_turn(work, distances, repeats):
    """Median seconds of the work and of F, a run of fastcluster, by turns.

    Memory is handed on from call to call, as it is from instance to instance in a fit.
    """
    times, runs, start = [], [], perf_counter()
    with kept_blocks():
        work()
        while not times or (len(times) < repeats and perf_counter() - start < PATIENCE):
            times.append(seconds(work))
            runs += [
                seconds(lambda: fastcluster.linkage(distances, "complete"))
                for _ in range(RUNS_PER_TURN)
            ]
    return float(np.median(times)), float(np.median(runs))


def in_fresh_process(function, *args):
    """Call a function where no memory and no cache is warm."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


def peak_extra_bytes(work):
    """How far the resident memory of this process rises above what it was before.

    None if the system does not forget an earlier peak on request, as Linux does.
    """
    if platform.libc_ver()[0] == "glibc":
        # What was freed but not given back would be used again without being seen.
        ctypes.CDLL(None).malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        work()
        return None
    before = _status("VmRSS")
    work()
    return _status("VmHWM") - before


def _status(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith(key)]
    return 1024 * int(line.split()[1])


def work_of(pieces):
    """What an engine counted, by name."""
    counted = {"trees": pieces.n_trees, "events": pieces.n_events}
    return {**counted, **getattr(pieces, "work", {})}


def medians(found):
    """The median over instances of each number: 0 if not counted, None if not known."""
    keys = dict.fromkeys(key for one in found for key in one)
    columns = {key: [one.get(key, 0) for one in found] for key in keys}
    return {
        key: None if None in column else float(np.median(column))
        for key, column in columns.items()
    }


def command_line(description, instances, repeats):
    """A parser with the options that all scripts have."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add(
        "--mnist",
        metavar="PATH",
        help="an .npz with images and labels; without it, what needs it is left out",
    )
    add("--instances", type=int, default=instances, help="default: %(default)s")
    add("--repeats", type=int, default=repeats, help="default: %(default)s")
    add("--scale", type=float, default=1.0, help="fraction of the points, for trials")
    add("--json", metavar="OUT", help="where to write all numbers")
    add("--rst", metavar="PAGE", help="page in which to renew the tables")
    return parser


def settings_of(args):
    return Settings(args.mnist, args.instances, args.repeats, args.scale)


def has_data(problem, settings):
    """Whether the problem can be drawn; says so if not."""
    if problem.data != "MNIST" or settings.mnist:
        return True
    print(f"left out, needs --mnist: {problem}")
    return False


def number(value):
    """A number as tables show it; nothing for what is not known."""
    if value is None or np.isnan(value):
        return ""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def text_table(header, rows):
    cells = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]
        ).rstrip()
        for row in cells
    )


def rst_table(header, rows):
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for first, *others in [header, *rows]:
        lines += [f"   * - {first}", *(f"     - {cell}".rstrip() for cell in others)]
    return "\n".join(lines)


def machine():
    """What the numbers were measured with."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "fastcluster"))
    # One busy process is a load of one; more means that others were at work as well.
    load = f", load {os.getloadavg()[1]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"Measured with Python {platform.python_version()}, {packages}, on "
        f"{platform.machine()} {platform.system()} with {os.cpu_count()} cores{load}."
    )


def report(args, name, tables, numbers, note=""):
    """Print tables of (title, header, rows), and write what was asked for."""
    note = f"{note} {machine()}".strip()
    for title, header, rows in tables:
        print(f"\n{title}\n\n{text_table(header, rows)}")
    print(f"\n{note}")
    if args.json:
        content = {name: numbers, "machine": machine()}
        Path(args.json).write_text(json.dumps(content, indent=1) + "\n")
    if args.rst:
        parts = [f"{title}\n\n{rst_table(*table)}" for title, *table in tables]
        _renew(Path(args.rst), name, "\n\n".join([*parts, note]))


def _renew(page, name, text):
    """Put text between the two comments that mark its place in a page."""
    begin, end = f".. begin {name}\n", f".. end {name}\n"
    content = page.read_text() if page.exists() else ""
    if begin not in content:
        content += begin + end
    before, rest = content.split(begin)
    after = rest.split(end)[1]
    page.write_text(f"{before}{begin}\n{text}\n\n{end}{after}")
