"""Lines between the clusters of a merge sequence, looked up by node id."""

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
    cdef int room               # ids there is room for
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

    cdef int reserve(self, int room) except -1 nogil
    cdef void move_to(self, double t) noexcept nogil
    cdef int new_node(self) except -1 nogil
    cdef void give_back(self, int node) noexcept nogil
    cdef void fetch(self, int x, int y, double* parts) noexcept nogil
    cdef double shown_value(
        self, const double* parts, int f, double pairs
    ) noexcept nogil
    cdef double mix(self, double start, double end) noexcept nogil
    cdef void gaps(
        self, int x, int y, int u, int v, Expansion* start, Expansion* end
    ) noexcept nogil
    cdef int compare(self, int x, int y, int u, int v) noexcept nogil
    cdef double crossing(self, int x, int y, int u, int v) noexcept nogil
    cdef long long deciding_pair(self, int x, int y) noexcept nogil
    cdef int list_members(self, int node, int* members) noexcept nogil


cdef void* larger(void* block, size_t n_bytes) except NULL nogil
