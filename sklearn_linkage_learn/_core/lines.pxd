"""Lines between the clusters of a merge sequence, looked up by node id."""

cimport cython

from sklearn_linkage_learn._core.predicates cimport Expansion, MergeFunction


cdef class Lines:
    cdef int n_points
    cdef int n_parts            # doubles that one line takes
    cdef int n_planes           # n_parts, and one for the mean of average linkage
    cdef MergeFunction kind[2]
    cdef int width[2]
    cdef int offset[2]
    cdef int shown[2]           # the plane that shows a function's value
    cdef bint has_average
    cdef double t               # the current parameter, and 1 - t in two doubles
    cdef double rest
    cdef double rest_low
    cdef const double[:, ::1] distances

    cdef int n_nodes            # ids in use or given back
    cdef int room               # 3 n: a repair never needs more ids at once
    cdef int* left
    cdef int* right
    cdef int* parent            # -1 for the root
    cdef int* size
    cdef int* first             # smallest point
    cdef int* position          # place in the merge sequence, -1 for a leaf
    cdef double* start          # the line at which the children were merged
    cdef double* end
    cdef double** row           # lines to the clusters that are older, by first point
    cdef int* spare             # ids that were given back
    cdef int n_spare
    cdef int* members

    @cython.final
    cdef inline double mix(self, double start, double end) noexcept nogil:
        """Value of a line at the current parameter, to within a few roundings."""
        return self.rest * start + self.t * end

    @cython.final
    cdef inline double* entry(self, int x, int y) noexcept nogil:
        """The stored line of two coexisting clusters that are not both leaves."""
        if self.position[x] < self.position[y]:
            x, y = y, x
        return self.row[x] + <Py_ssize_t> self.first[y] * self.n_parts

    @cython.final
    cdef inline double distance(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """The distance of two points."""
        if i > j:
            i, j = j, i
        return self.distances[0, i * self.n_points - i * (i + 1) // 2 + j - i - 1]

    cdef void move_to(self, double t) noexcept nogil
    cdef int new_node(self) except -1 nogil
    cdef void give_back(self, int node) noexcept nogil
    cdef void fetch(self, int x, int y, double* parts) noexcept nogil
    cdef void gaps(
        self, int x, int y, int u, int v, Expansion* start, Expansion* end
    ) noexcept nogil
    cdef int compare(self, int x, int y, int u, int v) noexcept nogil
    cdef double crossing(self, int x, int y, int u, int v) noexcept nogil
    cdef long long deciding_pair(self, int x, int y) noexcept nogil
    cdef int list_members(self, int node, int* members) noexcept nogil


cdef void* allocate(size_t n_bytes) except NULL nogil
