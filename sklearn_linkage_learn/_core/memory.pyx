"""Large blocks of memory that pass from instance to instance.

Invariant: a block has one owner, or waits in `idle`, which is empty unless someone
keeps blocks. A fresh block costs a page fault for every page that is touched, which
for a curve of average linkage is as much as its repairs; one that waits costs nothing.
Blocks are not zeroed. All of this runs under the interpreter's lock.
"""

from contextlib import contextmanager

from libc.stdlib cimport free, malloc

cdef list idle = []
cdef int n_keeping = 0


cdef class Block:
    """Memory that is freed with its last reference."""

    def __dealloc__(self):
        free(self.start)


cdef Block take_block(size_t size):
    """Return a block of at least that size, with anything in it."""
    cdef Block block
    for block in idle:
        if block.size >= size:
            idle.remove(block)
            return block
    block = Block.__new__(Block)
    block.start = malloc(size)
    if block.start == NULL:
        raise MemoryError(f"{size} bytes for the lines between clusters")
    block.size = size
    return block


cdef void give_block(Block block) noexcept:
    """Take a block back from its owner."""
    if n_keeping:
        idle.append(block)


@contextmanager
def kept_blocks():
    """Keep blocks for the next instance, until all who want that are done."""
    global n_keeping
    n_keeping += 1
    try:
        yield
    finally:
        n_keeping -= 1
        if n_keeping == 0:
            idle.clear()
