"""A greedy run, and until when each of its clusters leaves it as it is.

Invariant: just right of t each merge of `sequence` joins the nearest of all pairs
alive, and `fails[x]` is no later than where a pair of cluster x and an older one gets
nearer than a merge made while both are alive. The row of a cluster has its lines to
those older ones. Lines are linear and their maximum is convex: a pair above the
highest merge of its time at t and at some later parameter is so in between. Cost: O(n)
for a certificate, times a few for the parameters at which it is tried.
"""

from libc.math cimport nextafter
from libc.stdlib cimport free

from .lines cimport MOST_PARTS, Lines
from .memory cimport allocate
from .predicates cimport (
    COMPLETE, NEVER, SINGLE, SMALLEST, TOLERANCE, add_wide, crossing_bound,
)


cdef class GreedyRun(Lines):
    """What holds of a run while the parameter moves."""

    def __cinit__(self, *args):
        cdef int node
        self.fails = <double*> allocate(self.room, sizeof(double))
        self.death = <int*> allocate(self.room, sizeof(int))
        self.older = <int*> allocate(self.n_points, sizeof(int))
        self.last = <int*> allocate(self.n_points, sizeof(int))
        self.top = <int*> allocate(self.n_points, sizeof(int))
        self.peak = <double*> allocate(self.n_points, sizeof(double))
        for node in range(self.room):
            self.fails[node] = NEVER
            self.death[node] = self.n_points - 1

    def __dealloc__(self):
        free(self.fails)
        free(self.death)
        free(self.older)
        free(self.last)
        free(self.top)
        free(self.peak)

    cdef void fetch(self, int x, int y, double* parts) noexcept nogil:
        """Copy the numbers of two clusters, given in either order."""
        if self.is_older(x, y):
            x, y = y, x
        Lines.fetch(self, x, y, parts)

    cdef void join_lines(self, int left, int right, int other, int node) noexcept nogil:
        """Store the line of `other` and the union of left and right."""
        cdef double u[MOST_PARTS]
        cdef double v[MOST_PARTS]
        cdef double* entry = self.entry(node, other)
        cdef int f, at
        self.fetch(left, other, u)
        self.fetch(right, other, v)
        for f in range(2):
            at = self.offset[f]
            if self.kind[f] == SINGLE:
                entry[at] = min(u[at], v[at])
            elif self.kind[f] == COMPLETE:
                entry[at] = max(u[at], v[at])
            else:
                add_wide(u + at, v + at, entry + at, self.width[f])

    cdef double find_cut(self, int k) noexcept nogil:
        """Undo the last k - 1 merges; they are the last while the sequence stands."""
        cdef int first_undone = self.n_points - k, place, node, side, child, found = 0
        if k == 1:
            self.cut[0] = self.sequence[self.n_points - 2] if self.n_points > 1 else 0
        for place in range(first_undone, self.n_points - 1):
            node = self.sequence[place]
            for side in range(2):
                child = self.right[node] if side else self.left[node]
                if self.position[child] < first_undone:
                    self.cut[found] = child
                    found += 1
        return NEVER

    cdef void sort_by_height(self) noexcept nogil:
        """The merges keep their order, and a height may fall."""
        cdef int place, node
        for place in range(self.n_points - 1):
            node = self.order[place] = self.sequence[place]
            self.height[node] = self.mix(self.start[node], self.end[node])

    cdef int first_failure(self) except -2 nogil:
        """Place of the first merge that is not the nearest pair, -1 if there is none.

        Certificates that were only too careful are renewed.
        """
        cdef int never = self.n_points - 1, first = never, node, place
        for node in range(self.n_nodes):
            if self.fails[node] <= self.t:
                place = self.failing_place(node)
                first = min(first, place)
                if place == never:
                    self.fails[node] = self.certify(node)
                self.poll.spend(4 * self.n_points)
        return first if first < never else -1

    cdef double certify(self, int x) noexcept nogil:
        """Before when no pair of x and an older cluster gets nearer than a merge.

        It is tried at the last parameter before a bound, which is lowered to where a
        pair that is too near there meets the highest merge.
        """
        cdef int birth = self.position[x] + 1, n_older = self.find_older(x), i, top
        cdef double now = self.t, until = 1.0, start, end, crossing
        self.move_before(until)
        self.climb(birth, self.death[x])
        for i in range(n_older):
            if self.last[i] < birth:
                continue
            self.show(x, self.older[i], &start, &end)
            while self.may_be_nearer(self.mix(start, end), self.last[i]):
                top = self.top[self.last[i]]
                crossing = crossing_bound(
                    self.start[top], self.end[top], start, end, self.slack
                )
                if crossing <= now:
                    crossing = self.crossing(
                        x, self.older[i], self.left[top], self.right[top]
                    )
                if crossing >= until:
                    break
                until = crossing
                if until <= now:
                    break
                self.move_before(until)
                self.climb(birth, self.death[x])
            if until <= now:
                break
        self.move_to(now)
        return until if until < 1.0 else NEVER

    cdef void move_before(self, double t) noexcept nogil:
        """Decide as at the last parameter before t."""
        self.move_to(nextafter(t, 0.0) if t > SMALLEST else 0.0)

    cdef int failing_place(self, int x) noexcept nogil:
        """The first merge that a pair of x and an older cluster is nearer than."""
        cdef int birth = self.position[x] + 1, place = self.n_points - 1, i, last
        cdef int n_older = self.find_older(x)
        self.climb(birth, self.death[x])
        for i in range(n_older):
            last = min(self.last[i], place - 1)
            while last >= birth and self.is_below(x, self.older[i], self.top[last]):
                place = self.position[self.top[last]]
                last = place - 1
        return place

    cdef bint is_below(self, int x, int y, int node) noexcept nogil:
        """Whether two clusters are nearer than a merge."""
        return self.is_nearer(
            x, y, self.value(x, y), self.left[node], self.right[node],
            self.mix(self.start[node], self.end[node]),
        )

    cdef bint is_nearer(
        self, int x, int y, double value, int u, int v, double other
    ) noexcept nogil:
        """Whether (x, y) are nearer than (u, v), given the values of both."""
        cdef double margin = TOLERANCE * other + self.slack
        return value < other - margin or (
            value <= other + margin and self.compare(x, y, u, v) < 0
        )

    cdef inline bint may_be_nearer(self, double value, int place) noexcept nogil:
        return value <= self.peak[place] + (TOLERANCE * value + self.slack)

    cdef int find_older(self, int x) noexcept nogil:
        """List the clusters older than x and alive beside it, return how many."""
        cdef int birth = self.position[x], death = self.death[x]
        cdef int i, y, n_older = 0
        for i in range(self.n_points + max(birth, 0)):
            y = i if i < self.n_points else self.sequence[i - self.n_points]
            if self.death[y] > birth and (birth >= 0 or self.slot[y] < self.slot[x]):
                self.older[n_older] = y
                # A merge does not compete with itself.
                self.last[n_older] = min(
                    self.death[y], death - (self.parent[x] == self.parent[y])
                )
                n_older += 1
        return n_older

    cdef void climb(self, int place, int last) noexcept nogil:
        """Find the highest merge from `place` on, for each place up to `last`."""
        cdef int node, highest = -1
        cdef double height, best = 0.0, margin = 0.0
        for place in range(place, min(last, self.n_points - 2) + 1):
            node = self.sequence[place]
            height = self.mix(self.start[node], self.end[node])
            if highest < 0 or height > best + margin or (
                height >= best - margin
                and not self.is_tied(node, highest)
                and self.compare_merges(node, highest) > 0
            ):
                highest = node
                best = height
                margin = TOLERANCE * height + self.slack
            self.top[place] = highest
            self.peak[place] = best

    cdef inline bint is_tied(self, int u, int v) noexcept nogil:
        """Whether two merges of points have the same line, as many do in real data."""
        return (
            self.size[u] == 2 and self.size[v] == 2
            and self.start[u] == self.start[v] and self.end[u] == self.end[v]
        )
