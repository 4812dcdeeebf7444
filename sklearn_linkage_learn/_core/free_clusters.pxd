"""Clusters taken out of a merge sequence, with their lines to all others alive."""

cimport cython

from .lines cimport Lines
from .predicates cimport TOLERANCE


cdef extern from *:
    """
    /* Shown in place of a cluster's line to itself; distances stay below 2**301. */
    #define SLL_FAR 1e300
    """
    const double FAR "SLL_FAR"


cdef struct FreeCluster:
    int node
    int partner         # the nearest other free cluster, -1 if not known
    double gap          # the distance to it
    int blocker         # the nearest cluster that is not free, -1 if not known
    double reach        # no such cluster is nearer than this
    double* lines       # to the clusters alive, plane by plane
    int* shared         # how many points it has in common with each ghost


cdef class FreeClusters(Lines):
    cdef int* alive
    cdef int* place             # of a node in `alive`
    cdef int n_alive
    cdef FreeCluster* frees
    cdef int* free_at           # index of a node in `frees`, -1 if it is not free
    cdef int n_free
    cdef bint expiring          # whether lines may be out of date, and too low then
    cdef int n_free_blocks      # how many of `frees` have memory

    @cython.final
    cdef inline const double* shows(self, int k, int f) noexcept nogil:
        """The values of merge function f between free cluster k and all others."""
        return self.frees[k].lines + <Py_ssize_t> self.shown[f] * self.n_points

    @cython.final
    cdef inline double limit(self, double value) noexcept nogil:
        """Values above this are certainly greater than `value`."""
        return value + (2.0 * TOLERANCE * value + self.slack)

    cdef bint renew(self, int k, int a) noexcept nogil
    cdef int set_free(self, int node) except -1 nogil
    cdef void set_bound(self, int k) noexcept nogil
    cdef void set_all_bound(self) noexcept nogil
    cdef void find_partner(self, int k) noexcept nogil
    cdef bint is_nearest(self, int k, int partner) noexcept nogil
    cdef void find_blocker(self, int k) noexcept nogil
    cdef double failure_bound(
        self, int k, int partner, double start, double end
    ) noexcept nogil
    cdef double certificate(self, int k, int l) noexcept nogil
    cdef double exact_failure(self, int node) except? -1 nogil
    cdef bint holds(self, int node) noexcept nogil
    cdef double compete(self, int node) noexcept nogil
    cdef void join_frees(self, int k, int l, int node) noexcept nogil

    cdef void offer_partner(self, int k) noexcept nogil
    cdef void forget_partners(self, int left, int right) noexcept nogil
    cdef void load_lines(self, int k) noexcept nogil
    cdef void show(self, int k) noexcept nogil
    cdef void join_lines(self, int k, int l) noexcept nogil
    cdef void store_lines(self, int k) noexcept nogil
    cdef void join_entries(self, int k, int a, int b, int node) noexcept nogil
    cdef void replace_alive(self, int a, int b, int node) noexcept nogil
