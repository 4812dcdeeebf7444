"""The rows of the union of two clusters, from their rows."""

from .rows cimport Rows


cdef class Unions(Rows):
    cdef bint in_rows               # whether exact numbers can be joined by rows

    cdef void merge(self, int i, int j, int node) noexcept nogil
    cdef void join_rows(self, int i, int j) noexcept nogil
    cdef void join_points(self, int i, int j, int f) noexcept nogil
    cdef void mix_metrics(self, double* row, double** parts) noexcept nogil
    cdef bint is_taken(
        self, double** u, double** v, int x, bint single
    ) noexcept nogil
    cdef void copy_distances(self, double* row, int i, int m) noexcept nogil
    cdef void own_parts(self, int i) noexcept nogil
    cdef void join_entries(self, int i, int j) noexcept nogil
    cdef void mix_row(self, int i) noexcept nogil
    cdef void mix_entries(self, int i) noexcept nogil
