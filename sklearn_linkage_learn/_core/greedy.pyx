"""The kinetic engine for families that are not reducible: one greedy run, repaired.

Invariant: that of `greedy_run`, between repairs. A repair starts at the first merge
that is not the nearest pair any more, and makes greedy steps until both runs have the
same clusters again. Meanwhile a cluster is

- *shared* if both runs have it;
- *fresh* if only the new run has it;
- *used* if the new run has merged it and the old one has not (yet);
- a *ghost* if it is a merge of the old run that the new one has not made (yet).

The next step is the old run's next merge, which is the nearest of all shared pairs
whose certificates hold, or else a pair of a *watched* cluster: a fresh one, or one that
fails now. When the last ghost is found among the fresh clusters the rest of the run
stands. Cost: O(n) a step, of which most repairs take two or three; O(n^2) bytes for
each part of a line.
"""

cimport cython
from libc.stdlib cimport free

from .greedy_run cimport GreedyRun
from .memory cimport allocate
from .predicates cimport NEVER, TOLERANCE, crossing_bound

cdef enum Standing:
    SHARED
    FRESH
    USED
    GHOST

cdef struct State:
    Standing standing
    int place           # in `alive`, -1 if the new run has merged the cluster
    int watched_at      # in `watched`, -1 if it is not there
    int partner         # the cluster nearest to a watched one, -1 if unknown,
    double gap          # and how near it is
    bint is_changed     # whether the cluster is to be certified again


@cython.final
cdef class Greedy(GreedyRun):
    """The sweep over [0, 1] for a family whose merge order matters."""

    cdef State* state           # of a cluster
    cdef int* ghost_of          # the ghost that has a point, -1 if none
    cdef int* alive             # clusters of the new run
    cdef int* watched
    cdef int* changed
    cdef int* repaired          # the new run,
    cdef int failing            # from there on
    cdef int n_alive
    cdef int n_watched
    cdef int n_changed
    cdef int n_repaired
    cdef int n_lost             # clusters that only the old run has

    def __cinit__(self, *args):
        cdef int node
        self.state = <State*> allocate(self.room, sizeof(State))
        self.ghost_of = <int*> allocate(self.n_points, sizeof(int))
        self.alive = <int*> allocate(self.n_points, sizeof(int))
        self.watched = <int*> allocate(self.room, sizeof(int))
        self.changed = <int*> allocate(self.room, sizeof(int))
        self.repaired = <int*> allocate(self.n_points, sizeof(int))
        for node in range(self.room):
            self.state[node].watched_at = -1
        for node in range(self.n_points):
            self.ghost_of[node] = -1

    def __dealloc__(self):
        free(self.state)
        free(self.ghost_of)
        free(self.alive)
        free(self.watched)
        free(self.changed)
        free(self.repaired)

    cdef int play(self, const int[:, ::1] children) except -1 nogil:
        """Carry out the run at 0, so that every line and certificate is there."""
        cdef int n = self.n_points, step, left, right, node
        self.load_points(children)
        for node in range(n):
            self.put(node, node)
        self.n_alive = n
        for step in range(n - 1):
            left, right = children[step, 0], children[step, 1]
            self.new_cluster(
                left if left < n else self.repaired[left - n],
                right if right < n else self.repaired[right - n],
            )
        self.finish_repair()
        for node in range(self.n_nodes):
            self.fails[node] = self.certify(node)
            self.poll.spend(4 * self.n_points)
        return 0

    cdef int sweep(self) except -1 nogil:
        """From 0 to 1, one repair after the other."""
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
            self.poll.spend(self.n_nodes)

    cdef int repair(self, int place) except -1 nogil:
        """Make greedy steps from `place` on until the old run goes on as it was."""
        cdef int x, node
        self.failing = place
        self.n_repaired = 0
        self.gather_alive(place)
        while True:
            self.poll.spend((1 + self.n_watched) * <long long> self.n_alive)
            x = self.nearest_watched()
            node = self.sequence[place] if place < self.n_points - 1 else -1
            if x >= 0 and (node < 0 or self.precedes(x, node)):
                self.merge(x, self.state[x].partner, node)
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
            self.state[node].is_changed = False
            self.fails[node] = self.certify(node)
            self.poll.spend(4 * self.n_points)
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
                    self.put(child, self.n_alive)
                    self.n_alive += 1
                    if self.fails[child] <= self.t:
                        self.watch(child)

    cdef inline void put(self, int node, int place) noexcept nogil:
        self.alive[place] = node
        self.state[node].place = place

    # Steps.

    cdef int merge(self, int x, int y, int rival) except -1 nogil:
        """A step of the new run; `rival` is the old run's next merge, -1 if none."""
        cdef double start, end, bound
        cdef int node, a
        self.show(x, y, &start, &end)
        self.compete(x, y, start, end)
        if rival >= 0:
            # Shared pairs are no nearer than the rival, and so than what is below it.
            bound = crossing_bound(
                start, end, self.start[rival], self.end[rival], self.slack
            )
            for a in range(self.n_alive):
                node = self.alive[a]
                self.fails[node] = min(self.fails[node], bound)
        node = self.new_cluster(x, y)
        self.use(x)
        self.use(y)
        self.state[node].standing = FRESH
        self.watch(node)
        self.offer(node)
        a = self.ghost_of[self.first[node]]
        if a >= 0 and self.is_same(node, a):
            self.take_over(node, a)
        return 0

    cdef void keep(self, int node) noexcept nogil:
        """The next merge of the old run is the next step of the new one."""
        cdef int left = self.left[node], right = self.right[node], i, other
        self.compete(left, right, self.start[node], self.end[node])
        self.emit(node)
        for i in range(self.n_watched):
            other = self.watched[i]
            if self.state[other].standing == FRESH:
                self.join_lines(left, right, other, node)
        self.unwatch(left)
        self.unwatch(right)
        if self.fails[node] <= self.t:
            # What fails at this very parameter is repaired here, not once more.
            self.watch(node)
        self.offer(node)

    cdef int new_cluster(self, int x, int y) except -1 nogil:
        """Merge two clusters in the new run."""
        cdef int node = self.new_node(), a
        self.unite(node, x, y)
        self.show(x, y, self.start + node, self.end + node)
        self.fails[node] = NEVER
        self.death[node] = self.n_points - 1
        self.loss.join(node, x, y)
        self.emit(node)
        for a in range(self.n_alive):
            if self.alive[a] != node:
                self.join_lines(x, y, self.alive[a], node)
        self.poll.spend(4 * self.n_alive)
        return node

    cdef void emit(self, int node) noexcept nogil:
        """A merge is the next step of the new run."""
        cdef int left = self.left[node], right = self.right[node]
        cdef int a = self.state[left].place, b = self.state[right].place
        self.repaired[self.n_repaired] = node
        self.position[node] = self.failing + self.n_repaired
        self.n_repaired += 1
        self.death[left] = self.death[right] = self.position[node]
        self.n_alive -= 1
        self.put(self.alive[self.n_alive], b)
        self.put(node, a if a < self.n_alive else b)
        self.state[left].place = self.state[right].place = -1

    cdef void compete(self, int x, int y, double start, double end) noexcept nogil:
        """Pairs of a fresh and a younger cluster compete with the merge of x and y.

        Pairs of a fresh and an older one are left to the certificate it will get.
        """
        cdef int i, a, fresh, other
        cdef double p, q, until, limit
        for i in range(self.n_watched):
            fresh = self.watched[i]
            if self.state[fresh].standing != FRESH:
                continue
            for a in range(self.n_alive):
                other = self.alive[a]
                if self.state[other].is_changed or not self.is_older(fresh, other):
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

    cdef void use(self, int child) noexcept nogil:
        """The new run has merged a cluster."""
        if self.state[child].standing == FRESH:
            self.state[child].standing = SHARED
        else:
            self.state[child].standing = USED
            self.n_lost += 1
        self.unwatch(child)

    cdef bint is_lost(self, int node) noexcept nogil:
        """Whether the new run does not have both children of an old merge."""
        return (
            self.state[self.left[node]].standing >= USED
            or self.state[self.right[node]].standing >= USED
        )

    cdef void lose(self, int node) noexcept nogil:
        """The old run makes a merge that the new one cannot make."""
        cdef int i
        self.haunt(self.left[node], node)
        self.haunt(self.right[node], node)
        self.state[node].standing = GHOST
        self.n_lost += 1
        for i in range(self.n_watched):
            if self.state[self.watched[i]].standing == FRESH and self.is_same(
                self.watched[i], node
            ):
                self.take_over(self.watched[i], node)
                break

    cdef void haunt(self, int child, int ghost) noexcept nogil:
        """The points of a child become those of a ghost."""
        cdef int i, n_members
        if self.state[child].standing == GHOST:
            self.rename_ghost(child, ghost)
            return
        n_members = self.list_members(child, self.members)
        for i in range(n_members):
            self.ghost_of[self.members[i]] = ghost
        if self.state[child].standing == USED:
            self.state[child].standing = SHARED
            self.n_lost -= 1
        else:
            self.state[child].standing = FRESH
            self.watch(child)

    cdef void rename_ghost(self, int ghost, int name) noexcept nogil:
        """A ghost is part of another one, or with -1 none any more."""
        cdef int i
        for i in range(self.n_points):
            if self.ghost_of[i] == ghost:
                self.ghost_of[i] = name
        self.state[ghost].standing = SHARED
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

    cdef void take_over(self, int node, int ghost) noexcept nogil:
        """A fresh cluster takes the place of a ghost in the rest of the sequence."""
        cdef int parent = self.parent[ghost], a, other
        self.parent[node] = parent
        self.death[node] = self.death[ghost]
        if parent >= 0:
            if self.left[parent] == ghost:
                self.left[parent] = node
            else:
                self.right[parent] = node
            self.loss.join(parent, self.left[parent], self.right[parent])
        # What was older than the ghost may be younger than the cluster.
        for a in range(self.n_alive):
            other = self.alive[a]
            if self.is_older(node, other):
                self.fails[other] = min(self.fails[other], self.fails[ghost])
        self.fails[node] = self.fails[ghost]
        self.state[node].standing = SHARED
        if self.fails[node] > self.t:
            self.unwatch(node)
        self.rename_ghost(ghost, -1)

    # Watched clusters.

    cdef void watch(self, int node) noexcept nogil:
        """Keep the nearest partner of a cluster, and certify it in the end."""
        cdef State* state = self.state + node
        if not state.is_changed:
            state.is_changed = True
            self.changed[self.n_changed] = node
            self.n_changed += 1
        if state.watched_at < 0:
            state.watched_at = self.n_watched
            state.partner = -1
            self.watched[self.n_watched] = node
            self.n_watched += 1

    cdef void unwatch(self, int node) noexcept nogil:
        cdef int i = self.state[node].watched_at
        if i >= 0:
            self.n_watched -= 1
            self.watched[i] = self.watched[self.n_watched]
            self.state[self.watched[i]].watched_at = i
            self.state[node].watched_at = -1

    cdef void offer(self, int node) noexcept nogil:
        """Two clusters are one now: watched ones may have another partner."""
        cdef int i, x, partner
        for i in range(self.n_watched):
            x = self.watched[i]
            partner = self.state[x].partner
            if x == node or partner < 0:
                continue
            if self.state[partner].place < 0:
                self.state[x].partner = -1
            else:
                self.suggest(x, node)

    cdef void suggest(self, int x, int y) noexcept nogil:
        """Make y the partner of x if it is nearer."""
        cdef State* state = self.state + x
        cdef double value = self.value(x, y)
        if state.partner < 0 or self.is_nearer(
            x, y, value, x, state.partner, state.gap
        ):
            state.partner = y
            state.gap = value

    cdef int nearest_watched(self) noexcept nogil:
        """The watched cluster whose partner is nearest, -1 if there is none."""
        cdef int i, a, x, found = -1
        cdef State* state
        for i in range(self.n_watched):
            x = self.watched[i]
            state = self.state + x
            if state.partner < 0:
                for a in range(self.n_alive):
                    if self.alive[a] != x:
                        self.suggest(x, self.alive[a])
            if state.partner < 0 or state.partner == found:
                continue
            if found < 0 or self.is_nearer(
                x, state.partner, state.gap,
                found, self.state[found].partner, self.state[found].gap,
            ):
                found = x
        return found

    cdef bint precedes(self, int x, int node) noexcept nogil:
        """Whether x and its partner are nearer than an old merge, and not the same."""
        cdef int left = self.left[node], right = self.right[node]
        cdef int y = self.state[x].partner
        if (x == left and y == right) or (x == right and y == left):
            return False
        return self.is_nearer(
            x, y, self.state[x].gap,
            left, right, self.mix(self.start[node], self.end[node]),
        )
