"""Lines between the clusters of a merge sequence, looked up by node id."""

cimport cython

from .predicates cimport (
    Expansion, MergeFunction, WARD, ward_denominator, ward_value,
)
from .tree_sweep cimport TreeSweep

cdef enum:
    MOST_PARTS = 96


cdef class Lines(TreeSweep):
    cdef int n_parts            # doubles that one line takes
    cdef int n_planes           # the same and what is shown of quotients
    cdef MergeFunction kind[2]
    cdef int metric[2]          # row of `distances` that a function reads
    cdef int width[2]
    cdef int offset[2]
    cdef int shown[2]           # the plane that shows a function's value
    cdef bint quotients         # whether numbers are sums, still to be divided
    cdef const double[:, ::1] distances

    cdef int n_nodes            # ids in use or given back; a repair needs less than
    #                             3 n at once: a ghost has at least two points
    cdef int* first             # smallest point
    cdef int* slot              # its place in rows, that of one of its points
    cdef int* position          # place in the merge sequence, negative for a leaf
    cdef int* point_at          # the point that has a slot
    cdef double* within         # [node][function][width] sums inside, for Ward
    cdef double** row           # lines to the clusters alive at its merge, by slot
    cdef double** more_rows     # beyond those of one tree's nodes
    cdef int n_more_rows
    cdef int* spare             # ids that were given back
    cdef int n_spare

    @cython.final
    cdef inline double* entry(self, int x, int y) noexcept nogil:
        """The stored line of a cluster and one that is alive when it is merged."""
        return self.row[x] + <Py_ssize_t> self.slot[y] * self.n_parts

    @cython.final
    cdef inline double distance(
        self, int f, Py_ssize_t i, Py_ssize_t j
    ) noexcept nogil:
        """The distance of two points that merge function f reads."""
        cdef Py_ssize_t n = self.n_points
        if i > j:
            i, j = j, i
        return self.distances[self.metric[f], i * n - i * (i + 1) // 2 + j - i - 1]

    @cython.final
    cdef inline double below(self, int x, int y) noexcept nogil:
        """What sums between two clusters are to be divided by."""
        cdef double a = self.size[x], b = self.size[y]
        return ward_denominator(a, b) if self.kind[0] == WARD else a * b

    @cython.final
    cdef inline double quotient(
        self, int f, double total, double low, int x, int y
    ) noexcept nogil:
        """The value of a sum in two doubles, to within the filter's error."""
        cdef const double* u
        cdef const double* v
        if self.kind[f] != WARD:
            return total / self.below(x, y)
        u = self.within + (2 * x + f) * self.width[f]
        v = self.within + (2 * y + f) * self.width[f]
        return ward_value(
            total, low, u[0], u[1], v[0], v[1], self.size[x], self.size[y]
        )

    cdef void number_slots(self, const int[:, ::1] children) noexcept nogil
    cdef int load_points(self, const int[:, ::1] children) except -1 nogil
    cdef void load_row(self, int point) noexcept nogil
    cdef int new_node(self) except -1 nogil
    cdef double* new_row(self) except NULL nogil
    cdef void give_back(self, int node) noexcept nogil
    cdef void unite(self, int node, int left, int right) noexcept nogil
    cdef void fetch(self, int x, int y, double* parts) noexcept nogil
    cdef void line(self, int x, int y, double* parts) noexcept nogil
    cdef void gaps(
        self, int x, int y, int u, int v, Expansion* start, Expansion* end
    ) noexcept nogil
    cdef int compare(self, int x, int y, int u, int v) noexcept nogil
    cdef double crossing(self, int x, int y, int u, int v) noexcept nogil
    cdef long long deciding_pair(self, int x, int y) noexcept nogil
