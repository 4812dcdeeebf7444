"""Work on many instances at once, and an orderly end if something happens to it.

Whatever ends the work early, Ctrl-C or an error of one instance, also ends it on the
other threads. A worker process that dies takes no result with it but those that it was
about to have.
"""

import sys
import threading
import warnings
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from sklearn.utils.parallel import Parallel, delayed

from ._core.interrupts import stop_event
from ._core.memory import kept_blocks
from ._instances import blame

# How often workers may die before one more result has come in.
_MOST_DEATHS = 3


class _Stop:
    """Tells other threads that their results are not wanted any more.

    It is theirs while they work for the thread that made it. If that one is itself
    told to stop, so are they.
    """

    def __init__(self):
        self._outer = stop_event.get()
        self._thread = threading.get_ident()
        self._is_set = False

    def __reduce__(self):
        # Another process cannot be told; it is killed.
        return _Stop, ()

    def set(self):
        self._is_set = True

    def is_set(self):
        return self._is_set or (self._outer is not None and self._outer.is_set())

    @contextmanager
    def heeded(self):
        """Let the core look here now and then, if this is another thread."""
        if threading.get_ident() == self._thread:
            yield
            return
        token = stop_event.set(self)
        try:
            yield
        finally:
            stop_event.reset(token)


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
    try:
        # Threads hand their memory on from instance to instance.
        with kept_blocks():
            return list(results)
    finally:
        stop.set()


def _call(stop, name, function, *args):
    with stop.heeded(), blame(name):
        return function(*args)


def _results(calls, names, n_jobs):
    """Yield results in order, and have those computed again that a dead worker owes."""
    done, deaths = 0, 0
    while done < len(calls):
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        try:
            for result in parallel(calls[done:]):
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
