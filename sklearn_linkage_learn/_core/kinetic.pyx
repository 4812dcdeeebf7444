"""The kinetic engine: one merge sequence, repaired as the parameter moves.

Invariant: `sequence` is a run of mutually nearest merges just right of t, and
`fails[node]` is no later than the parameter at which the merge stops being one: a
comparison of its line with that of either child and any other cluster alive then.
For a reducible family any such run gives the tree. A repair starts at the first
failing merge and replays the rest until both runs have the same clusters again:

- a *ghost* is a cluster of the old run that the new one does not have (yet);
- a *free* cluster is one of the new run that the old one does not have (any more).

Both cover the same points. A merge of the old run that has no ghost child and holds
against the free clusters is kept. When the last ghost is found among the free
clusters the rest of the sequence stands. Cost: O(n) a repair for most, O(n^2) bytes
for each part of a line.
"""

from libc.math cimport fabs
from libc.stdlib cimport free

from .free_clusters cimport FAR, FreeClusters
from .memory cimport allocate
from .predicates cimport crossing_bound


cdef class Kinetic(FreeClusters):
    """The sweep over [0, 1] for a family whose lines stand."""

    def __cinit__(self, *args):
        cdef int node
        self.repaired = <int*> allocate(self.n_points, sizeof(int))
        self.ghosts = <int*> allocate(self.n_points, sizeof(int))
        self.fails = <double*> allocate(self.room, sizeof(double))
        self.ghost_at = <int*> allocate(self.room, sizeof(int))
        for node in range(self.room):
            self.ghost_at[node] = -1

    def __dealloc__(self):
        free(self.repaired)
        free(self.fails)
        free(self.ghosts)
        free(self.ghost_at)

    cdef int sweep(self) except -1 nogil:
        """From 0 to 1, one repair after the other."""
        cdef int place, second
        while True:
            place = self.first_failure(&second)
            if place < 0:
                return self.settle(1.0)
            if self.expiring and self.fails[self.sequence[place]] > self.t:
                self.move_to(self.fails[self.sequence[place]])
            self.gather_alive(place)
            self.free_children(self.sequence[place])
            if self.reach_failure(place, second):
                self.settle(self.t)
                self.repair(place)
                self.pieces.n_events += 1
            else:
                self.set_all_bound()
            self.poll.spend(self.n_points)

    cdef bint reach_failure(self, int place, int second) except -1 nogil:
        """Move to where the merge at `place` fails, if no other one fails before."""
        cdef int node = self.sequence[place]
        while True:
            self.fails[node] = self.exact_failure(node)
            if self.fails[node] <= self.t:
                return True
            if self.fails[node] >= 1.0 or self.comes_first(second, place):
                return False
            self.move_to(self.fails[node])
            if not self.expiring:
                return True

    cdef int first_failure(self, int* second) noexcept nogil:
        """Place of the merge that fails first, and of the next one; -1 if none."""
        cdef double fail, best = 1.0, next_best = 1.0
        cdef int place, found = -1
        second[0] = -1
        for place in range(self.n_points - 1):
            fail = self.fails[self.sequence[place]]
            if fail < best:
                second[0] = found
                next_best = best
                found = place
                best = fail
            elif fail < next_best:
                second[0] = place
                next_best = fail
        return found

    cdef bint comes_first(self, int a, int b) noexcept nogil:
        """Whether the merge at place a has to be repaired before that at b."""
        cdef double fail_a, fail_b
        if a < 0 or b < 0:
            return b < 0 <= a
        fail_a = self.fails[self.sequence[a]]
        fail_b = self.fails[self.sequence[b]]
        return fail_a < fail_b or (fail_a == fail_b and a < b)

    cdef void gather_alive(self, int place) noexcept nogil:
        """The clusters before the merge at `place`: those that later merges take."""
        cdef int later, node, side, child
        self.n_alive = 0
        for later in range(place, self.n_points - 1):
            node = self.sequence[later]
            for side in range(2):
                child = self.right[node] if side else self.left[node]
                # No branch, since none could be foretold: others are overwritten.
                self.put(child, self.n_alive)
                self.n_alive += self.position[child] < place

    cdef int free_children(self, int node) except -1 nogil:
        self.set_free(self.left[node])
        self.set_free(self.right[node])
        return 0

    cdef int repair(self, int place) except -1 nogil:
        """Replay from the failing merge, whose children are free already."""
        cdef int node = self.sequence[place]
        cdef double limit
        self.failing = place
        self.n_repaired = 0
        self.add_ghost(node, self.left[node], self.right[node])
        while self.n_ghosts:
            self.poll.spend(self.n_free)
            place += 1
            limit = FAR
            if place < self.n_points - 1:
                node = self.sequence[place]
                limit = self.mix(self.start[node], self.end[node])
            while self.n_ghosts and self.merge_nearest(limit):
                pass
            if not self.n_ghosts:
                break
            if place >= self.n_points - 1:
                with gil:
                    raise RuntimeError("the repaired run did not end in one cluster")
            self.replay(node)
        for place in range(self.n_repaired):
            self.sequence[self.failing + place] = self.repaired[place]
        return 0

    cdef int replay(self, int node) except -1 nogil:
        """Keep a merge of the old run, or find out what becomes of it."""
        cdef int left = self.left[node], right = self.right[node]
        if self.ghost_at[left] >= 0 or self.ghost_at[right] >= 0:
            self.extend_ghost(node, left, right)
        elif self.is_out_of_reach(node):
            self.keep(node, self.fails[node])
        elif self.fails[node] <= self.t or not self.still_holds(node):
            # One that fails at this very parameter is redone here, not in a repair
            # of its own.
            self.free_children(node)
            self.add_ghost(node, left, right)
        else:
            self.keep(node, self.tighten(node, self.fails[node]))
        return 0

    cdef bint is_out_of_reach(self, int node) noexcept nogil:
        """Whether no free cluster gets near a merge before its certificate ends.

        That is so for most, and spares them what follows.
        """
        cdef double start = self.start[node], end = self.end[node], t = self.t
        cdef double until = min(self.fails[node], 1.0), rest = self.rest, last_rest
        cdef double now = self.limit(rest * start + t * end), last
        cdef int a = self.place[self.left[node]], b = self.place[self.right[node]], k
        cdef const double* starts
        cdef const double* ends
        if self.expiring or until <= t:
            return False
        last_rest = 1.0 - until
        last = self.limit(last_rest * start + until * end)
        for k in range(self.n_free):
            starts = self.shows(k, 0)
            ends = self.shows(k, 1)
            if (
                (rest * starts[a] + t * ends[a] <= now)
                | (rest * starts[b] + t * ends[b] <= now)
                | (last_rest * starts[a] + until * ends[a] <= last)
                | (last_rest * starts[b] + until * ends[b] <= last)
            ):
                return False
        return True

    cdef bint still_holds(self, int node) noexcept nogil:
        if self.expiring:
            self.update_merge(node)
        return self.holds(node)

    cdef void update_merge(self, int node) noexcept nogil:
        """Bring the line of a merge up to date, where lines expire."""

    cdef bint holds(self, int node) noexcept nogil:
        """Whether a merge is nearer than either child and any free cluster."""
        cdef double height = self.mix(self.start[node], self.end[node])
        cdef double limit = height + self.margin(height)
        cdef int left = self.left[node], right = self.right[node], k
        cdef int a = self.place[left], b = self.place[right]
        for k in range(self.n_free):
            if self.value(k, a) <= limit and self.is_nearer(k, a, node, height):
                return False
            if self.value(k, b) <= limit and self.is_nearer(k, b, node, height):
                return False
        return True

    cdef bint is_nearer(self, int k, int a, int node, double height) noexcept nogil:
        """Whether free cluster k and the one at a are nearer than a merge."""
        cdef double margin = self.margin(height)
        self.renew(k, a)
        if fabs(self.value(k, a) - height) > margin:
            return self.value(k, a) < height
        return self.compare(
            self.alive[k], self.alive[a], self.left[node], self.right[node]
        ) < 0

    cdef double tighten(self, int node, double fail) noexcept nogil:
        """Before when no free cluster gets nearer to a merge's children, or `fail`."""
        cdef int a = self.place[self.left[node]], b = self.place[self.right[node]], k
        for k in range(self.n_free):
            fail = self.crossing_before(k, a, node, fail)
            fail = self.crossing_before(k, b, node, fail)
        return fail

    cdef double crossing_before(
        self, int k, int a, int node, double fail
    ) noexcept nogil:
        """No later than where the line at a gets below a merge, or `fail`."""
        cdef double start = self.start[node], end = self.end[node]
        cdef double until = min(fail, 1.0), rest = 1.0 - until
        cdef double value = rest * self.shows(k, 0)[a] + until * self.shows(k, 1)[a]
        if value > self.limit(rest * start + until * end):
            return fail
        self.renew(k, a)
        return min(fail, crossing_bound(
            start, end, self.shows(k, 0)[a], self.shows(k, 1)[a], self.slack
        ))

    cdef void emit(self, int node) noexcept nogil:
        self.repaired[self.n_repaired] = node
        self.position[node] = self.failing + self.n_repaired
        self.n_repaired += 1

    cdef void keep(self, int node, double fail) noexcept nogil:
        """The old merge holds; free clusters now compete with it as well."""
        self.emit(node)
        self.fails[node] = fail
        self.carry_out(node)
        self.pieces.count.kept += 1

    cdef bint merge_nearest(self, double limit) except -1 nogil:
        """Merge two free clusters nearest to each other, if they are in the limit."""
        cdef int k, other
        cdef double least = FAR
        if limit < self.idle_below:
            return False
        for k in range(self.n_free):
            self.find_partner(k)
            if self.frees[k].gap > limit:
                least = min(least, self.frees[k].gap)
                continue
            if self.frees[k].partner < 0:
                continue
            other = self.place[self.frees[k].partner]
            self.find_partner(other)
            if (
                self.frees[other].partner == self.alive[k]
                and not self.is_blocked(k) and not self.is_blocked(other)
            ):
                self.merge_free(k, other)
                return True
        self.idle_below = least
        return False

    cdef int merge_free(self, int k, int l) except -1 nogil:
        """A merge of the new run; the union takes the place of cluster k."""
        cdef int node, g
        self.poll.spend(self.n_alive)
        self.renew(k, l)
        node = self.new_cluster(k, l)
        self.emit(node)
        for g in range(self.n_ghosts):
            self.frees[k].shared[g] += self.frees[l].shared[g]
        self.join_frees(k, l, node)
        k = self.place[node]
        for g in range(self.n_ghosts):
            if self.is_same(k, g):
                self.resolve(k, g)
                break
        return 0

    cdef int new_cluster(self, int k, int l) except -1 nogil:
        """A node for the union of two free clusters, with its certificate."""
        cdef int left = self.alive[k], right = self.alive[l], node = self.new_node()
        self.unite(node, left, right)
        self.start[node] = self.shows(k, 0)[l]
        self.end[node] = self.shows(k, 1)[l]
        self.fails[node] = self.certificate(k, l)
        self.loss.join(node, left, right)
        return node

    # Ghosts.

    cdef void add_ghost(self, int node, int left, int right) noexcept nogil:
        """The merge of two free clusters that the new run has not made."""
        cdef int g = self.n_ghosts, k
        for k in range(g):
            self.frees[self.place[left]].shared[k] = 0
            self.frees[self.place[right]].shared[k] = 0
        for k in range(self.n_free):
            self.frees[k].shared[g] = 0
        self.frees[self.place[left]].shared[g] = self.size[left]
        self.frees[self.place[right]].shared[g] = self.size[right]
        self.ghosts[g] = node
        self.ghost_at[node] = g
        self.n_ghosts += 1

    cdef int extend_ghost(self, int node, int left, int right) except -1 nogil:
        """An old merge of one or two ghosts is a ghost; its other child is free."""
        cdef int g, k, other
        if self.ghost_at[left] < 0:
            left, right = right, left
        g = self.ghost_at[left]
        other = self.ghost_at[right]
        if other < 0:
            k = self.set_free(right)
            for other in range(self.n_ghosts):
                self.frees[k].shared[other] = 0
            self.frees[k].shared[g] = self.size[right]
        else:
            for k in range(self.n_free):
                self.frees[k].shared[g] += self.frees[k].shared[other]
            self.drop_ghost(other)
            g = self.ghost_at[left]
        self.ghost_at[left] = -1
        self.give_back(left)
        self.ghosts[g] = node
        self.ghost_at[node] = g
        for k in range(self.n_free):
            if self.is_same(k, g):
                self.resolve(k, g)
                break
        return 0

    cdef void drop_ghost(self, int g) noexcept nogil:
        """Forget a ghost; the last one takes its index."""
        cdef int last = self.n_ghosts - 1, k
        self.ghost_at[self.ghosts[g]] = -1
        self.give_back(self.ghosts[g])
        self.n_ghosts = last
        if g == last:
            return
        self.ghosts[g] = self.ghosts[last]
        self.ghost_at[self.ghosts[g]] = g
        for k in range(self.n_free):
            self.frees[k].shared[g] = self.frees[k].shared[last]

    cdef bint is_same(self, int k, int g) noexcept nogil:
        """Whether free cluster k and ghost g have the same points."""
        cdef int size = self.size[self.alive[k]]
        return self.frees[k].shared[g] == size and self.size[self.ghosts[g]] == size

    cdef void resolve(self, int k, int g) noexcept nogil:
        """Free cluster k takes the ghost's place in the rest of the sequence."""
        cdef int ghost = self.ghosts[g], node = self.alive[k]
        cdef int parent = self.parent[ghost]
        self.parent[node] = parent
        if parent >= 0:
            if self.left[parent] == ghost:
                self.left[parent] = node
            else:
                self.right[parent] = node
            self.loss.join(parent, self.left[parent], self.right[parent])
        # Its row holds the lines of the time when it is merged.
        self.row[node], self.row[ghost] = self.row[ghost], self.row[node]
        self.drop_ghost(g)
        self.set_bound(k)

    # The first run.

    cdef int play(self, const int[:, ::1] children) except -1 nogil:
        """Carry out the run at 0, so that every line and certificate is there.

        When m clusters are alive they have the first m slots. Two of them have their
        line in the row of the one with the higher slot, until one is merged.
        """
        cdef int place, side, child
        self.load_points(children)
        self.n_alive = self.n_points
        for place in range(self.n_points):
            self.put(place, self.slot[place])
        for place in range(self.n_points - 1):
            for side in range(2):
                child = children[place, side]
                if child >= self.n_points:
                    child = self.repaired[child - self.n_points]
                self.move_to_front(child)
                self.load_first_lines(side)
            self.first_merge()
            self.poll.spend(4 * self.n_alive)
        for place in range(self.n_points - 1):
            self.sequence[place] = self.repaired[place]
        return 0

    cdef void load_first_lines(self, int k) noexcept nogil:
        """Collect the lines of one of the two clusters that are merged, in its row."""
        cdef int a, c, slot, n_parts = self.n_parts, own_slot = self.slot_at[k]
        cdef double* row = self.row[self.alive[k]]
        cdef double* planes = self.frees[k].lines
        cdef double* second = planes + self.stride
        cdef double* own
        cdef const double* entry
        for a in range(self.n_alive):
            slot = self.slot_at[a]
            own = row + <Py_ssize_t> slot * n_parts
            entry = own
            if slot > own_slot:
                entry = self.row[self.alive[a]] + <Py_ssize_t> own_slot * n_parts
            own[0] = planes[a] = entry[0]
            own[1] = second[a] = entry[1]
            for c in range(2, n_parts):
                own[c] = planes[c * self.stride + a] = entry[c]
        self.show(k)

    cdef int first_merge(self) except -1 nogil:
        """Merge the only two free clusters into one that is not free."""
        cdef int node = self.new_cluster(0, 1), a, c, slot = self.slot[node]
        cdef double* entry
        self.emit(node)
        self.join_lines(0, 1)
        for a in range(2, self.n_alive):
            entry = self.row[node] + <Py_ssize_t> self.slot_at[a] * self.n_parts
            if self.slot_at[a] > slot:
                entry = self.row[self.alive[a]] + <Py_ssize_t> slot * self.n_parts
            for c in range(self.n_parts):
                entry[c] = self.frees[0].lines[c * self.stride + a]
        self.n_free = 0
        self.n_alive -= 1
        self.share[node] = 1.0 / self.size[node]
        self.put(self.alive[self.n_alive], 1)
        self.put(node, 0)
        return 0
