"""Losses that do not look for a pruning: of the flat cut, of all nodes, of a callable.

The last one is no loss: it tells flat clusterings apart.

Invariant: as in pruning.pyx, the cached value is that of the last tree unless the cut
or the labels of one of its nodes changed, or, if all nodes count, anything did.
Cost: O(k^3) for the bijection of a cut, O(k^2) for its Rand index, O(n) for the purity,
whose parts are found at the joins, and O(n) for the matrix that a callable gets and to
list a clustering.
"""

from libc.math cimport ldexp
from libc.stdlib cimport free

from .memory cimport allocate
from .pruning cimport (
    COUNTS,
    MergeTree,
    TreeLoss,
    best_bijection,
    enlarge,
    misplaced,
)

import numpy as np

from .interrupts import check


cdef class CutLoss(TreeLoss):
    """Misplaced fraction of the flat cut under the best bijection to the labels."""

    cdef int* last_cut
    cdef object overlap_array
    cdef double[:, ::1] overlap

    def __cinit__(self, labels, n_labels, *args):
        self.uses_cut = True
        self.last_cut = <int*> allocate(self.n_labels, sizeof(int))
        self.overlap_array = np.zeros((n_labels, n_labels))
        self.overlap = self.overlap_array

    def __dealloc__(self):
        free(self.last_cut)

    cdef double evaluate(self, const MergeTree* tree) except? -1 nogil:
        cdef int i
        for i in range(self.n_labels):
            if tree.cut[i] != self.last_cut[i]:
                self.stale = True
                self.last_cut[i] = tree.cut[i]
        # Merges above the cut do not count, a new root among them.
        self.root = tree.order[self.n_leaves - 2] if self.n_leaves > 1 else 0
        return TreeLoss.evaluate(self, tree)

    cdef double compute(self, const MergeTree* tree) except? -1 nogil:
        cdef Py_ssize_t i, c, k = self.n_labels
        for i in range(k):
            self.watch(tree.cut[i], COUNTS)
            for c in range(k):
                self.overlap[i, c] = self.counts[tree.cut[i] * k + c]
        self.lower = self.score()
        return self.lower

    cdef double score(self) except? -1 nogil:
        with gil:
            return misplaced(self.n_leaves, best_bijection(self.overlap_array))


cdef class AriLoss(CutLoss):
    """One minus the adjusted Rand index of the flat cut."""

    cdef double score(self) except? -1 nogil:
        # Ordered pairs of points that are together in the cut, the target or both.
        cdef long long n = self.n_leaves, both = 0, in_cut = 0, in_target = 0
        cdef long long row, column
        cdef Py_ssize_t i, c, k = self.n_labels
        for i in range(k):
            row = column = 0
            for c in range(k):
                both += square(self.overlap[i, c])
                row += <long long> self.overlap[i, c]
                column += <long long> self.overlap[c, i]
            in_cut += row * row
            in_target += column * column
        with gil:
            return 1.0 - adjusted_rand_index(
                both - n, in_cut - both, in_target - both,
                n * n - in_cut - in_target + both)


def adjusted_rand_index(both, only_cut, only_target, neither):
    """Index from the numbers of pairs, which as Python's integers never overflow."""
    if only_cut == 0 and only_target == 0:
        return 1.0
    return 2.0 * (both * neither - only_cut * only_target) / (
        (both + only_target) * (only_target + neither)
        + (both + only_cut) * (only_cut + neither)
    )


cdef inline long long square(double count) noexcept nogil:
    return <long long> count * <long long> count


cdef class DendrogramPurityLoss(TreeLoss):
    """One minus the mean purity at the lowest common ancestor of same-label pairs.

    What a node adds depends on its children's labels only, so it is found at the join.
    It is kept in fixed point: the sum over a tree then does not depend on the order.
    """

    cdef long long* purity           # of the pairs that a node joins
    cdef long long n_pairs
    cdef int shift

    def __cinit__(self, labels, n_labels, *args):
        cdef Py_ssize_t i
        cdef long long[::1] sizes = np.zeros(n_labels, dtype=np.longlong)
        for i in range(self.n_leaves):
            self.n_pairs += sizes[self.codes[i]]
            sizes[self.codes[i]] += 1
        self.shift = 52
        while self.shift > 0 and self.n_pairs >> (62 - self.shift):
            self.shift -= 1

    def __dealloc__(self):
        free(self.purity)

    cdef int reserve(self, int n_nodes) except -1:
        TreeLoss.reserve(self, n_nodes)
        self.purity = <long long*> enlarge(
            self.purity, self.capacity * sizeof(long long))
        return 0

    cdef void join(self, int node, int left, int right) noexcept nogil:
        cdef Py_ssize_t c, k = self.n_labels
        cdef const int* of_left = self.counts + left * k
        cdef const int* of_right = self.counts + right * k
        cdef long long pure = 0, size
        for c in range(k):
            pure += <long long> of_left[c] * of_right[c] * (of_left[c] + of_right[c])
        TreeLoss.join(self, node, left, right)
        size = self.sizes[node]
        self.purity[node] = (pure // size << self.shift) + <long long> ldexp(
            <double> (pure % size) / <double> size, self.shift)
        self.stale = True

    cdef double compute(self, const MergeTree* tree) except? -1 nogil:
        cdef Py_ssize_t i
        cdef long long total = 0
        if self.n_pairs > 0:
            for i in range(self.n_leaves - 1):
                total += self.purity[tree.order[i]]
            self.lower = 1.0 - ldexp(<double> total, -self.shift) / self.n_pairs
        else:
            self.lower = 0.0
        return self.lower


cdef class CallableLoss(TreeLoss):
    """A function of scipy's linkage matrix and the target labels, to a float."""

    cdef object function
    cdef object labels
    cdef int* rows

    def __cinit__(self, labels, n_labels, function, target):
        self.uses_heights = True
        self.function = function
        self.labels = target

    def __dealloc__(self):
        free(self.rows)

    cdef int reserve(self, int n_nodes) except -1:
        TreeLoss.reserve(self, n_nodes)
        self.rows = <int*> enlarge(self.rows, self.capacity * sizeof(int))
        return 0

    cdef double evaluate(self, const MergeTree* tree) except? -1 nogil:
        self.stale = True  # heights change without a join
        return TreeLoss.evaluate(self, tree)

    cdef double compute(self, const MergeTree* tree) except? -1 nogil:
        with gil:
            check()
            self.lower = self.function(self.linkage_matrix(tree), self.labels)
            return self.lower

    cdef object linkage_matrix(self, const MergeTree* tree):
        cdef Py_ssize_t i
        cdef int node, left, right
        cdef double[:, ::1] rows
        result = np.empty((self.n_leaves - 1, 4))
        rows = result
        for i in range(self.n_leaves):
            self.rows[i] = <int> i
        for i in range(self.n_leaves - 1):
            node = tree.order[i]
            left = self.rows[tree.left[node]]
            right = self.rows[tree.right[node]]
            rows[i, 0] = min(left, right)
            rows[i, 1] = max(left, right)
            rows[i, 2] = tree.height[node]
            rows[i, 3] = self.sizes[node]
            self.rows[node] = <int> (self.n_leaves + i)
        return result


cdef class FlatClusterings(TreeLoss):
    """The flat cut itself: its number among those met so far, from 0 on.

    Labels only tell how many clusters there are.
    """

    cdef int* members
    cdef dict numbers                # by the bytes of a clustering

    def __cinit__(self, labels, n_labels, *args):
        self.uses_cut = True
        self.members = <int*> allocate(self.n_leaves, sizeof(int))
        self.numbers = {}

    def __dealloc__(self):
        free(self.members)

    @property
    def found(self):
        """The clusterings by number; clusters are numbered by their first point."""
        return [np.frombuffer(key, dtype=np.intc) for key in self.numbers]

    cdef double evaluate(self, const MergeTree* tree) except? -1 nogil:
        self.stale = True  # a node of the cut may have got other points
        return TreeLoss.evaluate(self, tree)

    cdef double compute(self, const MergeTree* tree) except? -1 nogil:
        with gil:
            check()
            clusters = np.empty(self.n_leaves, dtype=np.intc)
            self.list_clusters(tree, clusters)
            key = clusters.tobytes()
            self.lower = self.numbers.setdefault(key, len(self.numbers))
            return self.lower

    cdef int list_clusters(
        self, const MergeTree* tree, int[::1] clusters
    ) except -1:
        """Write the cluster of each point."""
        cdef Py_ssize_t i, done, waiting
        cdef int node, n_met = 0
        cdef int[::1] number = np.full(self.n_labels, -1, dtype=np.intc)
        for i in range(self.n_labels):
            # Unfinished nodes stand behind the finished points of a cluster.
            self.members[0] = tree.cut[i]
            done, waiting = 0, 1
            while done < waiting:
                node = self.members[done]
                if node < self.n_leaves:
                    clusters[node] = <int> i
                    done += 1
                else:
                    self.members[done] = tree.left[node]
                    self.members[waiting] = tree.right[node]
                    waiting += 1
        for i in range(self.n_leaves):
            if number[clusters[i]] < 0:
                number[clusters[i]] = n_met
                n_met += 1
            clusters[i] = number[clusters[i]]
        return 0
