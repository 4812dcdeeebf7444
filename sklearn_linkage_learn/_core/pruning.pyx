"""Losses of a changing cluster tree over its prunings into k subtrees.

Invariant: ``counts[v]`` holds the labels below every joined node v, and the cached
value is that of the last tree unless a watched node was joined again. A pruning into
k subtrees only reads nodes of depth < k, so evaluations do not touch what lies below.
Cost: O(k) for a join; nothing for an evaluation while the top of the tree stands, else
O(nk) for the knapsack, and O(3^k) for each top node in the subset programme.
"""

from libc.stdlib cimport free, realloc
from libc.string cimport memset

from .interrupts cimport Poll
from .memory cimport allocate

import numpy as np
from scipy.optimize import linear_sum_assignment

cdef int NEVER = -(1 << 29)
cdef int MOST_SUBSET_LABELS = 14
cdef int FEW = 2


cdef void* enlarge(void* memory, size_t size) except NULL:
    memory = realloc(memory, size)
    if memory == NULL:
        raise MemoryError()
    return memory


cdef class TreeLoss:
    """Labels below each node of a changing tree, and a value cached over it.

    The one who changes the tree joins a node again whenever its children get other
    ids or other leaves, children first. A change below then always reaches a watched
    node, or gives the tree a new root.

    Parameters
    ----------
    labels : int32 array of shape (n_leaves,)
        The target label of each leaf, coded 0..n_labels-1, each of them in use.
    n_labels : int
    """

    def __cinit__(self, const int[::1] labels, int n_labels, *args):
        cdef Py_ssize_t i
        self.n_leaves = labels.shape[0]
        self.n_labels = n_labels
        if self.n_leaves == 0:
            raise ValueError("labels is empty; a tree has at least one leaf")
        if not 1 <= n_labels <= self.n_leaves:
            raise ValueError(
                f"n_labels={n_labels} is outside 1..{self.n_leaves}, "
                "the number of leaves"
            )
        self.codes = <int*> allocate(self.n_leaves, sizeof(int))
        for i in range(self.n_leaves):
            if not 0 <= labels[i] < n_labels:
                raise ValueError(f"labels[{i}]={labels[i]} is not in 0..{n_labels - 1}")
            self.codes[i] = labels[i]
        self.poll = Poll()
        self.root = -1
        self.stale = True

    def __dealloc__(self):
        free(self.codes)
        free(self.counts)
        free(self.sizes)
        free(self.watched)
        free(self.watch_list)

    cdef int reserve(self, int n_nodes) except -1:
        cdef Py_ssize_t i, k = self.n_labels
        cdef bint first = self.capacity == 0
        if n_nodes < self.n_leaves:
            n_nodes = <int> self.n_leaves
        if n_nodes <= self.capacity:
            return 0
        self.counts = <int*> enlarge(self.counts, n_nodes * k * sizeof(int))
        self.sizes = <int*> enlarge(self.sizes, n_nodes * sizeof(int))
        self.watched = <char*> enlarge(self.watched, n_nodes)
        self.watch_list = <int*> enlarge(self.watch_list, n_nodes * sizeof(int))
        memset(self.watched + self.capacity, 0, n_nodes - self.capacity)
        if first:
            memset(self.counts, 0, self.n_leaves * k * sizeof(int))
            for i in range(self.n_leaves):
                self.counts[i * k + self.codes[i]] = 1
                self.sizes[i] = 1
        self.capacity = n_nodes
        return 0

    cdef void join(self, int node, int left, int right) noexcept nogil:
        cdef Py_ssize_t c, k = self.n_labels
        cdef int* of_node = self.counts + node * k
        cdef const int* of_left = self.counts + left * k
        cdef const int* of_right = self.counts + right * k
        cdef int total, differs = 0
        for c in range(k):
            total = of_left[c] + of_right[c]
            differs |= total ^ of_node[c]
            of_node[c] = total
        self.sizes[node] = self.sizes[left] + self.sizes[right]
        if self.watched[node] == CHILDREN or (self.watched[node] and differs):
            self.stale = True

    cdef double evaluate(self, const MergeTree* tree) except? -1 nogil:
        cdef int i, root = tree.order[self.n_leaves - 2] if self.n_leaves > 1 else 0
        if self.stale or root != self.root:
            for i in range(self.n_watched):
                self.watched[self.watch_list[i]] = 0
            self.n_watched = 0
            self.stale = True  # stays so if the computation raises
            self.value = self.compute(tree)
            self.root = root
            self.stale = False
        return self.value

    cdef void watch(self, int node, char what) noexcept nogil:
        self.watched[node] = what
        self.watch_list[self.n_watched] = node
        self.n_watched += 1

    cdef double compute(self, const MergeTree* tree) except? -1 nogil:
        with gil:
            raise NotImplementedError("TreeLoss is the base of the losses, not one")


cdef class PruningLoss(TreeLoss):
    """A loss that is the best over all prunings into n_labels subtrees."""

    def __cinit__(self, labels, n_labels, *args):
        cdef Py_ssize_t most = 2 * self.n_leaves
        self.top_node = <int*> allocate(most, sizeof(int))
        self.top_depth = <int*> allocate(most, sizeof(int))
        self.top_left = <int*> allocate(most, sizeof(int))
        self.top_room = <int*> allocate(most, sizeof(int))

    def __dealloc__(self):
        free(self.top_node)
        free(self.top_depth)
        free(self.top_left)
        free(self.top_room)

    cdef void collect(self, const MergeTree* tree) noexcept nogil:
        """List the nodes a pruning can use, breadth first, and watch the inner ones."""
        cdef int place = 0, node, depth, child, side, k = self.n_labels
        node = tree.order[self.n_leaves - 2] if self.n_leaves > 1 else 0
        self.top_node[0] = node
        self.top_depth[0] = 0
        self.top_room[0] = k
        self.n_top = 1
        while place < self.n_top:
            node = self.top_node[place]
            depth = self.top_depth[place] + 1
            self.top_left[place] = -1
            if node >= self.n_leaves and depth < k:
                self.watch(node, CHILDREN)
                self.top_left[place] = self.n_top
                for side in range(2):
                    child = tree.right[node] if side else tree.left[node]
                    self.top_node[self.n_top] = child
                    self.top_depth[self.n_top] = depth
                    self.top_room[self.n_top] = min(self.sizes[child], k - depth)
                    self.n_top += 1
            place += 1


cdef class HammingLoss(PruningLoss):
    """Least misplaced fraction over prunings and bijections, by a subset programme.

    ``table[L]`` of a node is the most points its subtree can match when the label set
    L is spread over a pruning of it into |L| subtrees. Two tables for each depth are
    enough, since the programme runs depth first.
    """

    def __cinit__(self, labels, n_labels, *args):
        cdef Py_ssize_t i, n_sets = 1 << min(self.n_labels, MOST_SUBSET_LABELS)
        if self.n_labels > MOST_SUBSET_LABELS:
            return
        self.tables = <int*> allocate(2 * self.n_labels * n_sets, sizeof(int))
        self.popcount = <unsigned char*> allocate(n_sets, 1)
        for i in range(1, n_sets):
            self.popcount[i] = self.popcount[i >> 1] + (i & 1)

    def __dealloc__(self):
        free(self.tables)
        free(self.popcount)

    cdef double compute(self, const MergeTree* tree) except? -1 nogil:
        if self.tables == NULL:
            with gil:
                raise ValueError(
                    f"n_labels={self.n_labels} is above {MOST_SUBSET_LABELS}: there "
                    "are too many label sets"
                )
        self.collect(tree)
        self.lower = misplaced(self.n_leaves, self.best_match())
        return self.lower

    cdef int best_match(self) except -1 nogil:
        """Most matched points of the collected top."""
        cdef int all_labels = (1 << self.n_labels) - 1, best = NEVER, chosen
        cdef int* left = self.tables
        cdef int* right = left + all_labels + 1
        if self.n_labels == 1:
            return <int> self.n_leaves
        self.tabulate(self.top_left[0], left)
        self.tabulate(self.top_left[0] + 1, right)
        for chosen in range(1, all_labels):
            best = max(best, left[chosen] + right[all_labels ^ chosen])
        return best

    cdef int tabulate(self, int place, int* table) except -1 nogil:
        cdef Py_ssize_t k = self.n_labels
        cdef int n_sets = 1 << self.n_labels, chosen, c
        cdef const int* counts = self.counts + self.top_node[place] * k
        cdef int* left = self.tables + 2 * self.top_depth[place] * <Py_ssize_t> n_sets
        for chosen in range(n_sets):
            table[chosen] = NEVER
        if self.top_left[place] >= 0:
            self.tabulate(self.top_left[place], left)
            self.tabulate(self.top_left[place] + 1, left + n_sets)
            self.split_sets(place, left, left + n_sets, table)
            self.poll.spend(k * n_sets)
        for c in range(self.n_labels):
            table[1 << c] = counts[c]
        return 0

    cdef void split_sets(self, int place, const int* left, const int* right,
                         int* table) noexcept nogil:
        """Best split of every label set that fits the node between its children."""
        cdef int room = self.top_room[place], n_sets = 1 << self.n_labels
        cdef int in_left = self.top_room[self.top_left[place]]
        cdef int in_right = self.top_room[self.top_left[place] + 1]
        cdef int labels, chosen, best, rest, start
        cdef const int* small
        cdef const int* large
        if min(in_left, in_right) <= FEW:
            # A child with room for few labels: walk its sets, and what others remain.
            small = left if in_left <= in_right else right
            large = right if in_left <= in_right else left
            in_left = min(in_left, in_right)
            for chosen in range(1, n_sets):
                if self.popcount[chosen] > in_left:
                    continue
                start = small[chosen]
                rest = labels = (n_sets - 1) ^ chosen
                while rest:
                    table[chosen | rest] = max(table[chosen | rest],
                                               start + large[rest])
                    rest = (rest - 1) & labels
            return
        for labels in range(1, n_sets):
            if self.popcount[labels] > room:
                continue
            best = NEVER
            chosen = (labels - 1) & labels
            while chosen:
                best = max(best, left[chosen] + right[labels ^ chosen])
                chosen = (chosen - 1) & labels
            table[labels] = best


cdef double misplaced(Py_ssize_t n_points, Py_ssize_t n_matched) noexcept nogil:
    return <double> (n_points - n_matched) / <double> n_points


cdef Py_ssize_t fill_offsets(const int* room, int n_top,
                             Py_ssize_t* offsets) noexcept nogil:
    """Where the knapsack row of each top node starts; returns their total length."""
    cdef Py_ssize_t total = 0
    cdef int place
    for place in range(n_top):
        offsets[place] = total
        total += room[place]
    return total


cdef void knapsack(const int* left, const int* room, const Py_ssize_t* offsets,
                   int n_top, const double* weights, double* best) noexcept nogil:
    """Heaviest pruning of each top node into 1, 2, ..., room subtrees."""
    cdef int place, i, j, end
    cdef double start
    cdef double* row
    cdef const double* of_left
    cdef const double* of_right
    for place in range(n_top - 1, -1, -1):
        row = best + offsets[place]
        if left[place] >= 0:
            for j in range(1, room[place]):
                row[j] = -1e300
            of_left = best + offsets[left[place]]
            of_right = best + offsets[left[place] + 1]
            for i in range(room[left[place]]):
                start = of_left[i]
                end = min(room[left[place] + 1], room[place] - 1 - i)
                for j in range(end):
                    row[i + j + 1] = max(row[i + j + 1], start + of_right[j])
        row[0] = weights[place]


cdef class MajorityLoss(PruningLoss):
    """Least fraction outside its subtree's majority label, by a tree knapsack."""

    def __cinit__(self, labels, n_labels, *args):
        cdef Py_ssize_t most = 2 * self.n_leaves
        self.weights = <double*> allocate(most, sizeof(double))
        self.offsets = <Py_ssize_t*> allocate(most, sizeof(Py_ssize_t))
        self.best = <double*> allocate(most * self.n_labels, sizeof(double))

    def __dealloc__(self):
        free(self.weights)
        free(self.offsets)
        free(self.best)

    cdef double compute(self, const MergeTree* tree) except? -1 nogil:
        cdef Py_ssize_t k = self.n_labels, c
        cdef int place, most
        cdef const int* counts
        self.collect(tree)
        for place in range(self.n_top):
            counts = self.counts + self.top_node[place] * k
            most = 0
            for c in range(k):
                most = max(most, counts[c])
            self.weights[place] = most
        fill_offsets(self.top_room, self.n_top, self.offsets)
        knapsack(self.top_left, self.top_room, self.offsets, self.n_top, self.weights,
                 self.best)
        self.poll.spend(self.n_top * k)
        self.lower = misplaced(self.n_leaves, <Py_ssize_t> self.best[k - 1])
        return self.lower


cdef int best_bijection(overlap) except -1:
    """Most matched points of k clusters, given as their k x k counts by label."""
    return int(overlap[linear_sum_assignment(overlap, maximize=True)].sum())


def evaluate_linkage(TreeLoss loss, const int[:, ::1] children,
                     const double[::1] heights, nodes=None, changed=None):
    """Loss of the tree whose i-th merge joins ``children[i]`` into ``nodes[i]``.

    Parameters
    ----------
    loss : TreeLoss
    children : int32 array of shape (n_leaves - 1, 2)
    heights : float64 array of shape (n_leaves - 1,)
    nodes : int32 array of shape (n_leaves - 1,), default=None
        Ids of the merges, n_leaves or more and all different; n_leaves + i by default.
    changed : iterable of int, default=None
        The merges to announce, in order, when all others were announced before; a
        merge also changes when the leaves of one of its children do.

    Returns
    -------
    lower, value : float
        The two are equal if the value is exact.
    """
    cdef int i, n = <int> loss.n_leaves
    cdef int[::1] order = np.append(
        np.arange(n, 2 * n - 1) if nodes is None else nodes, -1).astype(np.intc)
    cdef int n_nodes = max(n, np.max(order) + 1)
    cdef int[:, ::1] child = np.zeros((2, n_nodes), dtype=np.intc)
    cdef double[::1] height = np.zeros(n_nodes)
    cdef int[::1] cut
    cdef MergeTree tree
    if not len(children) == len(heights) == len(order) - 1 == n - 1:
        raise ValueError(f"{n} leaves need {n - 1} merges, got {len(children)}")
    if n > 1 and not (0 <= np.min(children) and np.max(children) < n_nodes
                      and np.min(order[:n - 1]) >= n):
        raise ValueError("children or nodes has an id out of range")
    cut = flat_cut(children, order, n_nodes, n - loss.n_labels)
    for i in range(n - 1):
        child[0, order[i]] = children[i, 0]
        child[1, order[i]] = children[i, 1]
        height[order[i]] = heights[i]
    loss.reserve(n_nodes)
    for i in range(n - 1) if changed is None else changed:
        loss.join(order[i], children[i, 0], children[i, 1])
    tree.n_leaves = n
    tree.left = &child[0, 0]
    tree.right = &child[1, 0]
    tree.order = &order[0]
    tree.height = &height[0]
    tree.cut = &cut[0]
    with nogil:
        value = loss.evaluate(&tree)
    return loss.lower, value


cdef int[::1] flat_cut(const int[:, ::1] children, const int[::1] order, int n_nodes,
                       int n_kept):
    """Nodes that no merge has joined after the first `n_kept` ones."""
    cdef Py_ssize_t i, side
    cdef int[::1] alive = np.zeros(n_nodes, dtype=np.intc)
    for i in range(children.shape[0] + 1):
        alive[i] = 1
    for i in range(n_kept):
        for side in range(2):
            alive[children[i, side]] = 0
        alive[order[i]] = 1
    return np.flatnonzero(alive).astype(np.intc)
