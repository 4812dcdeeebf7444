"""Progress of work on instances, on standard error and by scikit-learn's callbacks.

Time that is left is estimated by the work that is, and this by squares of numbers of
points: most of the time goes to pairs of them.
"""

import sys
import warnings
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic

import numpy as np

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:
        """Nothing: this version of scikit-learn has no callbacks."""


# A line is printed after that part of all work, and that many seconds.
_STEP, _PAUSE = 0.01, 1.0


@contextmanager
def shown_progress(title, sizes, unit="instances"):
    """Show progress on standard error while the block runs.

    Parameters
    ----------
    title : str or None
        None shows nothing.

    sizes : list of int
        The number of points of each instance.

    unit : str, default="instances"
        What is counted.

    Yields
    ------
    advance : callable
        To be called with the index of an instance when it is done.
    """
    if title is None:
        yield lambda i: None
        return
    work = np.square(sizes, dtype=float)
    tqdm = _import_tqdm()
    if tqdm is None:
        yield _Lines(title, work, unit)
        return
    total = len(work)
    bar_format = "{desc}: {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}{postfix}]"
    with tqdm(
        desc=title,
        total=work.sum(),
        bar_format=bar_format,
        postfix=f"0/{total} {unit}",
        smoothing=0,
        file=sys.stderr,
    ) as bar:
        done = 0

        def advance(i):
            nonlocal done
            done += 1
            bar.set_postfix_str(f"{done}/{total} {unit}", refresh=False)
            bar.update(work[i])

        yield advance


def _import_tqdm():
    """A bar for terminals and notebooks, or None."""
    try:
        with warnings.catch_warnings():
            # In notebooks without ipywidgets a bar is text, no reason to warn.
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm


class _Lines:
    """Plain lines, at most a hundred and one a second."""

    def __init__(self, title, work, unit):
        self._title, self._work, self._unit = title, work, unit
        self._n_done, self._done, self._shown = 0, 0.0, 0.0
        self._start = self._last = monotonic()

    def __call__(self, i):
        self._n_done += 1
        self._done += self._work[i] / self._work.sum()
        now = monotonic()
        is_last = self._n_done == len(self._work)
        is_due = now >= self._last + _PAUSE and self._done >= self._shown + _STEP
        if not is_last and not is_due:
            return
        self._last, self._shown = now, self._done
        passed = now - self._start
        left = passed * (1 - self._done) / self._done
        time = f"{_clock(passed)} passed" if is_last else f"about {_clock(left)} left"
        count = f"{self._n_done}/{len(self._work)} {self._unit}"
        print(f"{self._title}: {count}, {time}", file=sys.stderr, flush=True)


def _clock(seconds):
    return str(timedelta(seconds=round(seconds)))


class FitTasks:
    """A fit and its instances, as tasks of scikit-learn's callbacks.

    Hooks are called in the thread of `fit`, for an instance when it is done. A wish of
    a callback to stop is not heeded, as in scikit-learn's searches: what is learned
    must not depend on which instances were done first.

    Parameters
    ----------
    learner : estimator

    X, y : see `fit`

    metadata : dict
        What else `fit` got; None does not count.

    n_instances : int
    """

    def __init__(self, learner, X, y, metadata, n_instances):
        self._learner = learner
        self._context = None
        if not hasattr(learner, "_init_callback_context"):
            return
        given = {name: value for name, value in metadata.items() if value is not None}
        self._data = {"X": X, "y": y, "metadata": given or None}
        self._context = learner._init_callback_context(
            max_subtasks=n_instances, sequential_subtasks=False
        )
        self._context.call_on_fit_task_begin(estimator=learner, **self._data)

    def end_instance(self, i):
        if self._context is not None:
            task = self._context.subcontext("instance", task_id=i)
            task.call_on_fit_task_begin(estimator=self._learner)
            task.call_on_fit_task_end(estimator=self._learner)

    def end(self):
        """All of the learner is fitted."""
        if self._context is not None:
            self._context.call_on_fit_task_end(
                estimator=self._learner,
                reconstruction_attributes={},
                **self._data,
            )
