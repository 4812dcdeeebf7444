"""Clusters taken out of a merge sequence, with their lines to all others alive.

Invariant: `alive` lists the clusters at the current place of the sequence, the free
ones first, and each free cluster has its lines to them in the same order, plane by
plane: the parts of both merge functions, and for sums their quotient. `shows` gives
the plane that float filters read; whatever they cannot decide goes to the exact
comparisons of Lines. Cost: O(alive) to free a cluster, to find its nearest one and to
join two.
"""

from libc.stdlib cimport free

from .lines cimport Lines, MOST_PARTS
from .memory cimport GAP, allocate, allocate_rows
from .predicates cimport (
    COMPLETE, NEVER, SINGLE, WARD, add_wide, crossing_bound, is_quotient,
)
from .row_loops cimport join_greatest, join_least, join_sums, next_below


cdef class FreeClusters(Lines):
    """All points alive, none free at first."""

    def __cinit__(self, *args):
        cdef int node
        self.stride = self.n_points + GAP
        self.place = <int*> allocate(self.room, sizeof(int))
        self.share = <double*> allocate(self.room, sizeof(double))
        self.alive = <int*> allocate(self.n_points + 1, sizeof(int))
        self.slot_at = <int*> allocate(self.n_points + 1, sizeof(int))
        self.share_at = <double*> allocate(self.n_points + 1, sizeof(double))
        self.frees = <FreeCluster*> allocate(self.n_points, sizeof(FreeCluster))
        self.n_alive = self.n_points
        for node in range(self.n_points):
            self.share[node] = 1.0

    def __dealloc__(self):
        cdef int k
        for k in range(self.n_free_blocks):
            free(self.frees[k].lines)
            free(self.frees[k].shared)
        free(self.frees)
        free(self.place)
        free(self.share)
        free(self.alive)
        free(self.slot_at)
        free(self.share_at)

    # Which clusters are free.

    cdef int set_free(self, int node) except -1 nogil:
        """Take a cluster that is alive out of the sequence; returns its place."""
        cdef int k = self.n_free
        cdef FreeCluster* new = self.frees + k
        self.poll.spend(self.n_alive)
        self.move_to_front(node)
        new.partner = new.blocker = new.cleared = -1
        new.stored = True
        self.pieces.count.freed += 1
        self.load_lines(k)
        self.offer_partner(k)
        return k

    cdef int move_to_front(self, int node) except -1 nogil:
        """Put a cluster next to those that are free, with memory for its lines."""
        cdef FreeCluster* new = self.frees + self.n_free
        if self.n_free == self.n_free_blocks:
            self.n_free_blocks += 1
            new.lines = allocate_rows(self.n_planes, self.n_points)
            new.shared = <int*> allocate(self.n_points, sizeof(int))
        self.swap_places(self.place[node], self.n_free)
        self.n_free += 1
        return 0

    cdef void set_bound(self, int k) noexcept nogil:
        """Free cluster k is part of the sequence again.

        It blocks no one: free clusters that were farther from it than from their
        partners still are.
        """
        cdef int last = self.n_free - 1
        cdef FreeCluster cluster = self.frees[k]
        self.swap_places(k, last)
        self.frees[k] = self.frees[last]
        self.frees[last] = cluster
        self.n_free = last
        self.forget_partner(self.alive[last])
        self.idle_below = 0.0

    cdef void set_all_bound(self) noexcept nogil:
        self.n_free = 0

    cdef void swap_places(self, int a, int b) noexcept nogil:
        cdef int node = self.alive[a], k, c
        cdef double* plane
        if a == b:
            return
        self.put(self.alive[b], a)
        self.put(node, b)
        for k in range(self.n_free):
            for c in range(self.n_planes):
                plane = self.frees[k].lines + c * self.stride
                plane[a], plane[b] = plane[b], plane[a]

    cdef void move_column(self, int source, int target) noexcept nogil:
        """What is alive at one place moves to another."""
        cdef double* plane
        cdef int k, c
        self.put(self.alive[source], target)
        for k in range(self.n_free):
            for c in range(self.n_planes):
                plane = self.frees[k].lines + c * self.stride
                plane[target] = plane[source]

    # Lines.

    cdef bint renew_line(self, int k, int a) noexcept nogil:
        return False

    cdef void load_lines(self, int k) noexcept nogil:
        """Collect the lines of the last free cluster, at the place of its merge."""
        cdef int a, c, n_parts = self.n_parts
        cdef Py_ssize_t stride = self.stride
        cdef double* planes = self.frees[k].lines
        cdef double* second = planes + stride
        cdef const int* slots = self.slot_at
        cdef const double* row = self.row[self.alive[k]]
        cdef const double* entry
        self.pieces.count.lines += self.n_alive
        for a in range(k, self.n_alive):
            entry = row + slots[a] * n_parts
            planes[a] = entry[0]
            second[a] = entry[1]
        for c in range(2, n_parts):
            for a in range(k, self.n_alive):
                planes[c * stride + a] = row[slots[a] * n_parts + c]
        for a in range(k):
            for c in range(n_parts):
                planes[c * stride + a] = self.frees[a].lines[c * stride + k]
            self.write(k, a, self.row[self.alive[k]], self.slot_at[a])
        self.show(k)

    cdef void fetch(self, int x, int y, double* parts) noexcept nogil:
        cdef int k = self.place[x], c
        if k >= self.n_free or self.alive[k] != x:
            Lines.fetch(self, x, y, parts)
            return
        for c in range(self.n_parts):
            parts[c] = self.frees[k].lines[c * self.stride + self.place[y]]

    cdef void show(self, int k) noexcept nogil:
        """Bring quotients up to date, and keep the cluster away from itself."""
        cdef double* planes = self.frees[k].lines
        cdef int node = self.alive[k], f, a
        cdef double share = self.share[node]
        cdef const double* sums
        cdef double* values
        for f in range(2):
            values = planes + self.shown[f] * self.stride
            sums = planes + self.offset[f] * self.stride
            if self.kind[f] == WARD:
                for a in range(self.n_alive):
                    values[a] = self.quotient(
                        f, sums[a], sums[self.stride + a], node, self.alive[a]
                    )
            elif is_quotient(self.kind[f]):
                for a in range(self.n_alive):
                    values[a] = sums[a] * (share * self.share_at[a])
            values[k] = FAR

    # Nearest clusters.

    cdef void offer_partner(self, int k) noexcept nogil:
        """Free cluster k is new: others may be nearer to it than to their partner."""
        cdef const double* starts = self.shows(k, 0)
        cdef const double* ends = self.shows(k, 1)
        cdef FreeCluster* other
        cdef int node = self.alive[k], j
        cdef double value, margin
        self.idle_below = 0.0
        for j in range(self.n_free):
            other = self.frees + j
            if j == k or other.partner == node:
                continue
            if other.blocker == node:
                other.blocker = -1
            value = self.mix(starts[j], ends[j])
            if value <= self.limit(other.gap) and self.renew(k, j):
                value = self.mix(starts[j], ends[j])
            margin = self.margin(value)
            if value > other.gap + margin:
                other.next_gap = min(other.next_gap, value)
            elif value < other.gap - margin and other.partner >= 0:
                other.next_gap = other.gap
                other.partner = node
                other.gap = value
            else:
                other.partner = -1

    cdef void forget_partner(self, int node) noexcept nogil:
        """A cluster is not free any more."""
        cdef int k
        for k in range(self.n_free):
            if self.frees[k].partner == node:
                self.frees[k].partner = -1

    cdef void follow_partners(self, int left, int right, int k) noexcept nogil:
        """Two free clusters are one now, k, and mostly still the nearest of others."""
        cdef FreeCluster* other
        cdef double value
        cdef int j
        for j in range(self.n_free):
            other = self.frees + j
            if other.partner != left and other.partner != right:
                continue
            self.renew(k, j)
            value = self.value(k, j)
            if value < other.next_gap - self.margin(value):
                other.partner = self.alive[k]
                other.gap = value
            else:
                other.partner = -1

    cdef void find_partner(self, int k) noexcept nogil:
        """Find the free cluster nearest to free cluster k, if it is not known."""
        cdef const double* starts = self.shows(k, 0)
        cdef const double* ends = self.shows(k, 1)
        cdef double value, best = FAR, second = FAR, margin = 0.0
        cdef int j, node = self.alive[k], found = -1
        if self.frees[k].partner >= 0:
            return
        for j in range(self.n_free):
            if j == k:
                continue
            value = self.mix(starts[j], ends[j])
            if value <= best + margin and self.renew(k, j):
                value = self.mix(starts[j], ends[j])
            if value > best + margin or (
                value >= best - margin and found >= 0
                and self.compare(node, self.alive[j], node, found) > 0
            ):
                second = min(second, value)
                continue
            found = self.alive[j]
            second = best
            best = value
            margin = self.margin(value)
        self.frees[k].partner = found
        self.frees[k].gap = best
        self.frees[k].next_gap = second

    cdef bint is_blocked(self, int k) noexcept nogil:
        """Whether a cluster that is not free is nearer to k than its partner.

        A blocker found once keeps its role while it is there, and merges among others
        bring nothing nearer, so that few cases need a scan.
        """
        cdef FreeCluster* cluster = self.frees + k
        cdef const double* starts = self.shows(k, 0)
        cdef const double* ends = self.shows(k, 1)
        cdef double gap = cluster.gap, margin = self.margin(gap), value
        cdef int n = self.n_alive, a
        if cluster.cleared == cluster.partner:
            return False
        if cluster.blocker >= 0:
            if self.value(k, self.place[cluster.blocker]) < gap - margin:
                return True
        self.pieces.count.scans += 1
        a = next_below(starts, ends, self.rest, self.t, gap + margin, self.n_free, n)
        while a < n:
            self.renew(k, a)
            value = self.value(k, a)
            if value < gap - margin or (
                value <= gap + margin and self.compare(
                    self.alive[k], self.alive[a], self.alive[k], cluster.partner
                ) < 0
            ):
                cluster.blocker = self.alive[a]
                return True
            a = next_below(starts, ends, self.rest, self.t, gap + margin, a + 1, n)
        cluster.blocker = -1
        cluster.cleared = cluster.partner
        return False

    # Certificates.

    cdef double failure_bound(
        self, int k, int partner, double start, double end, double best
    ) noexcept nogil:
        """Before when no other cluster gets nearer to free cluster k than that.

        Or `best`, if that is earlier. A line that is above the given one at the bound
        found so far crosses it later, so that most need no division.
        """
        cdef const double* starts = self.shows(k, 0)
        cdef const double* ends = self.shows(k, 1)
        cdef double rest = 1.0 - best, limit = self.limit(rest * start + best * end)
        cdef int n = self.n_alive, a = next_below(starts, ends, rest, best, limit, 0, n)
        self.pieces.count.scans += 1
        while a < n:
            if a != partner:
                self.renew(k, a)
                best = min(
                    best, crossing_bound(start, end, starts[a], ends[a], self.slack)
                )
                rest = 1.0 - best
                limit = self.limit(rest * start + best * end)
            a = next_below(starts, ends, rest, best, limit, a + 1, n)
        return best

    cdef double certificate(self, int k, int l) noexcept nogil:
        """Before when free clusters k and l stay nearest to each other."""
        cdef double start = self.shows(k, 0)[l], end = self.shows(k, 1)[l], fail = 1.0
        fail = self.failure_bound(k, l, start, end, fail)
        fail = self.failure_bound(l, k, start, end, fail)
        return fail if fail < 1.0 else NEVER

    cdef double exact_failure(self, int node) except? -1 nogil:
        """When the merge of the only two free clusters fails."""
        cdef double start = self.start[node], end = self.end[node]
        cdef double best = 1.0, rest = 0.0, limit = self.limit(end)
        cdef const double* starts
        cdef const double* ends
        cdef int k, n = self.n_alive, a
        self.pieces.count.scans += 2
        for k in range(2):
            starts = self.shows(k, 0)
            ends = self.shows(k, 1)
            a = next_below(starts, ends, rest, best, limit, 2, n)
            while a < n:
                if crossing_bound(start, end, starts[a], ends[a], self.slack) < best:
                    best = min(best, self.crossing(
                        self.alive[k], self.alive[a], self.left[node], self.right[node]
                    ))
                    rest = 1.0 - best
                    limit = self.limit(rest * start + best * end)
                a = next_below(starts, ends, rest, best, limit, a + 1, n)
        return best if best < 1.0 else NEVER

    # Merges.

    cdef void carry_out(self, int node) noexcept nogil:
        """Carry out a merge of the sequence beside the free clusters."""
        cdef int left = self.left[node], right = self.right[node], k
        cdef int a = self.place[left], b = self.place[right]
        for k in range(self.n_free):
            self.write(k, a, self.row[left], self.slot_at[k])
            self.write(k, b, self.row[right], self.slot_at[k])
            self.join_entries(k, a, b, node)
            if self.frees[k].stored:
                self.write(k, a, self.row[self.alive[k]], self.slot[node])
        self.replace_alive(a, b, node)

    cdef void join_entries(self, int k, int a, int b, int node) noexcept nogil:
        """A free cluster's lines at a and b become that to their union, at a."""
        cdef double* planes = self.frees[k].lines
        cdef Py_ssize_t stride = self.stride
        cdef double* plane
        cdef double u[MOST_PARTS]
        cdef double v[MOST_PARTS]
        cdef int f, c
        for f in range(2):
            plane = planes + self.offset[f] * stride
            if self.kind[f] == SINGLE:
                plane[a] = min(plane[a], plane[b])
            elif self.kind[f] == COMPLETE:
                plane[a] = max(plane[a], plane[b])
            else:
                for c in range(self.width[f]):
                    u[c] = plane[c * stride + a]
                    v[c] = plane[c * stride + b]
                add_wide(u, v, u, self.width[f])
                for c in range(self.width[f]):
                    plane[c * stride + a] = u[c]
                planes[self.shown[f] * stride + a] = self.quotient(
                    f, u[0], u[1], self.alive[k], node
                )

    cdef void replace_alive(self, int a, int b, int node) noexcept nogil:
        """The clusters at a and b are one now, at a; the last one moves to b."""
        cdef int left = self.alive[a], right = self.alive[b], k
        self.put(node, a)
        self.n_alive -= 1
        self.move_column(self.n_alive, b)
        for k in range(self.n_free):
            if self.frees[k].blocker == left or self.frees[k].blocker == right:
                self.frees[k].blocker = node
                self.idle_below = 0.0

    cdef void join_frees(self, int k, int l, int node) noexcept nogil:
        """Free clusters k and l become one, `node`, with lines of its own, at k."""
        cdef int left = self.alive[k], right = self.alive[l], last
        cdef FreeCluster* cluster = self.frees + k
        cdef FreeCluster gone = self.frees[l]
        if not cluster.stored:
            self.store_lines(k)
        if not gone.stored:
            self.store_lines(l)
        self.join_lines(k, l)
        cluster.partner = cluster.blocker = cluster.cleared = -1
        cluster.stored = False
        last = self.n_free - 1
        self.move_column(last, l)
        self.frees[l] = self.frees[last]
        self.frees[last] = gone
        self.n_free = last
        self.n_alive -= 1
        if self.n_alive > last:
            self.move_column(self.n_alive, last)
        k = l if k == last else k
        self.share[node] = 1.0 / self.size[node]
        self.put(node, k)
        self.show(k)
        self.announce(k)
        self.follow_partners(left, right, k)
        self.offer_partner(k)

    cdef void join_lines(self, int k, int l) noexcept nogil:
        """The lines of the union of k and l, in place of those of k."""
        cdef double* u
        cdef const double* v
        cdef int f
        for f in range(2):
            u = self.frees[k].lines + self.offset[f] * self.stride
            v = self.frees[l].lines + self.offset[f] * self.stride
            if self.kind[f] == SINGLE:
                join_least(u, v, self.n_alive)
            elif self.kind[f] == COMPLETE:
                join_greatest(u, v, self.n_alive)
            else:
                add_planes(u, v, self.width[f], self.n_alive, self.stride)

    cdef void store_lines(self, int k) noexcept nogil:
        """Write a free cluster's lines to its row."""
        cdef Py_ssize_t stride = self.stride
        cdef const double* planes = self.frees[k].lines
        cdef const double* second = planes + stride
        cdef const int* slots = self.slot_at
        cdef double* row = self.row[self.alive[k]]
        cdef double* entry
        cdef int a, c, n_parts = self.n_parts
        for a in range(self.n_alive):
            entry = row + slots[a] * n_parts
            entry[0] = planes[a]
            entry[1] = second[a]
        for c in range(2, n_parts):
            for a in range(self.n_alive):
                row[slots[a] * n_parts + c] = planes[c * stride + a]

    cdef void announce(self, int k) noexcept nogil:
        """Free cluster k is new: write its lines to the other free clusters."""
        cdef Py_ssize_t stride = self.stride
        cdef int j, c
        for j in range(self.n_free):
            if j == k:
                continue
            for c in range(self.n_planes):
                self.frees[j].lines[c * stride + k] = (
                    self.frees[k].lines[c * stride + j]
                )
            if self.frees[j].stored:
                self.write(j, k, self.row[self.alive[j]], self.slot_at[k])


cdef void add_planes(
    double* u, const double* v, int width, int count, Py_ssize_t stride
) noexcept nogil:
    """u += v for `count` numbers of `width` doubles, plane by plane."""
    cdef double a[MOST_PARTS]
    cdef double b[MOST_PARTS]
    cdef int i, c
    if width == 2:
        join_sums(u, u + stride, v, v + stride, count)
        return
    for i in range(count):
        for c in range(width):
            a[c] = u[c * stride + i]
            b[c] = v[c * stride + i]
        add_wide(a, b, a, width)
        for c in range(width):
            u[c * stride + i] = a[c]
