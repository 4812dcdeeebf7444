"""Run an experiment of the paper, or go on with one that was interrupted.

``python -m sklearn_linkage_learn.experiments --help`` tells of them and of options.
"""

import argparse

from ..__main__ import not_zero, positive
from ._experiment import Experiment
from ._report import as_text, table_of_results
from ._sources import FEATURES, SOURCES
from ._tasks import TASKS


def main(argv=None):
    """Run the command line; `argv` are its words, by default the program's own."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        experiment = Experiment(
            arguments.name,
            arguments.out,
            data=arguments.data,
            features=arguments.features,
            centred=arguments.centred,
            strokes=arguments.strokes,
        )
        summaries = experiment.run(
            arguments.task or experiment.tasks, arguments.instances, arguments.n_jobs
        )
        print(as_text(table_of_results(summaries)))
        report = experiment.write_report()
    except (ImportError, OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, "\nInterrupted. The same command goes on where it stopped.\n")
    print(
        "\nloss: mean fraction of misplaced points at the optimum; gain: over the "
        "better end;\njumps: discontinuities of an instance's curve, on average; "
        "(paper): what the paper says."
        f"\n\nFigures, and tables of all runs in {arguments.out}, are in {report}."
    )


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m sklearn_linkage_learn.experiments",
        description=(
            "Run an experiment of the paper: the exact loss curve of each of many "
            "instances, their mean, and whether what is learned from some of them "
            "carries over to others. What was interrupted goes on where it stopped."
        ),
    )
    parser.add_argument(
        "name", choices=SOURCES, metavar="NAME", help="one of " + ", ".join(SOURCES)
    )
    parser.add_argument(
        "--data",
        metavar="PATH",
        help="where its data is; rings-and-disks and digits are built in, mnist and "
        "cifar10 are fetched from OpenML without it",
    )
    parser.add_argument(
        "--task",
        nargs="+",
        choices=TASKS,
        metavar="TASK",
        help=f"of {', '.join(TASKS)} (default: those that the paper reports on)",
    )
    counts = ", ".join(f"{task.n_instances} {name}" for name, task in TASKS.items())
    parser.add_argument(
        "--instances", type=positive, metavar="N", help=f"(default: {counts})"
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
        default="results",
        metavar="DIR",
        help="where to write to (default: %(default)s)",
    )
    known = "; ".join(f"{name}: {', '.join(FEATURES[name])}" for name in FEATURES)
    parser.add_argument(
        "--features",
        metavar="NAME",
        help=f"which features to compare images by ({known}; default: the first)",
    )
    parser.add_argument(
        "--centred",
        action="store_true",
        help="omniglot: move each drawing's strokes to mean zero",
    )
    parser.add_argument(
        "--strokes",
        metavar="PATH",
        help="omniglot: an .npz file with distances of strokes, if they were computed "
        "before",
    )
    return parser


if __name__ == "__main__":
    main()
