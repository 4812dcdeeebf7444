"""The kinetic engine for families that are not reducible: one greedy run, repaired.

Invariant: `sequence` is the greedy run just right of t, and `fails[x]` is no later
than where a pair of cluster x and an older one gets nearer than a merge made while
both are alive. A repair starts where the first pair does so, and makes greedy steps
until both runs have the same clusters again. Meanwhile a cluster is

- *fresh* if only the new run has it;
- *used* if the new run has merged it and the old one has not (yet);
- a *ghost* if it is a merge of the old run that the new one has not made (yet).

The next step is the old run's next merge, which is the nearest of all pairs that both
runs have and whose certificates hold, or else a pair of a *watched* cluster: a fresh
one, or one that fails now. Lines are linear and their maximum is convex: a pair above
the highest merge at t and at some later parameter is above all merges in between.
Cost: O(n) for each certificate and each step of a repair, of which most take a few;
O(n^2) bytes for each part of a line.
"""

cimport cython
from libc.math cimport nextafter
from libc.stdlib cimport free

from .lines cimport MOST_PARTS, Lines
from .memory cimport allocate
from .predicates cimport (
    COMPLETE, NEVER, SINGLE, SMALLEST, TOLERANCE, add_wide, crossing_bound,
    is_quotient,
)

cdef enum Standing:
    SHARED
    FRESH
    USED
    GHOST


@cython.final
cdef class Greedy(Lines):
    """The sweep over [0, 1] for a family whose merge order matters."""

    cdef double* fails
    cdef int* death             # place of the merge that takes a cluster
    cdef int* older             # clusters older than the one that is certified,
    cdef int* last              # and the last place where both are alive
    cdef int* top               # [place] the highest merge of a cluster's life so far,
    cdef double* peak           # and its height

    cdef int failing            # where the new run begins
    cdef int n_repaired
    cdef int* repaired          # the new run from there on
    cdef int* alive
    cdef int* place             # of a cluster in `alive`, -1 once it is merged
    cdef int n_alive
    cdef int* standing
    cdef int n_lost             # clusters that only the old run has
    cdef int* ghost_of          # the ghost that has a point, -1 if none
    cdef int* watched
    cdef int* watched_at        # index in `watched`, -1 if it is not there
    cdef int n_watched
    cdef int* partner           # the cluster nearest to a watched one, -1 if unknown,
    cdef double* gap            # and how near it is
    cdef int* changed           # clusters to be certified again
    cdef bint* is_changed
    cdef int n_changed

    def __cinit__(self, *args):
        cdef int node
        self.fails = <double*> allocate(self.room, sizeof(double))
        self.death = <int*> allocate(self.room, sizeof(int))
        self.older = <int*> allocate(self.n_points, sizeof(int))
        self.last = <int*> allocate(self.n_points, sizeof(int))
        self.top = <int*> allocate(self.n_points, sizeof(int))
        self.peak = <double*> allocate(self.n_points, sizeof(double))
        self.repaired = <int*> allocate(self.n_points, sizeof(int))
        self.alive = <int*> allocate(self.n_points, sizeof(int))
        self.place = <int*> allocate(self.room, sizeof(int))
        self.standing = <int*> allocate(self.room, sizeof(int))
        self.ghost_of = <int*> allocate(self.n_points, sizeof(int))
        self.watched = <int*> allocate(self.room, sizeof(int))
        self.watched_at = <int*> allocate(self.room, sizeof(int))
        self.partner = <int*> allocate(self.room, sizeof(int))
        self.gap = <double*> allocate(self.room, sizeof(double))
        self.changed = <int*> allocate(self.room, sizeof(int))
        self.is_changed = <bint*> allocate(self.room, sizeof(bint))
        for node in range(self.room):
            self.watched_at[node] = -1
            self.fails[node] = NEVER
        for node in range(self.n_points):
            self.ghost_of[node] = -1

    def __dealloc__(self):
        free(self.fails)
        free(self.death)
        free(self.older)
        free(self.last)
        free(self.top)
        free(self.peak)
        free(self.repaired)
        free(self.alive)
        free(self.place)
        free(self.standing)
        free(self.ghost_of)
        free(self.watched)
        free(self.watched_at)
        free(self.partner)
        free(self.gap)
        free(self.changed)
        free(self.is_changed)

    cdef int play(self, const int[:, ::1] children) except -1 nogil:
        """Carry out the run at 0, so that every line and certificate is there."""
        cdef int step, side, node
        cdef int child[2]
        self.n_alive = self.n_points
        for node in range(self.n_points):
            self.alive[node] = self.place[node] = node
        for step in range(self.n_points - 1):
            for side in range(2):
                child[side] = children[step, side]
                if child[side] >= self.n_points:
                    child[side] = self.repaired[child[side] - self.n_points]
            self.new_cluster(child[0], child[1])
        self.finish_repair()
        for node in range(self.n_nodes):
            self.fails[node] = self.certify(node)
        return 0

    cdef int sweep(self) except -1 nogil:
        """From 0 to 1, one repair after the other."""
        cdef Py_ssize_t n_steps = 0
        cdef double until
        cdef int node, place
        while True:
            until = NEVER
            for node in range(self.n_nodes):
                until = min(until, self.fails[node])
            if until >= 1.0:
                return self.settle(1.0)
            if until > self.t:
                self.move_to(until)
            place = self.first_failure()
            if place >= 0:
                self.settle(self.t)
                self.repair(place)
                self.pieces.n_events += 1
            n_steps += 1
            if n_steps % 64 == 0:
                self.pieces.check_signals()

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

    # Lines.

    cdef inline void show(
        self, int x, int y, double* start, double* end
    ) noexcept nogil:
        """The line of two clusters, to within the filter's error."""
        cdef const double* entry
        if x < self.n_points and y < self.n_points:
            start[0] = self.distance(0, x, y)
            end[0] = self.distance(1, x, y)
            return
        entry = self.entry(x, y)
        start[0] = entry[self.offset[0]]
        end[0] = entry[self.offset[1]]
        if is_quotient(self.kind[0]):
            start[0] /= self.below(x, y)
        if is_quotient(self.kind[1]):
            end[0] /= self.below(x, y)

    cdef inline double value(self, int x, int y) noexcept nogil:
        cdef double start, end
        self.show(x, y, &start, &end)
        return self.mix(start, end)

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

    cdef inline bint is_older(self, int x, int y) noexcept nogil:
        """Whether the certificate of y is to cover the pair."""
        if self.position[x] == self.position[y]:
            return x < y
        return self.position[x] < self.position[y]

    # Certificates.

    cdef int find_older(self, int x) noexcept nogil:
        """List the clusters older than x and alive beside it, return how many."""
        cdef int birth = self.position[x], death = self.death[x], i, y, n_older = 0
        for i in range(self.n_points + max(birth, 0)):
            y = i
            if i >= self.n_points:
                y = self.sequence[i - self.n_points]
            elif birth < 0 and i >= x:
                break
            if self.death[y] > birth:
                self.older[n_older] = y
                # Nothing is to be compared with itself.
                self.last[n_older] = min(
                    self.death[y], death - (self.parent[x] == self.parent[y])
                )
                n_older += 1
        return n_older

    cdef inline bint is_tied(self, int u, int v) noexcept nogil:
        """Whether two merges of points have the same line: many do, in real data."""
        return (
            self.size[u] == 2 and self.size[v] == 2
            and self.start[u] == self.start[v] and self.end[u] == self.end[v]
        )

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

    cdef inline bint may_be_nearer(self, double value, int place) noexcept nogil:
        return value <= self.peak[place] + (TOLERANCE * value + self.slack)

    cdef void move_before(self, double t) noexcept nogil:
        """Decide as at the last parameter before t."""
        self.move_to(nextafter(t, 0.0) if t > SMALLEST else 0.0)

    cdef double certify(self, int x) noexcept nogil:
        """When a pair of x and an older cluster gets nearer than a merge."""
        cdef int birth = self.position[x] + 1, death = self.death[x], top, i, y
        cdef int n_older = self.find_older(x)
        cdef double now = self.t, start, end, until = 1.0, crossing
        self.move_before(until)
        self.climb(birth, death)
        for i in range(n_older):
            if self.last[i] < birth:
                continue
            y = self.older[i]
            self.show(x, y, &start, &end)
            while self.may_be_nearer(self.mix(start, end), self.last[i]):
                top = self.top[self.last[i]]
                crossing = crossing_bound(
                    self.start[top], self.end[top], start, end, self.slack
                )
                if crossing <= now:
                    crossing = self.crossing(x, y, self.left[top], self.right[top])
                if crossing >= until:
                    break
                until = crossing
                if until <= now:
                    self.move_to(now)
                    return until
                self.move_before(until)
                self.climb(birth, death)
        self.move_to(now)
        return until if until < 1.0 else NEVER

    cdef int failing_place(self, int x) noexcept nogil:
        """The first merge that a pair of x and an older cluster is nearer than."""
        cdef int birth = self.position[x] + 1, place = self.n_points - 1, i, last
        cdef int n_older = self.find_older(x)
        self.climb(birth, self.death[x])
        for i in range(n_older):
            last = min(self.last[i], place - 1)
            while last >= birth and self.is_nearer(x, self.older[i], last):
                place = self.position[self.top[last]]
                last = place - 1
        return place

    cdef bint is_nearer(self, int x, int y, int place) noexcept nogil:
        """Whether two clusters are nearer than the highest merge up to `place`."""
        cdef int top = self.top[place]
        return self.may_be_nearer(self.value(x, y), place) and self.compare(
            x, y, self.left[top], self.right[top]
        ) < 0

    cdef int first_failure(self) noexcept nogil:
        """Place of the first merge that is not the nearest pair, -1 if there is none.

        Certificates that are only too careful are renewed.
        """
        cdef int never = self.n_points - 1, first = never, node, place
        for node in range(self.n_nodes):
            if self.fails[node] <= self.t:
                place = self.failing_place(node)
                first = min(first, place)
                if place == never:
                    self.fails[node] = self.certify(node)
        return first if first < never else -1

    # Repairs.

    cdef int repair(self, int place) except -1 nogil:
        """Make greedy steps from `place` on until the old run goes on as it was."""
        cdef int x, node
        self.failing = place
        self.n_repaired = 0
        self.gather_alive(place)
        while True:
            x = self.nearest_watched()
            node = self.sequence[place] if place < self.n_points - 1 else -1
            if x >= 0 and (node < 0 or self.precedes(x, node)):
                self.merge(x, self.partner[x], node)
            elif node >= 0:
                self.keep(node)
                place += 1
            else:
                with gil:
                    raise RuntimeError("the repaired run did not end in one cluster")
            while place < self.n_points - 1 and self.is_lost(self.sequence[place]):
                self.lose(self.sequence[place])
                place += 1
            if self.n_lost == 0:
                return self.finish_repair()

    cdef int finish_repair(self) except -1 nogil:
        cdef int i, node
        for i in range(self.n_repaired):
            self.sequence[self.failing + i] = self.repaired[i]
        while self.n_watched:
            self.unwatch(self.watched[0])
        for i in range(self.n_changed):
            node = self.changed[i]
            self.is_changed[node] = False
            self.fails[node] = self.certify(node)
        self.n_changed = 0
        return 0

    cdef void gather_alive(self, int place) noexcept nogil:
        """The clusters before the merge at `place`: those that later merges take."""
        cdef int later, node, side, child
        self.n_alive = 0
        for later in range(place, self.n_points - 1):
            node = self.sequence[later]
            for side in range(2):
                child = self.right[node] if side else self.left[node]
                if self.position[child] < place:
                    self.alive[self.n_alive] = child
                    self.place[child] = self.n_alive
                    self.n_alive += 1
                    if self.fails[child] <= self.t:
                        self.watch(child)

    cdef int new_cluster(self, int x, int y) except -1 nogil:
        """Merge two clusters in the new run."""
        cdef int node = self.new_node(), a
        self.unite(node, x, y)
        self.death[node] = self.n_points - 1
        self.show(x, y, self.start + node, self.end + node)
        self.fails[node] = NEVER
        self.loss.join(node, x, y)
        self.emit(node)
        for a in range(self.n_alive):
            if self.alive[a] != node:
                self.join_lines(x, y, self.alive[a], node)
        return node

    cdef void emit(self, int node) noexcept nogil:
        """A merge is the next step of the new run."""
        cdef int a = self.place[self.left[node]], b = self.place[self.right[node]]
        self.repaired[self.n_repaired] = node
        self.position[node] = self.failing + self.n_repaired
        self.death[self.left[node]] = self.death[self.right[node]] = self.position[node]
        self.n_repaired += 1
        self.n_alive -= 1
        self.alive[a] = node
        self.place[node] = a
        self.alive[b] = self.alive[self.n_alive]
        self.place[self.alive[b]] = b
        self.place[self.left[node]] = self.place[self.right[node]] = -1

    cdef int merge(self, int x, int y, int rival) except -1 nogil:
        """A step of the new run; `rival` is the old run's next merge, -1 if none."""
        cdef double start, end, bound
        cdef int node, a
        self.show(x, y, &start, &end)
        self.compete(x, y, start, end)
        if rival >= 0:
            # The rival holds against all pairs that both runs have; so does what is
            # below it.
            bound = crossing_bound(
                start, end, self.start[rival], self.end[rival], self.slack
            )
            for a in range(self.n_alive):
                node = self.alive[a]
                self.fails[node] = min(self.fails[node], bound)
        node = self.new_cluster(x, y)
        self.use(x)
        self.use(y)
        self.standing[node] = FRESH
        self.watch(node)
        self.offer(node)
        a = self.ghost_of[self.first[node]]
        if a >= 0 and self.is_same(node, a):
            self.take_over(node, a)
        return 0

    cdef void use(self, int child) noexcept nogil:
        """The new run has merged a cluster."""
        if self.standing[child] == FRESH:
            self.standing[child] = SHARED
        else:
            self.standing[child] = USED
            self.n_lost += 1
        self.unwatch(child)

    cdef void keep(self, int node) noexcept nogil:
        """The next merge of the old run is the next step of the new one."""
        cdef int left = self.left[node], right = self.right[node], i, other
        self.compete(left, right, self.start[node], self.end[node])
        self.emit(node)
        for i in range(self.n_watched):
            other = self.watched[i]
            if self.standing[other] == FRESH:
                self.join_lines(left, right, other, node)
        self.unwatch(left)
        self.unwatch(right)
        if self.fails[node] <= self.t:
            self.watch(node)
        self.offer(node)

    cdef void compete(self, int x, int y, double start, double end) noexcept nogil:
        """Pairs of a fresh and a younger cluster compete with the merge of x and y.

        Pairs of a fresh and an older one are left to the certificate it will get.
        """
        cdef int i, a, fresh, other
        cdef double p, q, until, limit
        for i in range(self.n_watched):
            fresh = self.watched[i]
            if self.standing[fresh] != FRESH:
                continue
            for a in range(self.n_alive):
                other = self.alive[a]
                if self.is_changed[other] or not self.is_older(fresh, other):
                    continue
                if (fresh == x and other == y) or (fresh == y and other == x):
                    continue
                self.show(fresh, other, &p, &q)
                until = min(self.fails[other], 1.0)
                limit = (1.0 - until) * start + until * end
                if (1.0 - until) * p + until * q <= limit + (
                    TOLERANCE * limit + self.slack
                ):
                    self.fails[other] = min(
                        self.fails[other],
                        crossing_bound(start, end, p, q, self.slack),
                    )

    # Clusters that the two runs do not share.

    cdef bint is_lost(self, int node) noexcept nogil:
        """Whether the new run does not have both children of an old merge (any more)."""
        return (
            self.standing[self.left[node]] >= USED
            or self.standing[self.right[node]] >= USED
        )

    cdef int lose(self, int node) except -1 nogil:
        """The old run makes a merge that the new one cannot make."""
        cdef int i
        self.haunt(self.left[node], node)
        self.haunt(self.right[node], node)
        self.standing[node] = GHOST
        self.n_lost += 1
        for i in range(self.n_watched):
            if self.standing[self.watched[i]] == FRESH and self.is_same(
                self.watched[i], node
            ):
                self.take_over(self.watched[i], node)
                break
        return 0

    cdef int haunt(self, int child, int ghost) except -1 nogil:
        """The points of a child become those of a ghost."""
        cdef int i, n_members
        if self.standing[child] == GHOST:
            for i in range(self.n_points):
                if self.ghost_of[i] == child:
                    self.ghost_of[i] = ghost
            self.release(child)
            return 0
        n_members = self.list_members(child, self.members)
        for i in range(n_members):
            self.ghost_of[self.members[i]] = ghost
        if self.standing[child] == USED:
            self.standing[child] = SHARED
            self.n_lost -= 1
        else:
            self.standing[child] = FRESH
            self.watch(child)
        return 0

    cdef void release(self, int ghost) noexcept nogil:
        self.standing[ghost] = SHARED
        self.fails[ghost] = NEVER
        self.n_lost -= 1
        self.give_back(ghost)

    cdef bint is_same(self, int node, int ghost) noexcept nogil:
        """Whether a cluster and a ghost have the same points."""
        cdef int i
        if self.size[node] != self.size[ghost] or self.first[node] != self.first[ghost]:
            return False
        self.list_members(node, self.members)
        for i in range(self.size[node]):
            if self.ghost_of[self.members[i]] != ghost:
                return False
        return True

    cdef int take_over(self, int node, int ghost) except -1 nogil:
        """A fresh cluster takes the place of a ghost in the rest of the sequence."""
        cdef int parent = self.parent[ghost], i, other
        self.parent[node] = parent
        self.death[node] = self.death[ghost]
        if parent >= 0:
            if self.left[parent] == ghost:
                self.left[parent] = node
            else:
                self.right[parent] = node
            self.loss.join(parent, self.left[parent], self.right[parent])
        for i in range(self.n_points):
            if self.ghost_of[i] == ghost:
                self.ghost_of[i] = -1
        self.standing[node] = SHARED
        self.fails[node] = self.fails[ghost]
        # What was older than the ghost may be younger than the cluster.
        for i in range(self.n_alive):
            other = self.alive[i]
            if self.is_older(node, other):
                self.fails[other] = min(self.fails[other], self.fails[ghost])
        if self.fails[node] > self.t:
            self.unwatch(node)
        self.release(ghost)
        return 0

    # Watched clusters.

    cdef void watch(self, int node) noexcept nogil:
        """Look for the nearest partner of a cluster from now on."""
        if not self.is_changed[node]:
            self.is_changed[node] = True
            self.changed[self.n_changed] = node
            self.n_changed += 1
        if self.watched_at[node] < 0:
            self.watched_at[node] = self.n_watched
            self.watched[self.n_watched] = node
            self.n_watched += 1
            self.partner[node] = -1

    cdef void unwatch(self, int node) noexcept nogil:
        cdef int i = self.watched_at[node], last
        if i < 0:
            return
        self.n_watched -= 1
        last = self.watched[self.n_watched]
        self.watched[i] = last
        self.watched_at[last] = i
        self.watched_at[node] = -1

    cdef void find_partner(self, int x) noexcept nogil:
        """Find the cluster nearest to a watched one."""
        cdef int a
        for a in range(self.n_alive):
            if self.alive[a] != x:
                self.suggest(x, self.alive[a])

    cdef void suggest(self, int x, int y) noexcept nogil:
        """Make y the partner of x if it is nearer."""
        cdef double value = self.value(x, y), margin
        if self.partner[x] >= 0:
            margin = TOLERANCE * value + self.slack
            if value > self.gap[x] + margin or (
                value >= self.gap[x] - margin
                and self.compare(x, y, x, self.partner[x]) > 0
            ):
                return
        self.partner[x] = y
        self.gap[x] = value

    cdef void offer(self, int node) noexcept nogil:
        """Two clusters are one now: watched ones may have another partner."""
        cdef int i, x
        for i in range(self.n_watched):
            x = self.watched[i]
            if x == node or self.partner[x] < 0:
                continue
            if self.place[self.partner[x]] < 0:
                self.partner[x] = -1
            else:
                self.suggest(x, node)

    cdef int nearest_watched(self) noexcept nogil:
        """The watched cluster whose partner is nearest, -1 if there is none."""
        cdef int i, x, found = -1
        cdef double margin
        for i in range(self.n_watched):
            x = self.watched[i]
            if self.partner[x] < 0:
                self.find_partner(x)
            if self.partner[x] < 0 or self.partner[x] == found:
                continue
            margin = TOLERANCE * self.gap[x] + self.slack
            if found < 0 or self.gap[x] < self.gap[found] - margin or (
                self.gap[x] <= self.gap[found] + margin
                and self.compare(
                    x, self.partner[x], found, self.partner[found]
                ) < 0
            ):
                found = x
        return found

    cdef bint precedes(self, int x, int node) noexcept nogil:
        """Whether x and its partner are nearer than an old merge, and not the same."""
        cdef int left = self.left[node], right = self.right[node], y = self.partner[x]
        cdef double height = self.mix(self.start[node], self.end[node])
        cdef double margin = TOLERANCE * height + self.slack
        if (x == left and y == right) or (x == right and y == left):
            return False
        return self.gap[x] < height - margin or (
            self.gap[x] <= height + margin and self.compare(x, y, left, right) < 0
        )
