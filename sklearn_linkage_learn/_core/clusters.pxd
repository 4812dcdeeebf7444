"""The clusters alive in one run, and every merge function between each two."""

cimport cython

from sklearn_linkage_learn._core.predicates cimport AVERAGE, Expansion, MergeFunction


cdef class Clusters:
    cdef readonly int n_points
    cdef int n_functions
    cdef int n_alive
    cdef int n_parts                # doubles that one cluster pair takes
    cdef MergeFunction* kind        # per function
    cdef int* width                 # per function: doubles per number
    cdef int* offset                # per function: its first part
    cdef double* value              # [slot][slot][part]
    cdef double* weight             # per function: the weight as two doubles
    cdef double* mixed              # [slot][slot] float filter of the mix, or NULL
    cdef int* deciding              # [slot][slot][function] its point pair, or NULL
    cdef int* alive                 # the slots in use, ascending
    cdef int* size
    cdef int* first                 # smallest point of a cluster
    cdef int* node                  # scipy's id of a cluster
    cdef int* owner                 # slot that holds a point
    cdef const double[:, ::1] distances
    cdef bint has_average

    @cython.final
    cdef inline double pairs(self, int i, int j) noexcept nogil:
        """How many point pairs two slots have between them."""
        return <double> self.size[i] * <double> self.size[j]

    @cython.final
    cdef inline const double* parts(self, int i, int j) noexcept nogil:
        """All numbers kept for two slots."""
        return self.value + (<Py_ssize_t> i * self.n_points + j) * self.n_parts

    @cython.final
    cdef inline double approximate(self, int i, int j, int f) noexcept nogil:
        """A merge function's value, to within a few roundings."""
        if self.kind[f] == AVERAGE:
            return self.parts(i, j)[self.offset[f]] / self.pairs(i, j)
        return self.parts(i, j)[self.offset[f]]

    @cython.final
    cdef inline double mix(self, int i, int j) noexcept nogil:
        """The mix at the current weights, to within a few roundings."""
        cdef double total = 0.0
        cdef int f
        for f in range(self.n_functions):
            total += self.weight[2 * f] * self.approximate(i, j, f)
        return total

    cdef int set_weights(self, const double[:, ::1] weights) except -1
    cdef int track_deciding_pairs(self) except -1
    cdef void gap(
        self, Expansion* e, int f, const double* u, double pairs_u,
        const double* v, double pairs_v,
    ) noexcept nogil
    cdef int compare_parts(
        self, const double* u, double pairs_u, const double* v, double pairs_v
    ) noexcept nogil
    cdef int compare(self, int i, int j, int k, int l) except -2 nogil
    cdef int compare_ties(self, int i, int j, int k, int l) except -2 nogil
    cdef int compare_point(
        self, Py_ssize_t i, Py_ssize_t j, int f, const double* number
    ) noexcept nogil
    cdef void load_points(self) noexcept nogil
    cdef long long deciding_pair(self, int i, int j) noexcept nogil
    cdef void join_rows(self, int i, int j, int f) noexcept nogil
    cdef double ward(
        self, int i, int j, int x, double u, double v, double joined
    ) noexcept nogil
    cdef void join_deciding(self, int i, int j, int x, int f, int s) noexcept nogil
    cdef void merge(self, int i, int j, int node) noexcept nogil
