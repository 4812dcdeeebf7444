"""Learn on built-in data and show what it gains.

``python -m sklearn_linkage_learn --help`` lists the options.
"""

import argparse
from functools import partial
from pathlib import Path
from time import perf_counter

from sklearn.base import clone

from sklearn_linkage_learn import (
    LearnedLinkage,
    LearnedMetricLinkage,
    widest_optimal_interval,
)
from sklearn_linkage_learn._piecewise import import_pyplot
from sklearn_linkage_learn.datasets import make_digits_instances, make_rings_and_disks
from sklearn_linkage_learn.plotting import LossCurveDisplay

# Images of digits have rows of eight pixels.
HALVES = [
    ("left half", "euclidean", [i for i in range(64) if i % 8 < 4]),
    ("right half", "euclidean", [i for i in range(64) if i % 8 >= 4]),
]
# What is learned, from instances of what.
JOBS = {
    "rings and disks": (LearnedLinkage(("single", "complete")), make_rings_and_disks),
    "digits": (
        LearnedLinkage(("single", "complete")),
        partial(make_digits_instances, n_per_class=100),
    ),
    "digits, two metrics": (
        LearnedMetricLinkage(HALVES),
        partial(make_digits_instances, n_per_class=40),
    ),
}
PLOT_FORMATS = (".png", ".pdf", ".svg")
HEADER = (
    f"{'data':<20}{'instances':>9}{'points':>8}{'weight':>8}{'optimal interval':>20}"
    f"{'loss':>8}{'new loss':>10}{'at 0':>8}{'at 1':>8}{'seconds':>9}"
)


def main(argv=None):
    """Run the command line; `argv` are its words, by default the program's own."""
    arguments = _parser().parse_args(argv)
    rows, learners = [], {}
    for name, (learner, make) in JOBS.items():
        print(f"Learning on {arguments.instances} instances: {name}", flush=True)
        learners[name], row = _learn(name, learner, make, arguments)
        rows.append(row)
    print("", HEADER, *rows, sep="\n")
    print(
        "\nweight: alpha, of complete linkage against single linkage, or beta, of "
        "distances of the\nright halves of images against the left ones, under "
        "complete linkage; loss: mean\nfraction of misplaced points there, on the "
        "instances learned from; new loss: on as many\nnew ones; at 0, at 1: the loss "
        "of the two that are mixed, each alone."
    )
    _write_plot(learners, arguments.out)


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m sklearn_linkage_learn",
        description=(
            "Learn how to mix single and complete linkage, from instances of rings and "
            "disks and of handwritten digits, and how to mix two metrics of digits."
        ),
    )
    parser.add_argument(
        "--instances",
        type=positive,
        default=50,
        metavar="N",
        help="instances to learn from, of each data set (default: %(default)s)",
    )
    parser.add_argument(
        "--n-jobs",
        type=not_zero,
        default=-1,
        metavar="J",
        help="instances to work on at once (default: as many as there are cores)",
    )
    parser.add_argument(
        "--out",
        type=_plot_file,
        default="loss_curves.png",
        metavar="FILE",
        help="where to write the plot (default: %(default)s)",
    )
    return parser


def positive(text):
    """Read a positive integer from the command line."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


def not_zero(text):
    """Read a number of jobs from the command line."""
    if not text.removeprefix("-").isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a positive or negative integer"
        )
    return int(text)


def _plot_file(text):
    """Check now where the plot is to be written in the end."""
    path = Path(text)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no directory {str(path.parent)!r}")
    if path.suffix not in PLOT_FORMATS:
        formats = ", ".join(PLOT_FORMATS)
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {formats}")
    return path


def _learn(name, learner, make, arguments):
    """Return the fitted learner and its line of the table."""
    X, y = make(2 * arguments.instances, random_state=0)
    n = arguments.instances
    learner = clone(learner).set_params(n_jobs=arguments.n_jobs, verbose=1)
    start = perf_counter()
    learner.fit(X[:n], y[:n])
    seconds = perf_counter() - start
    curve = learner.loss_curve_
    interval = widest_optimal_interval(curve)
    row = (
        f"{name:<20}{n:>9}{len(X[0]):>8}{sum(interval) / 2:>8.4f}"
        f"{'[{:.5f}, {:.5f}]'.format(*interval):>20}"
        f"{learner.loss_:>8.4f}{1 - learner.score(X[n:], y[n:]):>10.4f}"
        f"{curve(0):>8.4f}{curve(1):>8.4f}{seconds:>9.2f}"
    )
    return learner, row


def _write_plot(learners, path):
    try:
        plt = import_pyplot("The plot")
    except ImportError as error:
        print(f"\nNo plot written. {error}")
        return
    figure, axes = plt.subplots(
        1, len(learners), figsize=(4.2 * len(learners), 3.6), layout="constrained"
    )
    for ax, (name, learner) in zip(axes, learners.items(), strict=True):
        LossCurveDisplay.from_estimator(learner, ax=ax)
        ax.set_title(name)
    figure.savefig(path, dpi=100)
    plt.close(figure)
    print(f"\nPlot written to {path}")


if __name__ == "__main__":
    main()
