"""A greedy run, and until when each of its clusters leaves it as it is."""

cimport cython

from .lines cimport Lines
from .predicates cimport is_quotient


cdef class GreedyRun(Lines):
    cdef double* fails
    cdef int* death             # place of the merge that takes a cluster
    cdef int* older             # clusters older than the one that is looked at,
    cdef int* last              # and the last place where the pair competes
    cdef int* top               # [place] the highest merge of its life so far,
    cdef double* peak           # and how high that is

    @cython.final
    cdef inline bint is_older(self, int x, int y) noexcept nogil:
        """Whether the pair's line is in the row of y, and its certificate that of y."""
        if self.position[x] == self.position[y]:
            return self.slot[x] < self.slot[y]
        return self.position[x] < self.position[y]

    @cython.final
    cdef inline void show(
        self, int x, int y, double* start, double* end
    ) noexcept nogil:
        """The line of two clusters, to within the filter's error."""
        cdef const double* entry
        entry = self.entry(y, x) if self.is_older(x, y) else self.entry(x, y)
        start[0] = entry[self.offset[0]]
        end[0] = entry[self.offset[1]]
        if is_quotient(self.kind[0]):
            start[0] /= self.below(x, y)
        if is_quotient(self.kind[1]):
            end[0] /= self.below(x, y)

    @cython.final
    cdef inline double value(self, int x, int y) noexcept nogil:
        cdef double start, end
        self.show(x, y, &start, &end)
        return self.mix(start, end)

    cdef void join_lines(self, int left, int right, int other, int node) noexcept nogil
    cdef int first_failure(self) except -2 nogil
    cdef double certify(self, int x) noexcept nogil
    cdef int failing_place(self, int x) noexcept nogil
    cdef bint is_below(self, int x, int y, int node) noexcept nogil
    cdef bint is_nearer(
        self, int x, int y, double value, int u, int v, double other
    ) noexcept nogil
    cdef bint may_be_nearer(self, double value, int place) noexcept nogil
    cdef int find_older(self, int x) noexcept nogil
    cdef void climb(self, int place, int last) noexcept nogil
    cdef bint is_tied(self, int u, int v) noexcept nogil
    cdef void move_before(self, double t) noexcept nogil
