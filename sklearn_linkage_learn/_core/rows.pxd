"""The numbers of a run's clusters at fixed weights, in rows that are scanned."""

cimport cython

from libc.math cimport fabs

from .clusters cimport Clusters
from .memory cimport Workspace


cdef extern from *:
    """
    /* Mixed values take more roundings than SLL_TOLERANCE allows for. */
    #define SLL_MARGIN (1.0 / 35184372088832.0)
    """
    const double MARGIN "SLL_MARGIN"


cdef class Rows(Clusters):
    cdef Workspace memory
    cdef int stride                 # doubles from row to row
    cdef double** spare             # rows that nobody holds
    cdef int n_spare
    cdef double** mixed_row         # [slot] its mixed values, by slot
    cdef double** part_row          # [slot][part] its exact numbers; NULL for points
    cdef bint alone                 # whether the mixed value is the only number
    cdef double* portion            # [function][metric] weights that sum to one
    cdef int n_columns              # the slots, in use or not
    cdef double* absent             # per column: 0, or infinity if not in use
    cdef double* share              # one point's share of a cluster: 1 / size
    cdef double* ones               # the same for merge functions that are no sums
    cdef int time                   # number of merges so far
    cdef int* born                  # the time when a slot's cluster was merged
    cdef int* seen                  # up to when its mixed row is right
    cdef int* recent                # slots that are no points, by time of birth
    cdef int n_recent
    cdef int* place                 # new slot of an old one, once gaps are closed
    cdef int* candidate

    @cython.final
    cdef inline double value(self, int i, int j) noexcept nogil:
        """The mix of two slots, to within some roundings and slack."""
        if self.born[i] >= self.born[j]:
            return self.mixed_row[i][j]
        return self.mixed_row[j][i]

    @cython.final
    cdef inline double margin(self, double value) noexcept nogil:
        """How far two values of this size may be off, together."""
        return MARGIN * fabs(value) + self.slack

    cdef int load_points(self) except -1 nogil
    cdef void load_distances(self, double* row, int i) noexcept nogil
    cdef double* take_row(self) noexcept nogil
    cdef void give_row(self, double* row) noexcept nogil
    cdef int n_candidates(self, const double* values, int start) noexcept nogil
    cdef void refresh(self, int i) noexcept nogil
    cdef int first_after(self, int time) noexcept nogil
    cdef void catch_up(
        self, double* row, int i, double** rows, int step, int first
    ) noexcept nogil
    cdef void release(self, int j) noexcept nogil
    cdef void close_gaps(self) noexcept nogil
    cdef void squeeze(self, double* row) noexcept nogil
