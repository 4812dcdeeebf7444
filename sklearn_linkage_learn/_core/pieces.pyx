"""The pieces of a curve while an engine sweeps over the parameter.

Invariant: starts ascend, and two neighbours differ in value or in certified bound.
Cost: O(1) amortised a tree, besides its loss.
"""

from cpython.array cimport array
from libc.stdlib cimport free, realloc

from .pruning cimport MergeTree, TreeLoss


cdef class Pieces:
    """Losses of the trees met so far, each from its first parameter on."""

    def __cinit__(self, TreeLoss loss):
        self.loss = loss

    def __dealloc__(self):
        free(self.pieces)

    @property
    def work(self):
        """What the engine did, as a dict of those counts that it keeps."""
        counts = {"events": self.n_events, **self.count}
        return {name: count for name, count in counts.items() if count}

    cdef int add(self, double t, const MergeTree* tree) except -1 nogil:
        """The tree holds from t on; a second tree at the same t replaces the first."""
        cdef Piece piece
        cdef Piece* grown
        cdef const Piece* last
        piece.start = t
        piece.value = self.loss.evaluate(tree)
        piece.lower = self.loss.lower
        self.n_trees += 1
        if self.size and self.pieces[self.size - 1].start == t:
            self.size -= 1
        if self.size:
            last = self.pieces + self.size - 1
            if last.value == piece.value and last.lower == piece.lower:
                return 0
        if self.size == self.room:
            self.room = 2 * self.room + 64
            grown = <Piece*> realloc(self.pieces, self.room * sizeof(Piece))
            if grown == NULL:
                with gil:
                    raise MemoryError
            self.pieces = grown
        self.pieces[self.size] = piece
        self.size += 1
        return 0

    def columns(self):
        """Return the starts, the values and their lower bounds as arrays."""
        cdef Py_ssize_t i
        return (
            array("d", [self.pieces[i].start for i in range(self.size)]),
            array("d", [self.pieces[i].value for i in range(self.size)]),
            array("d", [self.pieces[i].lower for i in range(self.size)]),
        )
