"""The kinetic engine for complete linkage on two metrics.

Invariant: the distance of two clusters is the greatest of their point pairs' lines,
and a stored line is the greatest one until it expires; after that it is a lower bound
for ever, which mostly suffices. Where it does not, the line is found again from the
lines of the younger cluster's children, as in a tournament. The line of a merge is up
to date wherever it is compared. As the greatest of lines is convex, a merge stays
below the chord from its distance now to that under the second metric alone, which
bounds its certificate where its line would expire too soon. Cost: as kinetic, and
O(depth) for each line that is found again.
"""

cimport cython
from libc.math cimport fabs, nextafter
from libc.stdlib cimport free
from libc.string cimport memcpy

from .free_clusters cimport FAR
from .kinetic cimport Kinetic
from .memory cimport allocate, allocate_rows
from .predicates cimport (
    Expansion, NEVER, SMALLEST, TOLERANCE, crossing_bound, first_negative, gap_of_lines,
    order_at,
)
from .row_loops cimport next_below

cdef extern from *:
    """
    /* What `greatest` does, for n pairs of lines in planes and without a branch, so
       that compilers vectorise it. What needs exact arithmetic expires at -2. */
    static void sll_greatest_lines(
        const double* u, const double* v, double* restrict out, Py_ssize_t stride,
        int n, double rest, double t)
    {
        for (int a = 0; a < n; a++) {
            double p = u[a], q = u[stride + a], p_other = v[a], q_other = v[stride + a];
            double x = rest * p + t * q, y = rest * p_other + t * q_other;
            double error = SLL_TOLERANCE * (p + q + p_other + q_other);
            double high = x >= y ? p : p_other, high_end = x >= y ? q : q_other;
            double start = x >= y ? p - p_other : p_other - p;
            double end = x >= y ? q - q_other : q_other - q;
            double until = (start - error) / (start - end + 2.0 * error)
                * (1.0 - SLL_TOLERANCE);
            double expiry = u[2 * stride + a], expiry_other = v[2 * stride + a];
            double top = u[3 * stride + a], top_other = v[3 * stride + a];
            double gap = x >= y ? x - y : y - x;
            expiry = expiry < expiry_other ? expiry : expiry_other;
            until = end > error ? SLL_NEVER : until;
            int doubtful = (gap <= SLL_TOLERANCE * (x + y))
                | ((until <= t) & (expiry > t));
            until = until < expiry ? until : expiry;
            until = expiry > t ? until : -1.0;
            out[a] = high;
            out[stride + a] = high_end;
            out[2 * stride + a] = doubtful ? -2.0 : until;
            out[3 * stride + a] = top > top_other ? top : top_other;
        }
    }
    """
    void greatest_lines "sll_greatest_lines"(
        const double* u, const double* v, double* out, Py_ssize_t stride, int n,
        double rest, double t,
    ) noexcept nogil

cdef enum:
    # Parts, and planes, behind the two ends of a line:
    EXPIRY = 2          # until when it is the greatest,
    TOP = 3             # and the greatest distance under the second metric
    N_PARTS = 4
    UNKNOWN = -1        # expiry of a line that may never have been the greatest


@cython.final
cdef class EnvelopeKinetic(Kinetic):
    """The sweep over [0, 1] for lines that expire."""

    cdef int* waiting           # cluster pairs whose line is to be found again
    cdef double* joined         # planes for the lines of a new cluster
    cdef bint by_chord

    def __cinit__(self, *args):
        self.expiring = True
        self.n_parts = self.n_planes = N_PARTS
        # Losses that read heights want the line of every merge at all times.
        self.by_chord = not (self.loss.uses_cut or self.loss.uses_heights)
        self.waiting = <int*> allocate(4 * self.room, sizeof(int))
        self.joined = allocate_rows(N_PARTS, self.n_points)

    def __dealloc__(self):
        free(self.waiting)
        free(self.joined)

    # Lines.

    cdef void load_row(self, int point) noexcept nogil:
        cdef double* entry = self.row[point]
        cdef int s
        Kinetic.load_row(self, point)
        for s in range(self.slot[point]):
            entry[s * N_PARTS + EXPIRY] = NEVER
            entry[s * N_PARTS + TOP] = entry[s * N_PARTS + 1]

    cdef bint has_expired(self, const double* line) noexcept nogil:
        return line[EXPIRY] <= self.t

    cdef void refresh(self, int x, int y, double* parts) noexcept nogil:
        """Find the greatest line of two clusters at the current parameter."""
        cdef int top = 0, other
        cdef const double* left
        cdef const double* right
        self.waiting[0] = x
        self.waiting[1] = y
        while top >= 0:
            x = self.waiting[2 * top]
            other = self.waiting[2 * top + 1]
            if self.position[x] < self.position[other]:
                x, other = other, x
            left = self.entry(self.left[x], other)
            right = self.entry(self.right[x], other)
            x = self.child_to_refresh(x, left, right)
            if x >= 0:
                top += 1
                self.waiting[2 * top] = x
                self.waiting[2 * top + 1] = other
                continue
            if self.has_expired(left):
                self.keep_above(right, left, parts)
            elif self.has_expired(right):
                self.keep_above(left, right, parts)
            else:
                self.greatest(left, right, parts)
            if top > 0:
                memcpy(
                    self.entry(self.waiting[2 * top], self.waiting[2 * top + 1]),
                    parts,
                    N_PARTS * sizeof(double),
                )
            top -= 1

    cdef int child_to_refresh(
        self, int x, const double* left, const double* right
    ) noexcept nogil:
        """The child of x whose line has to be known first, -1 if none."""
        if self.has_expired(left) and self.has_expired(right):
            if self.mix(left[0], left[1]) > self.mix(right[0], right[1]):
                return self.left[x]
            return self.right[x]
        if self.has_expired(left) and self.above_until(right, left) <= self.t:
            return self.left[x]
        if self.has_expired(right) and self.above_until(left, right) <= self.t:
            return self.right[x]
        return -1

    cdef double above_until(
        self, const double* line, const double* expired
    ) noexcept nogil:
        """Until when a line is certainly above a distance whose line has expired.

        That distance is below the chord from where its line was the greatest last to
        the greatest distance under the second metric.
        """
        cdef double since = expired[EXPIRY], top = expired[TOP], height
        if since < 0.0:
            return self.t
        # Expiry is the first parameter where another line may be greater already.
        since = nextafter(since, 0.0) if since > SMALLEST else 0.0
        height = (1.0 - since) * expired[0] + since * expired[1]
        # Near 1 the height may be far less than it was: no difference of the two.
        height = (self.rest * height + (self.t - since) * top) / (1.0 - since)
        if self.mix(line[0], line[1]) <= height + 8.0 * TOLERANCE * (height + top):
            return self.t
        return self.chord_crossing(line[0], line[1], height, top)

    cdef void keep_above(
        self, const double* line, const double* expired, double* out
    ) noexcept nogil:
        """Take a line that is above another distance, until it may not be."""
        out[EXPIRY] = min(line[EXPIRY], self.above_until(line, expired))
        out[TOP] = max(line[TOP], expired[TOP])
        out[0] = line[0]
        out[1] = line[1]

    cdef void greatest(
        self, const double* a, const double* b, double* out
    ) noexcept nogil:
        """The greater of two lines at the current parameter, and until when."""
        cdef double u = self.mix(a[0], a[1]), v = self.mix(b[0], b[1]), until, top
        cdef Expansion start, end
        cdef int s
        if fabs(u - v) > TOLERANCE * (u + v):
            s = 1 if u > v else -1
        else:
            gap_of_lines(a[0], a[1], b[0], b[1], &start, &end)
            s = order_at(&start, &end, self.t)
        if s < 0:
            a, b = b, a
        top = max(a[TOP], b[TOP])
        if min(a[EXPIRY], b[EXPIRY]) <= self.t:
            # Only a lower bound, and never more than that.
            out[EXPIRY] = UNKNOWN
            out[0] = a[0]
            out[1] = a[1]
            out[TOP] = top
            return
        until = crossing_bound(b[0], b[1], a[0], a[1], 0.0)
        if until <= self.t:
            gap_of_lines(a[0], a[1], b[0], b[1], &start, &end)
            until = first_negative(&start, &end)
        out[EXPIRY] = min(until, min(a[EXPIRY], b[EXPIRY]))
        out[0] = a[0]
        out[1] = a[1]
        out[TOP] = top

    cdef long long deciding_pair(self, int x, int y) noexcept nogil:
        cdef double parts[N_PARTS]
        self.fetch(x, y, parts)
        return self.latest_pair(x, y, parts[0], parts[1])

    cdef long long latest_pair(
        self, int x, int y, double start, double end
    ) noexcept nogil:
        """The latest of the point pairs of two clusters that have a line."""
        cdef Py_ssize_t n = self.n_points, low, high
        cdef int a, b, n_x, n_y
        cdef long long decided = -1
        n_x = self.list_members(x, self.members)
        n_y = self.list_members(y, self.members + n_x)
        # Only counted: those who compare much look at the clock.
        self.poll.work += 2 * <long long> n_x * n_y
        for a in range(n_x):
            for b in range(n_x, n_x + n_y):
                low = min(self.members[a], self.members[b])
                high = max(self.members[a], self.members[b])
                if (
                    self.distance(0, low, high) == start
                    and self.distance(1, low, high) == end
                ):
                    decided = max(decided, low * n + high)
        return decided

    # Merges are compared by the lines they had since the last time their loss was
    # taken; what is stored between their children may be newer.

    cdef int compare_merges(self, int u, int v) noexcept nogil:
        cdef Expansion start, end
        cdef int s
        gap_of_lines(
            self.start[u], self.end[u], self.start[v], self.end[v], &start, &end
        )
        s = order_at(&start, &end, self.t)
        if s == 0:
            s = -1 if self.latest_pair(
                self.left[u], self.right[u], self.start[u], self.end[u]
            ) < self.latest_pair(
                self.left[v], self.right[v], self.start[v], self.end[v]
            ) else 1
        return s

    cdef double merge_crossing(self, int u, int v) noexcept nogil:
        cdef Expansion start, end
        gap_of_lines(
            self.start[u], self.end[u], self.start[v], self.end[v], &start, &end
        )
        return first_negative(&start, &end)

    # Free clusters.

    cdef bint renew_line(self, int k, int a) noexcept nogil:
        cdef double* planes = self.frees[k].lines
        cdef double parts[N_PARTS]
        cdef int c
        if planes[EXPIRY * self.stride + a] > self.t:
            return False
        self.refresh(self.alive[k], self.alive[a], parts)
        for c in range(N_PARTS):
            planes[c * self.stride + a] = parts[c]
        if self.frees[k].stored:
            self.write(k, a, self.row[self.alive[k]], self.slot_at[a])
        return True

    cdef void show(self, int k) noexcept nogil:
        cdef double* lines = self.frees[k].lines
        lines[k] = lines[self.stride + k] = FAR
        lines[EXPIRY * self.stride + k] = NEVER

    cdef void join_at(
        self, const double* u, const double* v, int b, double* out, int a
    ) noexcept nogil:
        """The greater of the lines at a in planes u and at b in planes v, at a."""
        cdef Py_ssize_t n = self.stride
        cdef double x[N_PARTS]
        cdef double y[N_PARTS]
        cdef int c
        for c in range(N_PARTS):
            x[c] = u[c * n + a]
            y[c] = v[c * n + b]
        self.greatest(x, y, x)
        for c in range(N_PARTS):
            out[c * n + a] = x[c]

    cdef void join_entries(self, int k, int a, int b, int node) noexcept nogil:
        cdef double* lines = self.frees[k].lines
        self.join_at(lines, lines, b, lines, a)

    cdef void join_lines(self, int k, int l) noexcept nogil:
        cdef double* joined = self.joined
        cdef int a
        greatest_lines(
            self.frees[k].lines, self.frees[l].lines, joined, self.stride,
            self.n_alive, self.rest, self.t,
        )
        for a in range(self.n_alive):
            if joined[EXPIRY * self.stride + a] < UNKNOWN and a != k and a != l:
                self.join_at(self.frees[k].lines, self.frees[l].lines, a, joined, a)
        self.joined = self.frees[k].lines
        self.frees[k].lines = joined

    # Certificates.

    cdef double certificate(self, int k, int l) noexcept nogil:
        cdef const double* lines = self.frees[k].lines
        cdef Py_ssize_t n = self.stride
        cdef double height = self.mix(lines[l], lines[n + l])
        cdef double until = lines[EXPIRY * n + l], top = lines[TOP * n + l]
        cdef double fail = Kinetic.certificate(self, k, l)
        if fail <= until or not self.by_chord:
            return min(fail, until)
        return max(until, min(
            self.chord_bound(k, l, height, top), self.chord_bound(l, k, height, top)
        ))

    cdef double chord_bound(
        self, int k, int partner, double height, double top
    ) noexcept nogil:
        """Before when no cluster gets nearer to free cluster k than a chord."""
        cdef const double* starts = self.shows(k, 0)
        cdef const double* ends = self.shows(k, 1)
        cdef double best = 1.0, limit = self.limit(top)
        cdef int n = self.n_alive, a = next_below(starts, ends, 0.0, 1.0, limit, 0, n)
        while a < n:
            if a != partner:
                best = min(best, self.chord_crossing(starts[a], ends[a], height, top))
                limit = self.limit(self.on_chord(best, height, top))
            a = next_below(starts, ends, 1.0 - best, best, limit, a + 1, n)
        return best if best < 1.0 else NEVER

    cdef inline double on_chord(
        self, double t, double height, double top
    ) noexcept nogil:
        """The value at t of the chord from `height` now to `top` at 1."""
        return ((1.0 - t) * height + (t - self.t) * top) / self.rest

    cdef double chord_crossing(
        self, double start, double end, double height, double top
    ) noexcept nogil:
        """No later than where a line that is above a chord from t to 1 meets it."""
        cdef double now = self.mix(start, end)
        cdef double error = 2.0 * TOLERANCE * (now + end + height + top)
        cdef double at_t = now - height - error, at_1 = end - top - error
        if at_1 > 0.0:
            return NEVER
        if at_t <= 0.0:
            return self.t
        return self.t + self.rest * (at_t / (at_t - at_1)) * (1.0 - TOLERANCE)

    cdef void update_merge(self, int node) noexcept nogil:
        cdef double* line = self.entry(self.left[node], self.right[node])
        if line[EXPIRY] <= self.t:
            self.refresh(self.left[node], self.right[node], line)
        self.start[node] = line[0]
        self.end[node] = line[1]

    cdef double tighten(self, int node, double fail) noexcept nogil:
        cdef const double* line = self.entry(self.left[node], self.right[node])
        cdef double by_chord = 0.0
        if self.by_chord:
            by_chord = self.tighten_by_chord(node, fail)
            if by_chord == fail:
                return fail
        return min(fail, max(
            by_chord, min(line[EXPIRY], Kinetic.tighten(self, node, fail))
        ))

    cdef double tighten_by_chord(self, int node, double fail) noexcept nogil:
        """Before when no free cluster gets nearer than the chord, or `fail`."""
        cdef const double* line = self.entry(self.left[node], self.right[node])
        cdef double height = self.mix(line[0], line[1]), top = line[TOP]
        cdef double until = min(fail, 1.0)
        cdef double limit = self.limit(self.on_chord(until, height, top))
        cdef int k, side, a
        for side in range(2):
            a = self.place[self.right[node] if side else self.left[node]]
            for k in range(self.n_free):
                if (1.0 - until) * self.shows(k, 0)[a] + (
                    until * self.shows(k, 1)[a]
                ) <= limit:
                    fail = min(fail, self.chord_crossing(
                        self.shows(k, 0)[a], self.shows(k, 1)[a], height, top
                    ))
        return fail

    cdef double exact_failure(self, int node) except? -1 nogil:
        """When the merge of the only two free clusters has to be looked at again.

        That is the current parameter if it fails there.
        """
        cdef double start, end, until, expiry, top, height
        cdef int k, b = 1
        self.renew(0, b)
        start = self.shows(0, 0)[b]
        end = self.shows(0, 1)[b]
        if start != self.start[node] or end != self.end[node]:
            if self.loss.uses_cut:
                self.settle(self.t)
            self.start[node] = start
            self.end[node] = end
        until = expiry = self.frees[0].lines[EXPIRY * self.stride + b]
        for k in range(2):
            if self.has_failed(k, node):
                return self.t
            until = self.next_crossing(k, node, until)
        if until < expiry or not self.by_chord:
            return until
        top = self.frees[0].lines[TOP * self.stride + b]
        height = self.mix(start, end)
        return max(until, min(
            self.chord_bound(0, b, height, top),
            self.chord_bound(1, 0, height, top),
        ))

    cdef bint has_failed(self, int k, int node) except -1 nogil:
        """Whether another cluster is nearer to free cluster k than a merge."""
        cdef const double* starts = self.shows(k, 0)
        cdef const double* ends = self.shows(k, 1)
        cdef double height = self.mix(self.start[node], self.end[node])
        cdef double limit = self.limit(height)
        cdef int n = self.n_alive, a
        a = next_below(starts, ends, self.rest, self.t, limit, 2, n)
        while a < n:
            if self.is_nearer(k, a, node, height):
                return True
            self.poll.spend(n)
            a = next_below(starts, ends, self.rest, self.t, limit, a + 1, n)
        return False

    cdef double next_crossing(self, int k, int node, double until) noexcept nogil:
        """When a line of free cluster k gets below a merge's, if before `until`."""
        cdef const double* starts = self.shows(k, 0)
        cdef const double* ends = self.shows(k, 1)
        cdef double start = self.start[node], end = self.end[node], at = min(until, 1.0)
        cdef double limit = self.limit((1.0 - at) * start + at * end)
        cdef int n = self.n_alive, a
        a = next_below(starts, ends, 1.0 - at, at, limit, 2, n)
        while a < n:
            self.renew(k, a)
            if crossing_bound(start, end, starts[a], ends[a], 0.0) < until:
                until = min(until, self.crossing(
                    self.alive[k], self.alive[a], self.left[node], self.right[node]
                ))
                at = min(until, 1.0)
                limit = self.limit((1.0 - at) * start + at * end)
            a = next_below(starts, ends, 1.0 - at, at, limit, a + 1, n)
        return until
