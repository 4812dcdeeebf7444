"""Long work that ends early: on Ctrl-C, or when no one waits for its result."""

cimport cython
from libc.time cimport clock_t

cdef enum:
    STEP = 1 << 20


@cython.final
cdef class Poll:
    cdef long long work         # since the last look
    cdef clock_t last_check

    cdef inline int spend(self, long long work) except -1 nogil:
        """Count work, about one for each number read, and look after a step of it."""
        self.work += work
        return self.look() if self.work >= STEP else 0

    cdef int look(self) except -1 nogil
