"""An experiment in a directory: what was computed of it, and what is told of that."""

from pathlib import Path

from .._version import __version__
from ._figures import draw_carry_over, draw_curves
from ._paper import PAPER
from ._report import read_summaries, summarize, write_summary, write_tables
from ._runs import Run, complete
from ._sources import FEATURES, open_source
from ._tasks import TASKS, UsualLinkages

# What is run of an experiment that is not the paper's.
_TASKS_OF_OTHERS = ("single-complete", "average-complete", "metric")


class Experiment:
    """An experiment with its options.

    Parameters
    ----------
    name : str
        One of `SOURCES`.

    out : str
        The directory that it writes to.

    data, features, centred, strokes : see `open_source`
    """

    def __init__(
        self, name, out, *, data=None, features=None, centred=False, strokes=None
    ):
        known = FEATURES.get(name, (None,))
        features = features or known[0]
        if features not in known:
            found = " or ".join(map(str, known))
            raise ValueError(f"--features {features}: {name} has {found}.")
        if (centred or strokes is not None) and name != "omniglot":
            raise ValueError(f"--centred and --strokes: {name} has no strokes.")
        self._out = Path(out)
        self._source = open_source(
            name,
            data,
            features=features,
            centred=centred,
            strokes=strokes,
            cache_dir=self._out / "strokes",
        )
        options = [features] * (features != known[0]) + ["centred"] * centred
        self._variant = "-".join([name, *options])
        self._settings = {
            "experiment": name,
            "data": None if data is None else Path(data).name,
            "features": features,
            "centred": centred,
            "strokes": None if strokes is None else Path(strokes).name,
            "version": __version__,
        }

    @property
    def tasks(self):
        """The names of those tasks that the paper reports on."""
        name = self._settings["experiment"]
        return [task for task in TASKS if (name, task) in PAPER] or _TASKS_OF_OTHERS

    def run(self, tasks, n_instances=None, n_jobs=None):
        """Compute what is missing of tasks, and write what is to be told of them.

        Parameters
        ----------
        tasks : sequence of str
            Of `TASKS`.

        n_instances : int, default=None
            By default as many as the paper has.

        n_jobs : int, default=None
            Number of instances to work on at once, in threads.

        Returns
        -------
        summaries : list of dict
            One for each task, see `summarize`.
        """
        if "metric" in tasks and self._source.metrics is None:
            raise ValueError(f"--task metric: {self._variant} has one metric only.")
        self._out.mkdir(parents=True, exist_ok=True)
        runs = {
            name: self._open(name, TASKS[name], n_instances or TASKS[name].n_instances)
            for name in tasks
        }
        most = max(run.n_instances for run in runs.values())
        usual = self._open("usual", UsualLinkages(), most)
        if "metric" in tasks and not runs["metric"].is_complete:
            self._source.prepare()
        complete([*runs.values(), usual], self._source, n_jobs)
        losses, _ = usual.results()
        return [self._summarize(name, run, losses) for name, run in runs.items()]

    def _open(self, name, task, n_instances):
        path = self._out / f"{self._variant}-{name}.jsonl"
        return Run(path, task, n_instances, {**self._settings, "task": name})

    def _summarize(self, name, run, usual):
        curves, seconds = run.results()
        summary = {
            "variant": self._variant,
            "settings": {**self._settings, "task": name},
            "ends": run.task.ends(self._source),
            "parameter": run.task.parameter,
            **summarize(curves, usual),
            "seconds": seconds,
            "paper": PAPER.get((self._settings["experiment"], name), {}),
        }
        write_summary(summary, self._out / f"{self._variant}-{name}")
        return summary

    def write_report(self):
        """Write tables of all that was computed in the directory, and own figures.

        Returns
        -------
        report : Path
            The folder that they are written to.
        """
        summaries = read_summaries(self._out)
        report = self._out / "report"
        report.mkdir(exist_ok=True)
        write_tables(summaries, report)
        figures = {}
        for summary in summaries:
            if summary["variant"] == self._variant:
                stem = f"{self._variant}-{summary['parameter']}"
                figures.setdefault(stem, []).append(summary)
                stem = f"{self._variant}-{summary['settings']['task']}"
                if summary["carry_over"]:
                    draw_carry_over(summary, report / f"{stem}-carry-over.png")
        for stem, members in figures.items():
            draw_curves(members, report / f"{stem}.png")
        return report
