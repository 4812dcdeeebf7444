"""The clusters alive in one run, and exact comparisons of their merge functions."""

cimport cython

from .interrupts cimport Poll
from .predicates cimport (
    AVERAGE, COMPLETE, Expansion, MergeFunction, SINGLE, WARD, ward_denominator,
    ward_value,
)


cdef class Clusters:
    cdef readonly int n_points
    cdef Poll poll
    cdef int n_functions
    cdef int n_metrics
    cdef int n_alive
    cdef int n_parts                # doubles that one cluster pair takes
    cdef int n_line_parts           # the same for exact comparisons
    cdef MergeFunction* kind        # per function
    cdef int* width                 # per function: doubles per number
    cdef int* offset                # per function: its first part
    cdef double* alpha              # per function: its weight as two doubles
    cdef double* beta               # per metric: its weight as two doubles
    cdef double* within             # [slot][metric][width] sums inside, for Ward
    cdef int n_within               # doubles of it that one slot takes
    cdef double* weight             # [part] if the mix is a weighted sum of parts
    cdef double* line_buffer        # for two lines
    cdef double* buffer             # for the numbers of two cluster pairs
    cdef Py_ssize_t* row            # row[i] + j is the place of points i < j
    cdef int* deciding              # [cluster pair][function] the place of its point
    #                                 pair, or NULL
    cdef long long n_searched       # point pairs looked at before that was tracked
    cdef int* alive                 # the slots in use, ascending
    cdef int* size
    cdef int* first                 # smallest point of a cluster
    cdef int* node                  # scipy's id of a cluster
    cdef int* last                  # its points are a list from `first` to here,
    cdef int* next                  # that goes on from point to point
    cdef int* owner                 # slot that holds a point, once asked for
    cdef const double[:, ::1] distances
    cdef bint quotients             # whether some numbers are still to be divided
    cdef double slack               # error of the filter that does not scale

    @cython.final
    cdef inline double below(self, int i, int j) noexcept nogil:
        """What sums between two slots are to be divided by."""
        cdef double a = self.size[i], b = self.size[j]
        return ward_denominator(a, b) if self.within != NULL else a * b

    @cython.final
    cdef inline Py_ssize_t pair(self, int i, int j) noexcept nogil:
        """Place of two slots' clusters in condensed order, by their first points."""
        cdef int a = self.first[i], b = self.first[j]
        return self.row[a] + b if a < b else self.row[b] + a

    @cython.final
    cdef inline bint is_by_value(self, int f) noexcept nogil:
        """Whether one point pair decides, that which has the value."""
        return self.kind[f] == SINGLE or self.kind[f] == COMPLETE

    @cython.final
    cdef inline double shown(
        self, const double* number, int f, int m, int i, int j
    ) noexcept nogil:
        """A number of slots i and j, to within a few roundings and slack."""
        cdef int width = self.width[f]
        cdef const double* u
        cdef const double* v
        if self.kind[f] == WARD:
            u = self.within + (i * self.n_metrics + m) * width
            v = self.within + (j * self.n_metrics + m) * width
            return ward_value(
                number[0], number[1], u[0], u[1], v[0], v[1],
                self.size[i], self.size[j],
            )
        if self.kind[f] == AVERAGE:
            return number[0] / self.below(i, j)
        return number[0]

    @cython.final
    cdef inline double mix(self, const double* number, int i, int j) noexcept nogil:
        """Slots i and j at the current weights, to within a few roundings and slack.

        `number` are all numbers kept for the two slots.
        """
        cdef double total = 0.0, of_function
        cdef int f, m
        if self.weight != NULL and self.n_parts <= 2:
            total = self.weight[0] * number[0]
            if self.n_parts == 2:
                total += self.weight[1] * number[1]
            return total
        for f in range(self.n_functions):
            of_function = 0.0
            for m in range(self.n_metrics):
                of_function += self.beta[2 * m] * self.shown(number, f, m, i, j)
                number += self.width[f]
            total += self.alpha[2 * f] * of_function
        return total

    cdef int set_weights(
        self, const double[:, ::1] alpha, const double[:, ::1] beta
    ) except -1
    cdef const double* numbers(self, int i, int j, double* buffer) noexcept nogil
    cdef void point_numbers(self, Py_ssize_t pair, double* number) noexcept nogil
    cdef void find_owners(self) noexcept nogil
    cdef int track_deciding_pairs(self) except -1 nogil
    cdef const double* line(self, int i, int j, double* buffer) noexcept nogil
    cdef void gap(
        self, Expansion* e, int f, int m, const double* u, double below_u,
        const double* v, double below_v,
    ) noexcept nogil
    cdef int compare_lines(
        self, const double* u, double below_u, const double* v, double below_v
    ) noexcept nogil
    cdef int compare_points(self, const double* u, const double* v) noexcept nogil
    cdef int compare(self, int i, int j, int k, int l) except -2 nogil
    cdef int compare_ties(self, int i, int j, int k, int l) except -2 nogil
    cdef long long deciding_pair(self, int i, int j) noexcept nogil
    cdef long long search_deciding_pair(
        self, const double* number, int a, int size_a, int b, int size_b
    ) noexcept nogil
    cdef long long search(
        self, int f, const double* number, int a, int size_a, int b, int size_b
    ) noexcept nogil
    cdef bint is_decided_by(
        self, Py_ssize_t i, Py_ssize_t j, const double* number
    ) noexcept nogil
    cdef void join_numbers(
        self, double* u, const double* v, int i, int j, int x
    ) noexcept nogil
    cdef void join_deciding(self, int i, int j, int x, int f, int s) noexcept nogil
    cdef void join_within(self, int i, int j, const double* number) noexcept nogil
    cdef void unite(self, int i, int j, int node) noexcept nogil
