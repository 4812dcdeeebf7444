"""Clusters taken out of a merge sequence, with their lines to all others alive.

Invariant: `alive` lists the clusters at the current place of the sequence, and each
free cluster has its lines to them in the same order, plane by plane: the parts of
both merge functions, and for sums their quotient. `shows` gives the plane that float
filters read; whatever they cannot decide goes to the exact comparisons of
Lines. Cost: O(alive) to free a cluster, to find its nearest one and to join two.
"""

from libc.math cimport fabs
from libc.stdlib cimport free

from .lines cimport Lines, MOST_PARTS
from .memory cimport allocate
from .predicates cimport (
    COMPLETE, NEVER, SINGLE, TOLERANCE, add_wide, crossing_bound, is_quotient,
)


cdef class FreeClusters(Lines):
    """All points alive, none free at first."""

    def __cinit__(self, *args):
        cdef int node
        self.alive = <int*> allocate(self.n_points, sizeof(int))
        self.place = <int*> allocate(self.room, sizeof(int))
        self.free_at = <int*> allocate(self.room, sizeof(int))
        self.frees = <FreeCluster*> allocate(self.n_points, sizeof(FreeCluster))
        for node in range(self.room):
            self.free_at[node] = -1
        self.n_alive = self.n_points
        for node in range(self.n_points):
            self.alive[node] = self.place[node] = node

    def __dealloc__(self):
        cdef int k
        for k in range(self.n_free_blocks):
            free(self.frees[k].lines)
            free(self.frees[k].shared)
        free(self.frees)
        free(self.alive)
        free(self.place)
        free(self.free_at)

    cdef bint renew(self, int k, int a) noexcept nogil:
        """Bring a line of free cluster k up to date; says whether it was not.

        Only a line that is too low can be out of date, so that it is enough to ask
        where a line seems to be low.
        """
        return False

    cdef int set_free(self, int node) except -1 nogil:
        """Take a cluster that is alive out of the sequence; returns its index."""
        cdef int k = self.n_free
        cdef Py_ssize_t n = self.n_points
        cdef FreeCluster* new = self.frees + k
        if k == self.n_free_blocks:
            self.n_free_blocks += 1
            new.lines = <double*> allocate(n * self.n_planes, sizeof(double))
            new.shared = <int*> allocate(n, sizeof(int))
        new.node = node
        new.partner = new.blocker = -1
        new.reach = 0.0
        self.free_at[node] = k
        self.n_free += 1
        self.load_lines(k)
        self.offer_partner(k)
        return k

    cdef void offer_partner(self, int k) noexcept nogil:
        """Free cluster k is new: others may be nearer to it than to their partner."""
        cdef int node = self.frees[k].node, j, a
        cdef double value, margin
        for j in range(self.n_free):
            if j == k:
                continue
            if self.frees[j].blocker == node:
                self.frees[j].blocker = -1
            a = self.place[self.frees[j].node]
            if self.expiring:
                self.renew(k, a)
            value = self.mix(self.shows(k, 0)[a], self.shows(k, 1)[a])
            margin = TOLERANCE * value + self.slack
            if value < self.frees[j].gap - margin:
                self.frees[j].partner = node if self.frees[j].partner >= 0 else -1
                self.frees[j].gap = value
            elif value <= self.frees[j].gap + margin:
                self.frees[j].partner = -1

    cdef void forget_partners(self, int left, int right) noexcept nogil:
        """Two clusters are not free any more, or not what they were."""
        cdef int k
        for k in range(self.n_free):
            if self.frees[k].partner == left or self.frees[k].partner == right:
                self.frees[k].partner = -1

    cdef void load_lines(self, int k) noexcept nogil:
        """Collect the lines of a free cluster to all clusters alive."""
        cdef int node = self.frees[k].node, a, c, other
        cdef int position = self.position[node], first = self.first[node]
        cdef double* planes = self.frees[k].lines
        cdef const double* entry
        cdef Py_ssize_t n = self.n_points
        cdef bint younger
        for a in range(self.n_alive):
            other = self.alive[a]
            if node < n and other < n:
                for c in range(self.n_parts):
                    planes[c * n + a] = 0.0
                if node != other:
                    for c in range(2):
                        planes[self.offset[c] * n + a] = self.distance(c, node, other)
                continue
            # As `entry`, in a form that compiles without a branch.
            younger = self.position[other] > position
            entry = self.row[other if younger else node] + <Py_ssize_t> (
                first if younger else self.first[other]
            ) * self.n_parts
            planes[a] = entry[0]
            planes[n + a] = entry[1]
            for c in range(2, self.n_parts):
                planes[c * n + a] = entry[c]
        self.show(k)

    cdef void show(self, int k) noexcept nogil:
        """Bring quotients up to date, and keep the cluster away from itself."""
        cdef double* planes = self.frees[k].lines
        cdef int node = self.frees[k].node, f, a
        cdef Py_ssize_t n = self.n_points
        cdef const double* sums
        cdef double* values
        for f in range(2):
            values = planes + self.shown[f] * n
            if is_quotient(self.kind[f]):
                sums = planes + self.offset[f] * n
                for a in range(self.n_alive):
                    values[a] = self.quotient(
                        f, sums[a], sums[n + a], node, self.alive[a]
                    )
            values[self.place[node]] = FAR

    cdef void set_bound(self, int k) noexcept nogil:
        """Free cluster k is part of the sequence again."""
        cdef FreeCluster last = self.frees[self.n_free - 1]
        self.free_at[self.frees[k].node] = -1
        self.n_free -= 1
        if k != self.n_free:
            self.free_at[last.node] = k
            self.frees[self.n_free] = self.frees[k]
            self.frees[k] = last

    cdef void set_all_bound(self) noexcept nogil:
        while self.n_free:
            self.set_bound(self.n_free - 1)

    cdef void find_partner(self, int k) noexcept nogil:
        """Find the free cluster nearest to free cluster k, if it is not known."""
        cdef double value, best = FAR, margin = 0.0
        cdef int j, a, node = self.frees[k].node, found = -1
        if self.frees[k].partner >= 0:
            return
        for j in range(self.n_free):
            if j == k:
                continue
            a = self.place[self.frees[j].node]
            if self.expiring:
                self.renew(k, a)
            value = self.mix(self.shows(k, 0)[a], self.shows(k, 1)[a])
            if value > best + margin or (
                value >= best - margin and found >= 0
                and self.compare(node, self.frees[j].node, node, found) > 0
            ):
                continue
            found = self.frees[j].node
            best = value
            margin = TOLERANCE * value + self.slack
        self.frees[k].partner = found
        self.frees[k].gap = best

    cdef bint is_nearest(self, int k, int partner) noexcept nogil:
        """Whether no cluster that is not free is nearer to k than its partner."""
        cdef FreeCluster* cluster = self.frees + k
        cdef double margin = TOLERANCE * cluster.gap + self.slack
        if cluster.gap < cluster.reach - margin:
            return True
        if cluster.blocker < 0:
            self.find_blocker(k)
        if fabs(cluster.gap - cluster.reach) > margin:
            return cluster.gap < cluster.reach
        return cluster.blocker < 0 or self.compare(
            cluster.node, partner, cluster.node, cluster.blocker
        ) < 0

    cdef void find_blocker(self, int k) noexcept nogil:
        """Find the cluster nearest to k among those that are not free.

        It stays the nearest while it is there, as merges among others do not bring
        anything nearer; what is left when it is gone is no nearer than it was.
        """
        cdef const double* starts = self.shows(k, 0)
        cdef const double* ends = self.shows(k, 1)
        cdef double value, best = FAR, margin = 0.0
        cdef int a, node = self.frees[k].node, found = -1
        for a in range(self.n_alive):
            value = self.mix(starts[a], ends[a])
            if value > best + margin or self.free_at[self.alive[a]] >= 0:
                continue
            if self.expiring and self.renew(k, a):
                value = self.mix(starts[a], ends[a])
                if value > best + margin:
                    continue
            if found >= 0 and value >= best - margin and self.compare(
                node, self.alive[a], node, self.alive[found]
            ) > 0:
                continue
            found = a
            best = value
            margin = TOLERANCE * value + self.slack
        self.frees[k].blocker = self.alive[found] if found >= 0 else -1
        self.frees[k].reach = best

    cdef double failure_bound(
        self, int k, int partner, double start, double end
    ) noexcept nogil:
        """Before when no other cluster gets nearer to free cluster k than that.

        A line that is above the given one at the bound found so far crosses it
        later, so that most need no division.
        """
        cdef const double* starts = self.shows(k, 0)
        cdef const double* ends = self.shows(k, 1)
        cdef double best = 1.0, rest = 0.0, limit = self.limit(end)
        cdef int a
        for a in range(self.n_alive):
            if rest * starts[a] + best * ends[a] <= limit and a != partner:
                if self.expiring:
                    self.renew(k, a)
                best = min(
                    best, crossing_bound(start, end, starts[a], ends[a], self.slack)
                )
                rest = 1.0 - best
                limit = self.limit(rest * start + best * end)
        return best if best < 1.0 else NEVER

    cdef double certificate(self, int k, int l) noexcept nogil:
        """Before when free clusters k and l stay nearest to each other."""
        cdef int a = self.place[self.frees[k].node], b = self.place[self.frees[l].node]
        cdef double start = self.shows(k, 0)[b], end = self.shows(k, 1)[b]
        return min(
            self.failure_bound(k, b, start, end), self.failure_bound(l, a, start, end)
        )

    cdef double exact_failure(self, int node) except? -1 nogil:
        """When the merge of the only two free clusters fails."""
        cdef double start = self.start[node], end = self.end[node]
        cdef double best = 1.0, rest = 0.0, limit = self.limit(end)
        cdef const double* starts
        cdef const double* ends
        cdef int k, a, partner
        for k in range(2):
            starts = self.shows(k, 0)
            ends = self.shows(k, 1)
            partner = self.place[self.frees[1 - k].node]
            for a in range(self.n_alive):
                if rest * starts[a] + best * ends[a] > limit or a == partner:
                    continue
                if crossing_bound(start, end, starts[a], ends[a], self.slack) < best:
                    best = min(best, self.crossing(
                        self.frees[k].node, self.alive[a],
                        self.left[node], self.right[node],
                    ))
                    rest = 1.0 - best
                    limit = self.limit(rest * start + best * end)
        return best if best < 1.0 else NEVER

    cdef bint holds(self, int node) noexcept nogil:
        """Whether a merge is nearer than either child and any free cluster."""
        cdef double height = self.mix(self.start[node], self.end[node]), value
        cdef double margin = TOLERANCE * height + self.slack
        cdef int k, side, child, a
        for k in range(self.n_free):
            for side in range(2):
                child = self.right[node] if side else self.left[node]
                a = self.place[child]
                value = self.mix(self.shows(k, 0)[a], self.shows(k, 1)[a])
                if value > height + margin:
                    continue
                if self.expiring and self.renew(k, a):
                    value = self.mix(self.shows(k, 0)[a], self.shows(k, 1)[a])
                    if value > height + margin:
                        continue
                if value < height - margin or self.compare(
                    self.frees[k].node, child, self.left[node], self.right[node]
                ) < 0:
                    return False
        return True

    cdef double compete(self, int node) noexcept nogil:
        """Carry out a merge of the sequence beside the free clusters.

        Returns a parameter before which none of them gets nearer to its children.
        """
        cdef int a = self.place[self.left[node]], b = self.place[self.right[node]]
        cdef double start = self.start[node], end = self.end[node], fail = NEVER
        cdef double slack = self.slack
        cdef Py_ssize_t n = self.n_points
        cdef const double* starts
        cdef const double* ends
        cdef double* entry
        cdef int k, c, at
        for k in range(self.n_free):
            starts = self.shows(k, 0)
            ends = self.shows(k, 1)
            for c in range(2):
                at = b if c else a
                if crossing_bound(start, end, starts[at], ends[at], slack) < fail:
                    if self.expiring:
                        self.renew(k, at)
                    fail = min(
                        fail,
                        crossing_bound(start, end, starts[at], ends[at], slack),
                    )
            self.join_entries(k, a, b, node)
            entry = self.row[node] + (
                <Py_ssize_t> self.first[self.frees[k].node] * self.n_parts
            )
            for c in range(self.n_parts):
                entry[c] = self.frees[k].lines[c * n + a]
        self.replace_alive(a, b, node)
        return fail

    cdef void join_entries(self, int k, int a, int b, int node) noexcept nogil:
        """A free cluster's lines at a and b become that to their union, at a."""
        cdef double* planes = self.frees[k].lines
        cdef Py_ssize_t n = self.n_points
        cdef double* plane
        cdef double u[MOST_PARTS]
        cdef double v[MOST_PARTS]
        cdef int f, c
        for f in range(2):
            plane = planes + self.offset[f] * n
            if self.kind[f] == SINGLE:
                plane[a] = min(plane[a], plane[b])
            elif self.kind[f] == COMPLETE:
                plane[a] = max(plane[a], plane[b])
            else:
                for c in range(self.width[f]):
                    u[c] = plane[c * n + a]
                    v[c] = plane[c * n + b]
                add_wide(u, v, u, self.width[f])
                for c in range(self.width[f]):
                    plane[c * n + a] = u[c]
                planes[self.shown[f] * n + a] = self.quotient(
                    f, u[0], u[1], self.frees[k].node, node
                )

    cdef void join_frees(self, int k, int l, int node) noexcept nogil:
        """Free clusters k and l become one, `node`, with lines of its own."""
        cdef int left = self.frees[k].node, right = self.frees[l].node
        self.join_lines(k, l)
        self.free_at[left] = -1
        self.free_at[node] = k
        self.frees[k].node = node
        self.frees[k].partner = self.frees[k].blocker = -1
        self.frees[k].reach = min(self.frees[k].reach, self.frees[l].reach)
        self.set_bound(l)
        self.forget_partners(left, right)
        self.replace_alive(self.place[left], self.place[right], node)
        self.show(self.free_at[node])
        self.store_lines(self.free_at[node])
        self.offer_partner(self.free_at[node])

    cdef void join_lines(self, int k, int l) noexcept nogil:
        """The lines of the union of k and l, in place of those of k."""
        cdef Py_ssize_t n = self.n_points
        cdef double* u
        cdef const double* v
        cdef int f, a
        for f in range(2):
            u = self.frees[k].lines + self.offset[f] * n
            v = self.frees[l].lines + self.offset[f] * n
            if self.kind[f] == SINGLE:
                for a in range(self.n_alive):
                    u[a] = min(u[a], v[a])
            elif self.kind[f] == COMPLETE:
                for a in range(self.n_alive):
                    u[a] = max(u[a], v[a])
            else:
                add_planes(u, v, self.width[f], self.n_alive, n)

    cdef void store_lines(self, int k) noexcept nogil:
        """Write a free cluster's lines to its row and to other free clusters."""
        cdef const double* planes = self.frees[k].lines
        cdef int node = self.frees[k].node, at = self.place[node], a, c, j, other
        cdef Py_ssize_t n = self.n_points
        cdef double* entry
        for a in range(self.n_alive):
            entry = self.row[node] + (
                <Py_ssize_t> self.first[self.alive[a]] * self.n_parts
            )
            for c in range(self.n_parts):
                entry[c] = planes[c * n + a]
        for j in range(self.n_free):
            if j != k:
                other = self.place[self.frees[j].node]
                for c in range(self.n_planes):
                    self.frees[j].lines[c * n + at] = planes[c * n + other]

    cdef void replace_alive(self, int a, int b, int node) noexcept nogil:
        """The clusters at a and b are one now, at a; the last one moves to b."""
        cdef int left = self.alive[a], right = self.alive[b], last, k, c
        cdef Py_ssize_t n = self.n_points
        cdef double* planes
        self.n_alive -= 1
        last = self.n_alive
        self.alive[a] = node
        self.place[node] = a
        self.alive[b] = self.alive[last]
        self.place[self.alive[b]] = b
        for k in range(self.n_free):
            planes = self.frees[k].lines
            for c in range(self.n_planes):
                planes[c * n + b] = planes[c * n + last]
            if self.frees[k].blocker == left or self.frees[k].blocker == right:
                self.frees[k].blocker = -1


cdef void add_planes(
    double* u, const double* v, int width, int count, Py_ssize_t stride
) noexcept nogil:
    """u += v for `count` numbers of `width` doubles, plane by plane."""
    cdef double a[MOST_PARTS]
    cdef double b[MOST_PARTS]
    cdef int i, c
    for i in range(count):
        for c in range(width):
            a[c] = u[c * stride + i]
            b[c] = v[c * stride + i]
        add_wide(a, b, a, width)
        for c in range(width):
            u[c * stride + i] = a[c]
