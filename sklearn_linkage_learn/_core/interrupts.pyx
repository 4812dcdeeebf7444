"""Long work that ends early: on Ctrl-C, or when no one waits for its result.

Invariant: whoever works for long counts what it does in a `Poll`, which now and then
checks whether to go on. Signals reach the main thread only; others ask who they work
for, by `on_check`. Cost: an addition for a piece of work, a look at the clock after
every 2^20, and the interpreter's lock, which others may hold for some milliseconds,
twenty times a second.
"""

from contextvars import ContextVar

from cpython.exc cimport PyErr_CheckSignals
from libc.time cimport CLOCKS_PER_SEC, clock

# A function that raises what ends the work of the current thread; or None.
on_check = ContextVar("on_check", default=None)


def check():
    """Raise what ends the work of the current thread, if there is anything."""
    PyErr_CheckSignals()
    function = on_check.get()
    if function is not None:
        function()


cdef class Poll:
    """Work done since the last check."""

    cdef int look(self) except -1 nogil:
        """Check, if it is time to."""
        cdef clock_t now = clock()
        self.work = 0
        # The clock may go round; on Windows it stands at -1 after some weeks.
        if now >= 0 and 0 <= now - self.last_check < CLOCKS_PER_SEC // 20:
            return 0
        self.last_check = now
        with gil:
            check()
        return 0
