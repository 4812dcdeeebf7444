"""Work on many instances at once, and an orderly end if something happens to it.

Whatever ends the work early, Ctrl-C or an error of one instance, also ends it on the
other threads and on the workers of a dask cluster. What a worker process that dies has
not handed in is computed again.
"""

import signal
import sys
import warnings
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from contextvars import copy_context

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config

from ._core.interrupts import on_check
from ._core.memory import kept_blocks
from ._dask import dask_results, dask_signal
from ._errors import blame

# How often workers may die before one more result has come in.
_MOST_DEATHS = 3


class _Stopped(Exception):
    """The result of some work is not wanted any more."""


class _Stop:
    """Ends the work that is done under it, wherever the core checks.

    If the work that it is itself part of is to end, so is this.
    """

    def __init__(self, signal=None):
        self._outer = on_check.get()
        self._signal = signal
        self.is_set = False
        self.interrupt = None  # What the handler of a signal has raised.

    def __reduce__(self):
        return _StopElsewhere, (self._signal,)

    def __call__(self):
        if self.is_set:
            raise _Stopped
        if self._outer is not None:
            self._outer()

    def set(self):
        """End all work under it."""
        self.is_set = True
        if self._signal is not None:
            self._signal.send()

    def run(self, function, *args):
        """Call a function that is to heed this."""
        return copy_context().run(self._run, function, args)

    def _run(self, function, args):
        on_check.set(self)
        return function(*args)


class _StopElsewhere(_Stop):
    """A copy in another process, which hears of the end by a signal.

    Without one it does not, but its process can be killed.
    """

    def __call__(self):
        if self._signal is not None and self._signal.was_sent():
            self.is_set = True
        super().__call__()


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


def map_instances(function, names, arguments, n_jobs, listeners=()):
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

    listeners : iterable of callable
        Each is called with the index of an instance when its result is there.

    Returns
    -------
    results : list
        In the order of the instances.
    """
    backend, _ = get_active_backend(prefer="threads")
    to_workers = dask_signal(backend)
    stop = _Stop(to_workers)
    config = get_config()
    calls = [
        (i, stop, name, config, function, args)
        for i, (name, args) in enumerate(zip(names, arguments, strict=True))
    ]
    if to_workers is None:
        results = _results(calls, names, n_jobs)
    else:
        results = dask_results(backend, _call, calls, names)
    found = {}
    try:
        # Threads hand their memory on from instance to instance.
        with _remembered_interrupts(stop), kept_blocks():
            for i, result in results:
                found[i] = result
                for listener in listeners:
                    listener(i)
                stop()
    except BaseException as error:
        stop.set()
        results.close()
        if isinstance(error, _Stopped) and stop.interrupt is not None:
            raise stop.interrupt from None
        raise
    return [found[i] for i in range(len(calls))]


def _call(i, stop, name, config, function, args):
    # scikit-learn's own Parallel would also set filters of warnings, but all threads
    # share these.
    with blame(name), config_context(**config):
        return i, stop.run(function, *args)


def _results(calls, names, n_jobs):
    """Yield numbers and results, and have those computed again that the dead owe."""
    owed, deaths = dict(enumerate(calls)), 0
    while owed:
        try:
            missing = [delayed(_call)(*call) for call in owed.values()]
            for i, result in _parallel(n_jobs)(missing):
                del owed[i]
                deaths = 0
                yield i, result
        except _deaths() as error:
            name = names[min(owed)]
            deaths += 1
            if deaths == _MOST_DEATHS:
                raise BrokenProcessPool(
                    f"{name}: worker processes died {deaths} times before its loss or "
                    "tree was known, at work on it or on one of the next instances. "
                    "Often there is too little memory: try fewer n_jobs."
                ) from error
            warnings.warn(
                f"A worker process died, often for lack of memory. "
                f"{len(calls) - len(owed)} of {len(calls)} results are there; going on "
                f"from {name}.",
                RuntimeWarning,
                stacklevel=2,
            )


def _deaths():
    """What backends raise if a worker dies."""
    ray = sys.modules.get("ray")
    of_ray = () if ray is None else (ray.exceptions.RayActorError,)
    return BrokenProcessPool, *of_ray


class _QuietParallel(Parallel):
    """Without joblib's warning of results that are not wanted any more.

    A filter of warnings would not do: it is for all threads, and those at work set and
    reset filters of their own.
    """

    def _warn_exit_early(self):
        pass


def _parallel(n_jobs):
    """Threads by default, and results as they come unless a backend only has all."""
    backend, _ = get_active_backend(prefer="threads")
    # What came before the death of a worker need not be computed again, in any order.
    any_order = backend.supports_return_generator
    return_as = "generator_unordered" if any_order else "list"
    return _QuietParallel(n_jobs=n_jobs, prefer="threads", return_as=return_as)
