"""Learn a linkage on built-in data and show what it gains.

``python -m sklearn_linkage_learn --help`` lists the options.
"""

import argparse
from functools import partial
from pathlib import Path
from time import perf_counter

from sklearn_linkage_learn import LearnedLinkage
from sklearn_linkage_learn._piecewise import import_pyplot
from sklearn_linkage_learn.datasets import make_digits_instances, make_rings_and_disks
from sklearn_linkage_learn.plotting import LossCurveDisplay

LINKAGES = ("single", "complete")
DATA = {
    "rings and disks": make_rings_and_disks,
    "digits": partial(make_digits_instances, n_per_class=100),
}
PLOT_FORMATS = (".png", ".pdf", ".svg")
HEADER = (
    f"{'data':<16}{'instances':>9}{'points':>8}{'alpha':>8}{'optimal interval':>20}"
    f"{'loss':>8}{'new loss':>10}{LINKAGES[0]:>9}{LINKAGES[1]:>10}{'seconds':>9}"
)


def main(argv=None):
    """Run the command line; `argv` are its words, by default the program's own."""
    arguments = _parser().parse_args(argv)
    rows, learners = [], {}
    for name, make in DATA.items():
        print(f"Learning on {arguments.instances} instances of {name}", flush=True)
        learners[name], row = _learn(name, make, arguments)
        rows.append(row)
    print("", HEADER, *rows, sep="\n")
    print(
        "\nloss: mean fraction of misplaced points at alpha, on the instances learned "
        f"from;\nnew loss: on as many new ones; {LINKAGES[0]}: at alpha 0; "
        f"{LINKAGES[1]}: at alpha 1."
    )
    _write_plot(learners, arguments.out)


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m sklearn_linkage_learn",
        description=(
            "Learn how to mix single and complete linkage, from instances of "
            "rings and disks and of handwritten digits."
        ),
    )
    parser.add_argument(
        "--instances",
        type=_positive,
        default=50,
        metavar="N",
        help="instances to learn from, of each data set (default: %(default)s)",
    )
    parser.add_argument(
        "--n-jobs",
        type=_not_zero,
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


def _positive(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


def _not_zero(text):
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


def _learn(name, make, arguments):
    """Return the fitted learner and its line of the table."""
    X, y = make(2 * arguments.instances, random_state=0)
    n = arguments.instances
    learner = LearnedLinkage(linkages=LINKAGES, n_jobs=arguments.n_jobs, verbose=1)
    start = perf_counter()
    learner.fit(X[:n], y[:n])
    seconds = perf_counter() - start
    curve = learner.loss_curve_
    interval = "[{:.5f}, {:.5f}]".format(*learner.alpha_interval_)
    row = (
        f"{name:<16}{n:>9}{len(X[0]):>8}{learner.alpha_:>8.4f}{interval:>20}"
        f"{learner.loss_:>8.4f}{1 - learner.score(X[n:], y[n:]):>10.4f}"
        f"{curve(0):>9.4f}{curve(1):>10.4f}{seconds:>9.2f}"
    )
    return learner, row


def _write_plot(learners, path):
    try:
        plt = import_pyplot("The plot")
    except ImportError as error:
        print(f"\nNo plot written. {error}")
        return
    figure, axes = plt.subplots(
        1, len(learners), figsize=(4.8 * len(learners), 3.6), layout="constrained"
    )
    for ax, (name, learner) in zip(axes, learners.items(), strict=True):
        LossCurveDisplay.from_estimator(learner, ax=ax)
        ax.set_title(name)
    figure.savefig(path, dpi=100)
    plt.close(figure)
    print(f"\nPlot written to {path}")


if __name__ == "__main__":
    main()
