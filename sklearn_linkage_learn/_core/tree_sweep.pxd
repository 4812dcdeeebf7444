"""A cluster tree that changes along the parameter, and the losses it takes on."""

cimport cython

from .interrupts cimport Poll
from .pieces cimport Pieces
from .pruning cimport TreeLoss


cdef class TreeSweep:
    cdef int n_points
    cdef int room               # ids below this may be used for nodes
    cdef double t               # the current parameter, and 1 - t
    cdef double rest
    cdef double slack           # error of float filters that does not scale
    cdef Poll poll
    cdef Pieces pieces
    cdef TreeLoss loss
    cdef double since           # from where on the tree's loss is to be taken
    cdef int* left
    cdef int* right
    cdef int* parent            # -1 for the root
    cdef int* size
    cdef double* start          # the line at which the children were merged
    cdef double* end
    cdef int* sequence          # the merges, children first
    cdef int* order             # the same, by height
    cdef double* height
    cdef int* cut               # the flat clusters,
    cdef int* undone            # and the merges above them
    cdef int* members

    @cython.final
    cdef inline double mix(self, double start, double end) noexcept nogil:
        """Value of a line at the current parameter, to within the filter's error."""
        return self.rest * start + self.t * end

    # What a subclass does: take the run at 0, and go on from there to 1.
    cdef int play(self, const int[:, ::1] children) except -1 nogil
    cdef int sweep(self) except -1 nogil

    cdef void move_to(self, double t) noexcept nogil
    cdef int settle(self, double until) except -1 nogil
    cdef int list_members(self, int node, int* members) noexcept nogil

    # What a subclass knows of two merges.
    cdef int compare_merges(self, int u, int v) noexcept nogil
    cdef double merge_crossing(self, int u, int v) noexcept nogil

    cdef double find_cut(self, int k) noexcept nogil
    cdef bint is_higher(self, int u, int v) noexcept nogil
    cdef double swap_before(self, int u, int v, double until) noexcept nogil
    cdef void sort_by_height(self) noexcept nogil
