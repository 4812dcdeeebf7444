"""The kinetic engine for complete linkage on two metrics.

Invariant: the distance of two clusters is the greatest of their point pairs' lines,
and a stored line is the greatest one until it expires; after that it is a lower bound
for ever, which mostly suffices. Where it does not, the line is found again from the
lines of the younger cluster's children, as in a tournament. The line of a merge is up
to date: its certificate ends when it expires. Cost: as kinetic, and O(depth) for each
line that is found again.
"""

cimport cython
from libc.math cimport fabs
from libc.stdlib cimport free

from .free_clusters cimport FAR
from .kinetic cimport Kinetic
from .memory cimport allocate
from .predicates cimport (
    Expansion, NEVER, TOLERANCE, crossing_bound, first_negative, gap_of_lines,
    order_at,
)
from .pruning cimport TreeLoss

cdef enum:
    EXPIRY = 2          # the part, and plane, behind the line's two ends


@cython.final
cdef class EnvelopeKinetic(Kinetic):
    """The sweep over [0, 1] for lines that expire."""

    cdef int* waiting           # cluster pairs whose line is to be found again

    def __cinit__(self, *args):
        self.expiring = True
        self.n_parts = self.n_planes = 3
        self.waiting = <int*> allocate(4 * self.room, sizeof(int))

    def __dealloc__(self):
        free(self.waiting)

    # Lines.

    cdef void fetch(self, int x, int y, double* parts) noexcept nogil:
        cdef const double* source
        cdef int c
        if x < self.n_points and y < self.n_points:
            parts[0] = self.distance(0, x, y)
            parts[1] = self.distance(1, x, y)
            parts[EXPIRY] = NEVER
            return
        source = self.entry(x, y)
        for c in range(3):
            parts[c] = source[c]

    cdef bint has_expired(self, int x, int y) noexcept nogil:
        if x < self.n_points and y < self.n_points:
            return False
        return self.entry(x, y)[EXPIRY] <= self.t

    cdef void refresh(self, int x, int y) noexcept nogil:
        """Find the greatest line of two clusters at the current parameter."""
        cdef int top = 0, older, left, right
        cdef double a[3]
        cdef double b[3]
        self.waiting[0] = x
        self.waiting[1] = y
        while top >= 0:
            x = self.waiting[2 * top]
            older = self.waiting[2 * top + 1]
            if self.position[x] < self.position[older]:
                x, older = older, x
            left = self.left[x]
            right = self.right[x]
            if self.has_expired(left, older):
                top += 1
                self.waiting[2 * top] = left
                self.waiting[2 * top + 1] = older
            elif self.has_expired(right, older):
                top += 1
                self.waiting[2 * top] = right
                self.waiting[2 * top + 1] = older
            else:
                self.fetch(left, older, a)
                self.fetch(right, older, b)
                self.greatest(a, b, self.entry(x, older))
                top -= 1

    cdef void greatest(
        self, const double* a, const double* b, double* out
    ) noexcept nogil:
        """The greater of two lines at the current parameter, and until when."""
        cdef double u = self.mix(a[0], a[1]), v = self.mix(b[0], b[1]), until
        cdef Expansion start, end
        cdef int s
        if fabs(u - v) > TOLERANCE * (u + v):
            s = 1 if u > v else -1
        else:
            gap_of_lines(a[0], a[1], b[0], b[1], &start, &end)
            s = order_at(&start, &end, self.t)
        if s < 0:
            a, b = b, a
        if min(a[EXPIRY], b[EXPIRY]) <= self.t:
            # Only a lower bound, from one.
            out[EXPIRY] = min(a[EXPIRY], b[EXPIRY])
            out[0] = a[0]
            out[1] = a[1]
            return
        until = crossing_bound(b[0], b[1], a[0], a[1], 0.0)
        if until <= self.t:
            gap_of_lines(a[0], a[1], b[0], b[1], &start, &end)
            until = first_negative(&start, &end)
        out[EXPIRY] = min(until, min(a[EXPIRY], b[EXPIRY]))
        out[0] = a[0]
        out[1] = a[1]

    cdef long long deciding_pair(self, int x, int y) noexcept nogil:
        """The latest of the point pairs that have the clusters' line."""
        cdef Py_ssize_t n = self.n_points, low, high
        cdef double parts[3]
        cdef int a, b, n_x, n_y
        cdef long long decided = -1
        self.fetch(x, y, parts)
        n_x = self.list_members(x, self.members)
        n_y = self.list_members(y, self.members + n_x)
        for a in range(n_x):
            for b in range(n_x, n_x + n_y):
                low = min(self.members[a], self.members[b])
                high = max(self.members[a], self.members[b])
                if (
                    self.distance(0, low, high) == parts[0]
                    and self.distance(1, low, high) == parts[1]
                ):
                    decided = max(decided, low * n + high)
        return decided

    # Free clusters.

    cdef void load_lines(self, int k) noexcept nogil:
        cdef int node = self.frees[k].node, a, c, other
        cdef double* planes = self.frees[k].lines
        cdef Py_ssize_t n = self.n_points
        cdef double parts[3]
        for a in range(self.n_alive):
            other = self.alive[a]
            if other == node:
                continue
            self.fetch(node, other, parts)
            for c in range(3):
                planes[c * n + a] = parts[c]
        self.show(k)

    cdef bint renew(self, int k, int a) noexcept nogil:
        cdef double* planes = self.frees[k].lines
        cdef Py_ssize_t n = self.n_points
        cdef double parts[3]
        cdef int c
        if planes[EXPIRY * n + a] > self.t:
            return False
        if self.has_expired(self.frees[k].node, self.alive[a]):
            self.refresh(self.frees[k].node, self.alive[a])
        self.fetch(self.frees[k].node, self.alive[a], parts)
        for c in range(3):
            planes[c * n + a] = parts[c]
        return True

    cdef void show(self, int k) noexcept nogil:
        cdef int at = self.place[self.frees[k].node]
        cdef Py_ssize_t n = self.n_points
        self.frees[k].lines[at] = self.frees[k].lines[n + at] = FAR
        self.frees[k].lines[EXPIRY * n + at] = NEVER

    cdef void join_at(
        self, double* u, int a, const double* v, int b
    ) noexcept nogil:
        """The greater of the lines at a in planes u and at b in planes v, into u."""
        cdef Py_ssize_t n = self.n_points
        cdef double x[3]
        cdef double y[3]
        cdef int c
        for c in range(3):
            x[c] = u[c * n + a]
            y[c] = v[c * n + b]
        self.greatest(x, y, x)
        for c in range(3):
            u[c * n + a] = x[c]

    cdef void join_entries(self, int k, int a, int b, int node) noexcept nogil:
        self.join_at(self.frees[k].lines, a, self.frees[k].lines, b)

    cdef void join_lines(self, int k, int l) noexcept nogil:
        cdef int a
        cdef int skip_k = self.place[self.frees[k].node]
        cdef int skip_l = self.place[self.frees[l].node]
        for a in range(self.n_alive):
            if a != skip_k and a != skip_l:
                self.join_at(self.frees[k].lines, a, self.frees[l].lines, a)

    # Certificates.

    cdef double certificate(self, int k, int l) noexcept nogil:
        cdef int b = self.place[self.frees[l].node]
        return min(
            Kinetic.certificate(self, k, l),
            self.frees[k].lines[EXPIRY * <Py_ssize_t> self.n_points + b],
        )

    cdef double exact_failure(self, int node) except? -1 nogil:
        """When the merge of the only two free clusters has to be looked at again.

        That is the current parameter if it fails there.
        """
        cdef double start, end, limit, until
        cdef int k, a, b = self.place[self.frees[1].node], partner
        cdef const double* starts
        cdef const double* ends
        self.renew(0, b)
        start = self.shows(0, 0)[b]
        end = self.shows(0, 1)[b]
        if start != self.start[node] or end != self.end[node]:
            if self.loss.uses_cut:
                self.settle(self.t)
            self.start[node] = start
            self.end[node] = end
        limit = self.limit(self.mix(start, end))
        until = self.frees[0].lines[EXPIRY * <Py_ssize_t> self.n_points + b]
        for k in range(2):
            starts = self.shows(k, 0)
            ends = self.shows(k, 1)
            partner = self.place[self.frees[1 - k].node]
            for a in range(self.n_alive):
                if a == partner:
                    continue
                if self.mix(starts[a], ends[a]) <= limit:
                    self.renew(k, a)
                if self.mix(starts[a], ends[a]) <= limit:
                    if self.compare(
                        self.frees[k].node, self.alive[a],
                        self.left[node], self.right[node],
                    ) < 0:
                        return self.t
                if crossing_bound(start, end, starts[a], ends[a], 0.0) < until:
                    self.renew(k, a)
                    until = min(until, self.crossing(
                        self.frees[k].node, self.alive[a],
                        self.left[node], self.right[node],
                    ))
        return until


def sweep_complete(
    const double[:, ::1] distances,
    int n_points,
    const int[::1] kinds,
    int sum_width,
    double slack,
    TreeLoss loss,
    const int[:, ::1] children,
):
    """Compute the loss of every tree of complete linkage on two metrics.

    Parameters and result are those of `sweep`.
    """
    cdef EnvelopeKinetic engine = EnvelopeKinetic(
        distances, n_points, kinds, sum_width, slack, loss
    )
    with nogil:
        engine.play(children)
        engine.sweep()
    return engine.pieces
