"""Single linkage on two metrics: the parametric minimum spanning tree.

Invariant: each node of the cluster tree has the nearest point pair between its
children as its edge, and comes before its parent, both just right of t. Then the
edges are a minimum spanning tree, and the tree is that of single linkage: any other
pair of points is no nearer than the edge of the node where they meet. An edge gives
way when another pair between the same children gets nearer, and a node and its parent
rotate when they change order. Cost: the point pairs between the children of the nodes
that change, at most O(n^2) a change and far less for most; O(n) memory.
"""

cimport cython
from libc.stdlib cimport free

from .memory cimport allocate
from .predicates cimport (
    Expansion, NEVER, TOLERANCE, crossing_bound, first_negative, gap_of_lines,
    order_at,
)
from .tree_sweep cimport TreeSweep


@cython.final
cdef class SpanningTree(TreeSweep):
    """The sweep over [0, 1] for single linkage on two metrics."""

    cdef const double[:, ::1] distances
    cdef int* near              # the edge of a node: its point in the left child,
    cdef int* far               # and in the right one
    cdef double* edge_until     # when another pair gets nearer
    cdef double* below_until    # when the node and its parent change order
    cdef int root

    def __cinit__(self, const double[:, ::1] distances, *args):
        self.distances = distances
        self.root = max(2 * self.n_points - 2, 0)
        self.near = <int*> allocate(self.room, sizeof(int))
        self.far = <int*> allocate(self.room, sizeof(int))
        self.edge_until = <double*> allocate(self.room, sizeof(double))
        self.below_until = <double*> allocate(self.room, sizeof(double))

    def __dealloc__(self):
        free(self.near)
        free(self.far)
        free(self.edge_until)
        free(self.below_until)

    cdef int sweep(self) except -1 nogil:
        """From 0 to 1, one change after the other."""
        cdef int node
        cdef bint is_edge
        while True:
            node = self.next_change(&is_edge)
            if node < 0:
                return self.settle(1.0)
            if is_edge:
                self.change_edge(node)
            elif self.compare_merges(self.parent[node], node) < 0:
                self.settle(self.t)
                self.rotate(node)
                self.pieces.n_events += 1
            else:
                self.below_until[node] = self.merge_crossing(self.parent[node], node)
            self.poll.spend(2 * self.n_points)

    cdef int settle(self, double until) except -1 nogil:
        self.list_merges()
        return TreeSweep.settle(self, until)

    cdef int next_change(self, bint* is_edge) noexcept nogil:
        """The node to look at next, and move there; edges before order."""
        cdef double until = 1.0
        cdef int node, found = -1
        for node in range(self.n_points, 2 * self.n_points - 1):
            if self.edge_until[node] < until:
                until = self.edge_until[node]
                found = node
        is_edge[0] = True
        for node in range(self.n_points, 2 * self.n_points - 2):
            if self.below_until[node] < until:
                until = self.below_until[node]
                found = node
                is_edge[0] = False
        if found >= 0 and until > self.t:
            self.move_to(until)
        return found

    cdef inline Py_ssize_t pair(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """Place of a point pair in condensed distances, which is also its rank."""
        if i > j:
            i, j = j, i
        return i * self.n_points - i * (i + 1) // 2 + j - i - 1

    cdef int compare_pairs(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """-1 if point pair a is nearer than b just right of t, else 1; exact."""
        cdef Expansion start, end
        cdef int s
        gap_of_lines(
            self.distances[0, a], self.distances[1, a],
            self.distances[0, b], self.distances[1, b], &start, &end,
        )
        s = order_at(&start, &end, self.t)
        return s if s != 0 else -1 if a < b else 1

    cdef double pair_crossing(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """From which parameter on point pair a is nearer than b, exactly."""
        cdef Expansion start, end
        gap_of_lines(
            self.distances[0, a], self.distances[1, a],
            self.distances[0, b], self.distances[1, b], &start, &end,
        )
        return first_negative(&start, &end)

    cdef Py_ssize_t edge(self, int node) noexcept nogil:
        return self.pair(self.near[node], self.far[node])

    cdef int compare_merges(self, int u, int v) noexcept nogil:
        return self.compare_pairs(self.edge(u), self.edge(v))

    cdef double merge_crossing(self, int u, int v) noexcept nogil:
        return self.pair_crossing(self.edge(u), self.edge(v))

    cdef int change_edge(self, int node) except -1 nogil:
        """Another point pair is the nearest between the node's children."""
        if self.loss.uses_cut:
            self.settle(self.t)
        self.find_edge(node)
        self.order_around(node)
        return 0

    cdef int find_edge(self, int node) except -1 nogil:
        """The nearest point pair between the node's children, and until when."""
        cdef int n_left = self.list_members(self.left[node], self.members)
        cdef int* right = self.members + n_left
        cdef int n_right = self.list_members(self.right[node], right), a, b
        cdef double value, best = 0.0, margin = 0.0, until = NEVER, p, q
        cdef Py_ssize_t pair, found = -1
        self.poll.spend(2 * <long long> n_left * n_right)
        for a in range(n_left):
            for b in range(n_right):
                pair = self.pair(self.members[a], right[b])
                value = self.mix(self.distances[0, pair], self.distances[1, pair])
                if found >= 0 and value >= best - margin:
                    if value > best + margin or self.compare_pairs(pair, found) > 0:
                        continue
                found = pair
                best = value
                margin = TOLERANCE * value
                self.near[node] = self.members[a]
                self.far[node] = right[b]
        p = self.distances[0, found]
        q = self.distances[1, found]
        for a in range(n_left):
            for b in range(n_right):
                pair = self.pair(self.members[a], right[b])
                if pair != found and crossing_bound(
                    p, q, self.distances[0, pair], self.distances[1, pair], 0.0
                ) < until:
                    until = min(until, self.pair_crossing(pair, found))
        self.start[node] = p
        self.end[node] = q
        self.edge_until[node] = until
        return 0

    cdef void order_around(self, int node) noexcept nogil:
        """When a node with a new edge, or its children, change order with parents."""
        self.order_below(self.left[node])
        self.order_below(self.right[node])
        if node != self.root:
            self.order_below(node)

    cdef void order_below(self, int node) noexcept nogil:
        if node < self.n_points:
            return
        # A node that is behind its parent already is looked at where t stands.
        if self.compare_merges(self.parent[node], node) < 0:
            self.below_until[node] = self.t
        else:
            self.below_until[node] = self.merge_crossing(self.parent[node], node)

    cdef int rotate(self, int node) except -1 nogil:
        """The parent's edge comes first now: its points' clusters merge first.

        A node over A and B under a parent that adds C becomes one over A and C,
        where the parent's edge leads from C to A, under a parent that adds B.
        """
        cdef int parent = self.parent[node]
        cdef int other = self.left[parent]
        cdef int kept = self.left[node], freed = self.right[node]
        if other == node:
            other = self.right[parent]
        if self.is_above(freed, self.near[parent]) or self.is_above(
            freed, self.far[parent]
        ):
            kept, freed = freed, kept
        self.adopt(node, kept, other)
        self.adopt(parent, node, freed)
        self.find_edge(node)
        self.find_edge(parent)
        self.order_around(node)
        self.order_around(parent)
        return 0

    cdef void adopt(self, int node, int left, int right) noexcept nogil:
        self.left[node] = left
        self.right[node] = right
        self.parent[left] = self.parent[right] = node
        self.size[node] = self.size[left] + self.size[right]
        self.loss.join(node, left, right)

    cdef bint is_above(self, int node, int point) noexcept nogil:
        """Whether a point is in a cluster."""
        while point != node and point != self.root:
            point = self.parent[point]
        return point == node

    cdef void list_merges(self) noexcept nogil:
        """Put the merges in `sequence`, children before parents."""
        cdef int place = self.n_points - 2, done, node
        if place < 0:
            return
        # Filled from the end: a node's children go before all that stand there.
        self.sequence[place] = self.root
        for done in range(self.n_points - 2, -1, -1):
            for node in range(2):
                node = (self.right if node else self.left)[self.sequence[done]]
                if node >= self.n_points:
                    place -= 1
                    self.sequence[place] = node

    cdef int play(self, const int[:, ::1] children) except -1 nogil:
        """Take the run at 0, with every edge and order."""
        cdef int step, n = self.n_points
        for step in range(n - 1):
            self.adopt(n + step, children[step, 0], children[step, 1])
            self.find_edge(n + step)
        for step in range(n - 2):
            self.order_below(n + step)
        return 0
