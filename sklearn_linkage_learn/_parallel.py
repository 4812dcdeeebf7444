"""Work on many instances at once, and an orderly end if something happens to it.

Whatever ends the work early, Ctrl-C or an error of one instance, also ends it on the
other threads. What a worker process that dies has not handed in is computed again.
"""

import signal
import sys
import warnings
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from contextvars import copy_context

from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from ._core.interrupts import on_check
from ._core.memory import kept_blocks
from ._errors import blame

# How often workers may die before one more result has come in.
_MOST_DEATHS = 3


class _Stopped(Exception):
    """The result of some work is not wanted any more."""


class _Stop:
    """Ends the work that is done under it, wherever the core checks.

    If the work that it is itself part of is to end, so is this.
    """

    def __init__(self):
        self._outer = on_check.get()
        self.is_set = False
        self.interrupt = None  # What the handler of a signal has raised.

    def __reduce__(self):
        # Another process does not hear of it, but can be killed.
        return _Stop, ()

    def __call__(self):
        if self.is_set:
            raise _Stopped
        if self._outer is not None:
            self._outer()

    def run(self, function, *args):
        """Call a function that is to heed this."""
        return copy_context().run(self._run, function, args)

    def _run(self, function, args):
        on_check.set(self)
        return function(*args)


@contextmanager
def _remembered_interrupts(stop):
    """Keep a Ctrl-C in mind, for code that swallows its exception.

    So does joblib while it writes what is to be remembered of a call.
    """

    def handle(*args):
        try:
            previous(*args)
        except BaseException as error:
            stop.interrupt = error
            stop.is_set = True
            raise

    previous = signal.getsignal(signal.SIGINT)
    try:
        # Signals come to the main thread only, and others may not handle them.
        with suppress(ValueError):
            if callable(previous):
                signal.signal(signal.SIGINT, handle)
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is handle:
            signal.signal(signal.SIGINT, previous)


def map_instances(function, names, arguments, n_jobs, title=None):
    """Call a function for each instance, on several at once.

    Parameters
    ----------
    function : callable

    names : list of str
        How errors call the instances.

    arguments : list of tuple
        What the function is called with, for each instance.

    n_jobs : int or None
        As joblib takes it. Threads do the work, unless a backend is chosen in a
        :obj:`joblib.parallel_config` context.

    title : str, default=None
        If given, progress is shown under it on standard error.

    Returns
    -------
    results : list
        In the order of the instances.
    """
    stop = _Stop()
    calls = [
        delayed(_call)(stop, name, function, *args)
        for name, args in zip(names, arguments, strict=True)
    ]
    results = _results(calls, names, n_jobs)
    if title is not None:
        results = _shown(results, title, len(calls))
    found = []
    try:
        # Threads hand their memory on from instance to instance.
        with _remembered_interrupts(stop), kept_blocks():
            for result in results:
                found.append(result)
                stop()
        return found
    except _Stopped:
        if stop.interrupt is None:
            raise
        raise stop.interrupt from None
    finally:
        stop.is_set = True


def _call(stop, name, function, *args):
    with blame(name):
        return stop.run(function, *args)


def _results(calls, names, n_jobs):
    """Yield results in order, and have those computed again that a dead worker owes."""
    done, deaths = 0, 0
    while done < len(calls):
        try:
            for result in _parallel(n_jobs)(calls[done:]):
                done, deaths = done + 1, 0
                yield result
        except BrokenProcessPool as error:
            deaths += 1
            if deaths == _MOST_DEATHS:
                raise BrokenProcessPool(
                    f"{names[done]}: worker processes died {deaths} times before its "
                    "loss or tree was known, at work on it or on one of the next "
                    "instances. Often there is too little memory: try fewer n_jobs."
                ) from error
            warnings.warn(
                f"A worker process died, often for lack of memory. {done} of "
                f"{len(calls)} results are there; going on from {names[done]}.",
                RuntimeWarning,
                stacklevel=2,
            )


def _parallel(n_jobs):
    """Threads by default, and results as they come unless a backend only has all."""
    backend, _ = get_active_backend(prefer="threads")
    return_as = "generator" if backend.supports_return_generator else "list"
    return Parallel(n_jobs=n_jobs, prefer="threads", return_as=return_as)


def _shown(results, title, total):
    """Yield results, and show how many there are on standard error."""
    try:
        from tqdm import tqdm
    except ImportError:
        return _counted(results, title, total)
    return tqdm(results, desc=title, total=total, unit="instance", file=sys.stderr)


def _counted(results, title, total):
    for done, result in enumerate(results, start=1):
        print(f"{title}: {done} of {total} instances", file=sys.stderr)
        yield result
