"""A cluster tree that changes along the parameter, and the losses it takes on.

Invariant: the tree has stood since `since`, and `pieces` holds the losses before. A
loss of the flat clusters may change while the tree stands, where a merge above the
cut gets below one beneath it: only the k - 1 merges that are undone and the k that
are cut off can do that first. Cost: O(k^2) a tree for such a loss, O(1) for others.
"""

from libc.math cimport fabs
from libc.stdlib cimport free

from .interrupts cimport Poll
from .memory cimport allocate
from .pieces cimport Pieces
from .predicates cimport NEVER, TOLERANCE, crossing_bound
from .pruning cimport MergeTree, TreeLoss


cdef class TreeSweep:
    """What engines that follow one tree from parameter 0 to 1 have in common.

    Leaves are nodes 0..n-1, and there is room for 3 n + 1 nodes.

    Parameters
    ----------
    distances : (n_metrics, n_pairs) array
        Condensed distances.
    n_points : int
    kinds : (2,) array
        Codes of the merge functions at parameter 0 and 1. With two metrics each one
        reads its own.
    sum_width, slack : int, float
        As in `fixed_linkage`.
    loss : TreeLoss
    """

    def __cinit__(
        self, distances, int n_points, kinds, sum_width, slack, TreeLoss loss, *args
    ):
        self.n_points = n_points
        self.room = 3 * n_points + 1
        self.loss = loss
        self.poll = Poll()
        self.pieces = Pieces(loss)
        loss.reserve(self.room)
        self.left = <int*> allocate(self.room, sizeof(int))
        self.right = <int*> allocate(self.room, sizeof(int))
        self.parent = <int*> allocate(self.room, sizeof(int))
        self.size = <int*> allocate(self.room, sizeof(int))
        self.members = <int*> allocate(self.room, sizeof(int))
        self.start = <double*> allocate(self.room, sizeof(double))
        self.end = <double*> allocate(self.room, sizeof(double))
        self.height = <double*> allocate(self.room, sizeof(double))
        self.sequence = <int*> allocate(n_points, sizeof(int))
        self.order = <int*> allocate(n_points, sizeof(int))
        self.cut = <int*> allocate(n_points, sizeof(int))
        self.undone = <int*> allocate(n_points, sizeof(int))
        for node in range(n_points):
            self.size[node] = 1
        self.move_to(0.0)

    def __dealloc__(self):
        free(self.left)
        free(self.right)
        free(self.parent)
        free(self.size)
        free(self.members)
        free(self.start)
        free(self.end)
        free(self.height)
        free(self.sequence)
        free(self.order)
        free(self.cut)
        free(self.undone)

    def run(self, const int[:, ::1] children):
        """Compute the loss of every tree of the family.

        Parameters
        ----------
        children : (n_points - 1, 2) array
            The merges of the run at parameter 0 by scipy's ids, in greedy order.

        Returns
        -------
        Pieces
            The loss by parameter; `n_events` counts the changes of the tree.
        """
        with nogil:
            self.play(children)
            self.sweep()
        return self.pieces

    cdef int play(self, const int[:, ::1] children) except -1 nogil:
        return 0

    cdef int sweep(self) except -1 nogil:
        return 0

    cdef void move_to(self, double t) noexcept nogil:
        self.t = t
        self.rest = 1.0 - t

    cdef int compare_merges(self, int u, int v) noexcept nogil:
        """-1 if merge u comes before merge v just right of t, else 1; exact."""
        return 0

    cdef double merge_crossing(self, int u, int v) noexcept nogil:
        """From which parameter on merge u is below merge v, exactly."""
        return NEVER

    cdef int settle(self, double until) except -1 nogil:
        """The tree stood from `since` until there: take its loss."""
        cdef MergeTree tree
        if self.since >= until:
            return 0
        tree.n_leaves = self.n_points
        tree.left = self.left
        tree.right = self.right
        tree.order = self.sequence
        tree.height = self.height
        tree.cut = self.cut
        if self.loss.uses_heights:
            self.poll.spend(self.n_points)
            self.move_to(self.since)
            self.sort_by_height()
            tree.order = self.order
        if not self.loss.uses_cut:
            self.pieces.add(self.since, &tree)
            self.since = until
        while self.since < until:
            self.move_to(self.since)
            self.since = min(self.find_cut(self.loss.n_labels), until)
            self.poll.spend(<long long> self.loss.n_labels * self.loss.n_labels)
            self.pieces.add(self.t, &tree)
        self.move_to(until)
        return 0

    cdef double find_cut(self, int k) noexcept nogil:
        """Undo the k - 1 highest merges; return until when these are the highest."""
        cdef int n_cut = 1, i, node, highest
        cdef double until = 1.0
        self.cut[0] = self.sequence[self.n_points - 2] if self.n_points > 1 else 0
        while n_cut < k:
            highest = -1
            for i in range(n_cut):
                if self.cut[i] >= self.n_points and (
                    highest < 0 or self.is_higher(self.cut[i], self.cut[highest])
                ):
                    highest = i
            node = self.cut[highest]
            self.undone[n_cut - 1] = node
            self.cut[highest] = self.left[node]
            self.cut[n_cut] = self.right[node]
            n_cut += 1
        for i in range(k - 1):
            for highest in range(k):
                if self.cut[highest] >= self.n_points:
                    until = self.swap_before(self.undone[i], self.cut[highest], until)
        return until

    cdef bint is_higher(self, int u, int v) noexcept nogil:
        """Whether merge u comes after merge v in the greedy run."""
        cdef double a = self.mix(self.start[u], self.end[u])
        cdef double b = self.mix(self.start[v], self.end[v])
        if fabs(a - b) > TOLERANCE * max(a, b) + self.slack:
            return a > b
        return self.compare_merges(u, v) > 0

    cdef double swap_before(self, int u, int v, double until) noexcept nogil:
        """Until when merge u stays above merge v, if before `until`."""
        cdef double bound = crossing_bound(
            self.start[v], self.end[v], self.start[u], self.end[u], self.slack
        )
        if bound >= until:
            return until
        bound = self.merge_crossing(u, v)
        return bound if self.t < bound < until else until

    cdef void sort_by_height(self) noexcept nogil:
        """Put the merges in `order` by height; a nearly sorted list stays cheap."""
        cdef int place, node, to
        cdef double height
        for place in range(self.n_points - 1):
            node = self.sequence[place]
            height = self.mix(self.start[node], self.end[node])
            height = max(
                height, max(self.height[self.left[node]], self.height[self.right[node]])
            )
            self.height[node] = height
            to = place
            while to > 0 and self.height[self.order[to - 1]] > height:
                self.order[to] = self.order[to - 1]
                to -= 1
            self.order[to] = node

    cdef int list_members(self, int node, int* members) noexcept nogil:
        """Write the points of a cluster, return how many."""
        cdef int done = 0, waiting = 1
        # Unfinished nodes stand behind the finished points; together they never
        # outnumber the cluster's points.
        members[0] = node
        while done < waiting:
            node = members[done]
            if node < self.n_points:
                done += 1
            else:
                members[done] = self.left[node]
                members[waiting] = self.right[node]
                waiting += 1
        return done
