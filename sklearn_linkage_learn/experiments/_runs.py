"""What has been computed of instances, kept in files that only grow.

A file has a line of JSON that says what it is of, then one for each instance, in the
order of their numbers. A run that was interrupted goes on after the last whole line.
"""

import json
from itertools import islice
from pathlib import Path
from time import perf_counter

from .._piecewise import PiecewiseConstant
from .._progress import shown_progress
from ._tasks import Chunk

# Instances that are worked on between two writes.
CHUNK = 20


class Run:
    """The results of one task on instances 0, 1, 2, ... of a source.

    Parameters
    ----------
    path : Path
        The file that they are kept in.

    task : object with `measure` and `needs`
        Computes results for a chunk of instances from distances in it.

    n_instances : int
        How many are wanted.

    settings : dict
        What the results depend on.
    """

    def __init__(self, path, task, n_instances, settings):
        self.path, self.task, self.n_instances = Path(path), task, n_instances
        self._settings = settings
        self.n_done = self._open()

    @property
    def is_complete(self):
        """Whether no instance is missing."""
        return self.n_done >= self.n_instances

    def _open(self):
        """Drop a line that was not written to its end, and count the whole ones."""
        text = self.path.read_bytes() if self.path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        if not whole:
            self.path.write_text(json.dumps(self._settings) + "\n", encoding="utf-8")
            return 0
        lines = whole.splitlines()
        found = json.loads(lines[0])
        if found != self._settings:
            raise ValueError(
                f"{self.path} holds results of {found}, not of {self._settings}: "
                "choose another directory, or remove the file to start anew."
            )
        if len(whole) < len(text):
            self.path.write_bytes(whole)
        return len(lines) - 1

    def add(self, chunk):
        """Compute and keep the results of the next instances."""
        distances = getattr(chunk, self.task.needs)
        # Tasks share distances, so that the time these take is told of none of them.
        start = perf_counter()
        results = self.task.measure(distances, chunk)
        seconds = (perf_counter() - start) / len(results)
        rows = [
            {"instance": number, "seconds": seconds, "result": _as_json(result)}
            for number, result in enumerate(results, self.n_done)
        ]
        with self.path.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(row) + "\n" for row in rows))
        self.n_done += len(results)

    def results(self):
        """Read the wanted results, and the seconds that they took together."""
        with self.path.open(encoding="utf-8") as file:
            next(file)
            rows = [json.loads(line) for line in islice(file, self.n_instances)]
        if [row["instance"] for row in rows] != list(range(self.n_instances)):
            raise ValueError(
                f"{self.path} was written to by several commands at once: remove the "
                "file to start anew."
            )
        results = [_from_json(row["result"]) for row in rows]
        return results, sum(row["seconds"] for row in rows)


def complete(runs, source, n_jobs):
    """Compute what runs on the same source still lack, with progress.

    Runs that have come equally far share their chunks, and the distances in them.
    """
    plan = list(_plan(runs))
    shares = [1] * sum(len(abreast) for abreast, _ in plan)
    with shown_progress("Computing", shares, "parts") as advance:
        for abreast, numbers in plan:
            chunk = Chunk(source, numbers, n_jobs)
            for run in abreast:
                run.add(chunk)
                advance(0)


def _plan(runs):
    """Yield chunks of instances, each with the runs that come to it together."""
    done = {run: run.n_done for run in runs}
    while todo := [run for run in runs if done[run] < run.n_instances]:
        first = min(done[run] for run in todo)
        abreast = [run for run in todo if done[run] == first]
        ends = [done[run] for run in todo if done[run] > first]
        ends += [run.n_instances for run in abreast]
        numbers = range(first, min(first + CHUNK, *ends))
        yield abreast, numbers
        done.update(dict.fromkeys(abreast, numbers.stop))


def _as_json(result):
    """A curve as its inner breakpoints and its values; other results as they are."""
    if isinstance(result, PiecewiseConstant):
        return [result.breakpoints[1:-1].tolist(), result.values.tolist()]
    return result


def _from_json(result):
    if isinstance(result, list):
        breakpoints, values = result
        return PiecewiseConstant([0.0, *breakpoints, 1.0], values)
    return result
