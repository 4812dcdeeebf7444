"""Work on the workers of a dask cluster, by its own futures.

joblib's backend for dask chooses the cluster and no more. It leaves each instance on
some worker, to be lost with it; it waits for ever if a task kills its workers; and it
does not cancel tasks whose results are not wanted any more.
"""

import sys
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from time import monotonic

# Workers ask the scheduler for a signal that often, and their number is asked for.
_INTERVAL = 1.0


class Signal:
    """Tells workers that their work is not wanted any more.

    dask cancels tasks that wait, but not those at work. A copy of this in another
    process hears of what was sent.
    """

    def __init__(self, event):
        self._event = event
        self._next_look = monotonic() + _INTERVAL

    def __reduce__(self):
        return Signal, (self._event,)

    def send(self):
        with suppress(Exception):  # as below
            self._event.set()

    def was_sent(self):
        if monotonic() < self._next_look:
            return False
        self._next_look = monotonic() + _INTERVAL
        return self._event.is_set()


def dask_signal(backend):
    """Return a signal if a backend of joblib is that of dask, or else None."""
    distributed = sys.modules.get("distributed")
    client = getattr(backend, "client", None)
    if distributed is None or not isinstance(client, distributed.Client):
        return None
    return Signal(distributed.Event(client=client))


def dask_results(backend, function, arguments, names):
    """Call a function on a cluster, and yield what it returns as it comes.

    Parameters
    ----------
    backend : joblib's backend for dask

    function : callable

    arguments : list of tuple
        What it is called with, for each instance.

    names : list of str
        How errors call the instances.
    """
    import dask
    from distributed import KilledWorker, as_completed

    client, options = backend.client, getattr(backend, "submit_kwargs", {})
    n_threads = _Threads(backend)
    finished, under_way = as_completed(loop=client.loop), {}

    def take():
        future = next(finished)
        i = under_way.pop(future)
        try:
            return future.result()
        except KilledWorker as error:
            # dask suspects all that a dead worker had, also what only waited there.
            others = [j for f, j in under_way.items() if f.status == "error"]
            suspects = " or ".join(names[j] for j in sorted([i, *others]))
            raise BrokenProcessPool(
                f"{suspects}: {error.allowed_failures + 1} workers died at work on it. "
                "Often there is too little memory: give workers more, or fewer threads."
            ) from error

    # Arguments go with their task, so that dask can give it to another worker. It
    # advises against that for large data, not knowing that no other task needs them
    # and that few tasks are under way.
    quiet = {"distributed.admin.large-graph-warning-threshold": "1 PiB"}
    with dask.config.set(quiet), backend.retrieval_context():
        try:
            for i, args in enumerate(arguments):
                future = client.submit(function, *args, pure=False, **options)
                under_way[future] = i
                finished.add(future)
                while len(under_way) >= 2 * n_threads():
                    yield take()
            while under_way:
                yield take()
        finally:
            # What ended the work matters more than a cluster that is gone.
            with suppress(Exception):
                if under_way:
                    client.cancel(list(under_way))


class _Threads:
    """The number of threads of a cluster, which may grow and shrink."""

    def __init__(self, backend):
        self._client = backend.client
        # This waits for the first worker, and complains if none comes.
        self._number = backend.effective_n_jobs(-1)
        self._next_look = monotonic() + _INTERVAL

    def __call__(self):
        if monotonic() >= self._next_look:
            self._number = max(sum(self._client.ncores().values()), 1)
            self._next_look = monotonic() + _INTERVAL
        return self._number
