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
    int partner         # the nearest other free cluster, -1 if not known
    double gap          # the distance to it
    double next_gap     # no third free cluster is nearer than this
    int blocker         # a cluster that is not free and nearer, -1 if none is known
    int cleared         # the partner for which no such cluster was found, or -1
    double* lines       # to the clusters alive, plane by plane
    bint stored         # whether its row has the lines too
    int* shared         # how many points it has in common with each ghost


cdef class FreeClusters(Lines):
    cdef int n_alive
    cdef int n_free
    cdef int* place             # of a node among those alive
    cdef double* share          # one point's share of a node: 1 / size
    # The clusters alive, free ones first, and what loops over them read:
    cdef int* alive
    cdef int* slot_at
    cdef double* share_at
    cdef FreeCluster* frees     # the same order
    cdef Py_ssize_t stride      # from plane to plane
    cdef int n_free_blocks      # how many of `frees` have memory
    cdef bint expiring          # whether lines may be out of date, and too low then
    cdef double idle_below      # free clusters do not merge at heights below this

    @cython.final
    cdef inline const double* shows(self, int k, int f) noexcept nogil:
        """The values of merge function f between free cluster k and all others."""
        return self.frees[k].lines + self.shown[f] * self.stride

    @cython.final
    cdef inline double value(self, int k, int a) noexcept nogil:
        """The distance of free cluster k and the cluster at a, as filters see it."""
        return self.mix(self.shows(k, 0)[a], self.shows(k, 1)[a])

    @cython.final
    cdef inline double limit(self, double value) noexcept nogil:
        """Values above this are certainly greater than `value`."""
        return value + (2.0 * TOLERANCE * value + self.slack)

    @cython.final
    cdef inline double margin(self, double value) noexcept nogil:
        """Values that differ by more than this from `value` are told apart."""
        return TOLERANCE * value + self.slack

    @cython.final
    cdef inline void put(self, int node, int a) noexcept nogil:
        """The cluster at place a is this one."""
        self.alive[a] = node
        self.place[node] = a
        self.slot_at[a] = self.slot[node]
        self.share_at[a] = self.share[node]

    @cython.final
    cdef inline void write(self, int k, int a, double* row, int slot) noexcept nogil:
        """Keep the line of free cluster k and the one at a in the row of either."""
        cdef const double* line = self.frees[k].lines + a
        cdef double* entry = row + <Py_ssize_t> slot * self.n_parts
        cdef int c
        entry[0] = line[0]
        entry[1] = line[self.stride]
        for c in range(2, self.n_parts):
            entry[c] = line[c * self.stride]

    @cython.final
    cdef inline bint renew(self, int k, int a) noexcept nogil:
        """Bring a line of free cluster k up to date; says whether it was not.

        Only a line that is too low can be out of date, so that it is enough to ask
        where a line seems to be low.
        """
        return self.expiring and self.renew_line(k, a)

    cdef bint renew_line(self, int k, int a) noexcept nogil
    cdef int set_free(self, int node) except -1 nogil
    cdef int move_to_front(self, int node) except -1 nogil
    cdef void set_bound(self, int k) noexcept nogil
    cdef void set_all_bound(self) noexcept nogil
    cdef int find_partner(self, int k) except -1 nogil
    cdef bint is_blocked(self, int k) except -1 nogil
    cdef double failure_bound(
        self, int k, int partner, double start, double end, double best
    ) noexcept nogil
    cdef double certificate(self, int k, int l) noexcept nogil
    cdef double exact_failure(self, int node) except? -1 nogil
    cdef void carry_out(self, int node) noexcept nogil
    cdef void join_frees(self, int k, int l, int node) noexcept nogil

    cdef void offer_partner(self, int k) noexcept nogil
    cdef void forget_partner(self, int node) noexcept nogil
    cdef void follow_partners(self, int left, int right, int k) noexcept nogil
    cdef void load_lines(self, int k) noexcept nogil
    cdef void show(self, int k) noexcept nogil
    cdef void announce(self, int k) noexcept nogil
    cdef void join_lines(self, int k, int l) noexcept nogil
    cdef void store_lines(self, int k) noexcept nogil
    cdef void join_entries(self, int k, int a, int b, int node) noexcept nogil
    cdef void replace_alive(self, int a, int b, int node) noexcept nogil
    cdef void move_column(self, int source, int target) noexcept nogil
    cdef void swap_places(self, int a, int b) noexcept nogil
