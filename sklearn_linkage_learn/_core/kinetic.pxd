"""The kinetic engine: one merge sequence, repaired as the parameter moves."""

from .free_clusters cimport FreeClusters


cdef class Kinetic(FreeClusters):
    cdef int* repaired          # the new run from the failing merge on
    cdef int n_repaired
    cdef int failing            # where the new run begins
    cdef double* fails
    cdef int* ghosts
    cdef int* ghost_at          # index of a node in `ghosts`, -1 if it is none
    cdef int n_ghosts

    cdef bint reach_failure(self, int place, int second) except -1 nogil
    cdef int first_failure(self, int* second) noexcept nogil
    cdef bint comes_first(self, int a, int b) noexcept nogil
    cdef void gather_alive(self, int place) noexcept nogil
    cdef int free_children(self, int node) except -1 nogil
    cdef int repair(self, int place) except -1 nogil
    cdef int replay(self, int node) except -1 nogil
    cdef bint still_holds(self, int node) noexcept nogil
    cdef void update_merge(self, int node) noexcept nogil
    cdef bint holds(self, int node) noexcept nogil
    cdef bint is_nearer(self, int k, int a, int node, double height) noexcept nogil
    cdef double tighten(self, int node, double fail) noexcept nogil
    cdef double crossing_before(
        self, int k, int a, int node, double fail
    ) noexcept nogil
    cdef void emit(self, int node) noexcept nogil
    cdef void keep(self, int node, double fail) noexcept nogil
    cdef bint is_out_of_reach(self, int node) noexcept nogil
    cdef bint merge_nearest(self, double limit) except -1 nogil
    cdef int merge_free(self, int k, int l) except -1 nogil
    cdef int new_cluster(self, int k, int l) except -1 nogil
    cdef void add_ghost(self, int node, int left, int right) noexcept nogil
    cdef int extend_ghost(self, int node, int left, int right) except -1 nogil
    cdef void drop_ghost(self, int g) noexcept nogil
    cdef bint is_same(self, int k, int g) noexcept nogil
    cdef void resolve(self, int k, int g) noexcept nogil
    cdef void load_first_lines(self, int k) noexcept nogil
    cdef int first_merge(self) except -1 nogil
