"""Large blocks of memory that pass from instance to instance.

Invariant: a block belongs to one workspace, or waits in `idle`, which is empty unless
someone keeps blocks. A fresh block costs a page fault for every page that is touched,
which can cost as much as the run it serves; one that waits costs nothing. Blocks are
not zeroed. All of this happens under the interpreter's lock.
"""

from contextlib import contextmanager

from libc.stdlib cimport free, malloc

cdef list idle = []         # (size, address) of each block
cdef int n_keeping = 0


cdef class Workspace:
    """A block for one or more rows of doubles, with anything in them."""

    def __cinit__(self, size_t n_rows, size_t length):
        cdef size_t address
        self.step = length + GAP
        self.size = max(n_rows * self.step - GAP, <size_t> 1) * sizeof(double)
        for size, address in sorted(idle):
            if size >= self.size:
                idle.remove((size, address))
                self.size = size
                self.start = <double*> address
                break
        else:
            if idle:
                # All are too small. The largest makes room, so that there are never
                # more blocks than are used at once.
                size, address = max(idle)
                idle.remove((size, address))
                free(<void*> address)
            self.start = <double*> malloc(self.size)
            if self.start == NULL:
                raise MemoryError(f"{self.size} bytes for the lines between clusters")
        open_rows(self.start, n_rows, length)

    def __dealloc__(self):
        if n_keeping and self.start != NULL:
            close_rows(self.start, self.size // sizeof(double))
            idle.append((self.size, <size_t> self.start))
        else:
            free(self.start)


@contextmanager
def kept_blocks():
    """Keep blocks for the next instance, until all who want that are done."""
    global n_keeping
    cdef size_t address
    n_keeping += 1
    try:
        yield
    finally:
        n_keeping -= 1
        if n_keeping == 0:
            for _, address in idle:
                free(<void*> address)
            idle.clear()


def idle_bytes():
    """Return the size of all blocks that wait."""
    return sum(size for size, _ in idle)
