"""A bound of the Hamming loss by Lagrangian prices on the labels.

Invariant: let every subtree of a pruning take any label at a price >= 0, or none, and
hand each price back once. A bijection takes each label once, so the dearest pruning is
worth at least what any bijection matches; `bound` is the least such worth, rounded.
Prices are multiples of 2^-10: sums are exact, and the bound rounds down safely.
Cost: O(nk) for a price step.
"""

from libc.math cimport INFINITY, floor
from libc.stdlib cimport free

from .memory cimport allocate
from .pruning cimport best_bijection, fill_offsets, knapsack

import numpy as np

cdef double GRAIN = 1024.0
cdef double NEVER = -1e300


cdef class PricedHammingLoss(HammingLoss):
    """Prices that stay from one tree to the next, which differs little."""

    def __cinit__(self, labels, n_labels, *args):
        cdef Py_ssize_t most = 2 * self.n_leaves, k = self.n_labels
        self.gains = <double*> allocate(most * k, sizeof(double))
        self.prices = <double*> allocate(k, sizeof(double))
        self.best_prices = <double*> allocate(k, sizeof(double))
        self.weights = <double*> allocate(most, sizeof(double))
        self.offsets = <Py_ssize_t*> allocate(most, sizeof(Py_ssize_t))
        self.inside = <double*> allocate(most * k, sizeof(double))
        self.outside = <double*> allocate(most * k, sizeof(double))
        self.pieces = <int*> allocate(k, sizeof(int))
        self.usage = <int*> allocate(k, sizeof(int))
        self.largest = <double*> allocate(k, sizeof(double))
        self.overlap_array = np.empty((k, k))
        self.overlap = self.overlap_array

    def __dealloc__(self):
        free(self.gains)
        free(self.prices)
        free(self.best_prices)
        free(self.weights)
        free(self.offsets)
        free(self.inside)
        free(self.outside)
        free(self.pieces)
        free(self.usage)
        free(self.largest)

    cdef void start(self) noexcept nogil:
        """Forget the bounds of the last tree, after a new top was collected."""
        cdef Py_ssize_t place, c, k = self.n_labels
        cdef const int* counts
        for place in range(self.n_top):
            counts = self.counts + self.top_node[place] * k
            for c in range(k):
                self.gains[place * k + c] = counts[c]
        fill_offsets(self.top_room, self.n_top, self.offsets)
        self.matched = 0
        self.bound = <int> self.n_leaves
        self.least_worth = INFINITY

    cdef int descend(self, int steps) except -1 nogil:
        """Lower the bound by subgradient steps, and leave the tables of the best."""
        cdef int i, stalled = 0
        cdef double worth, scale = 1.0
        for _ in range(steps):
            worth = self.price_tree()
            self.poll.spend(2 * <long long> self.n_top * self.n_labels)
            stalled += 1
            if worth < self.least_worth:
                self.least_worth = worth
                self.bound = min(self.bound, <int> floor(worth))
                stalled = 0
                for i in range(self.n_labels):
                    self.best_prices[i] = self.prices[i]
            elif stalled == 4:
                stalled = 0
                scale *= 0.5
            self.n_pieces = 0
            self.take_pieces(0, self.n_labels)
            self.count_usage()
            if self.bound <= self.matched:
                break
            self.move_prices(scale * (worth - self.matched))
        for i in range(self.n_labels):
            self.prices[i] = self.best_prices[i]
        if self.bound > self.matched:
            self.price_tree()
        return 0

    cdef double price_tree(self) noexcept nogil:
        """Worth of the dearest pruning at the current prices."""
        cdef Py_ssize_t place, c, k = self.n_labels
        cdef double most, total = 0.0
        cdef const double* gains
        for place in range(self.n_top):
            gains = self.gains + place * k
            most = 0.0
            for c in range(k):
                most = max(most, gains[c] - self.prices[c])
            self.weights[place] = most
        knapsack(self.top_left, self.top_room, self.offsets, self.n_top, self.weights,
                 self.inside)
        for c in range(k):
            total += self.prices[c]
        return total + self.inside[k - 1]

    cdef void move_prices(self, double gap) noexcept nogil:
        """Raise the prices of labels taken too often, by Polyak's step length."""
        cdef int c
        cdef double price, norm = 0.0
        for c in range(self.n_labels):
            if self.usage[c] > 0 or self.prices[c] > 0:
                norm += <double> self.usage[c] * self.usage[c]
        if norm == 0.0:
            return
        for c in range(self.n_labels):
            price = self.prices[c] + gap / norm * self.usage[c]
            self.prices[c] = max(0.0, floor(price * GRAIN + 0.5) / GRAIN)

    cdef void take_pieces(self, int place, int size) noexcept nogil:
        """List the subtrees of the dearest pruning."""
        cdef int left = self.top_left[place], i
        cdef const double* of_left
        cdef const double* of_right
        if size == 1:
            self.pieces[self.n_pieces] = place
            self.n_pieces += 1
            return
        of_left = self.inside + self.offsets[left]
        of_right = self.inside + self.offsets[left + 1]
        for i in range(1, size):
            if i > self.top_room[left] or size - i > self.top_room[left + 1]:
                continue
            if of_left[i - 1] + of_right[size - i - 1] == (
                    self.inside[self.offsets[place] + size - 1]):
                self.take_pieces(left, i)
                self.take_pieces(left + 1, size - i)
                return

    cdef void count_usage(self) noexcept nogil:
        """How often the dearest pruning takes each label, less one.

        Giving each label to the largest of its takers is a bijection once the others
        share the labels left over, so it matches at least that many points.
        """
        cdef Py_ssize_t c, label, k = self.n_labels
        cdef int i, total = 0
        cdef double most
        cdef const double* gains
        for c in range(k):
            self.usage[c] = -1
            self.largest[c] = 0.0
        for i in range(self.n_pieces):
            gains = self.gains + self.pieces[i] * k
            most = 0.0
            label = -1
            for c in range(k):
                if gains[c] - self.prices[c] > most:
                    most = gains[c] - self.prices[c]
                    label = c
            if label >= 0:
                self.usage[label] += 1
                self.largest[label] = max(self.largest[label], gains[label])
        for c in range(k):
            total += <int> self.largest[c]
        self.matched = max(self.matched, total)

    cdef void fill_outside(self) noexcept nogil:
        """Most that the rest of the tree can be worth, by a node's number of subtrees.

        Row `place` holds at j - 1 the best for j subtrees or more.
        """
        cdef int place, i, j, left, room_left, room_right, k = self.n_labels
        cdef double* of_node
        cdef double* of_left
        cdef double* of_right
        for i in range(k - 1):
            self.outside[i] = NEVER
        self.outside[k - 1] = 0.0
        for place in range(self.n_top):
            left = self.top_left[place]
            if left < 0:
                continue
            of_node = self.outside + self.offsets[place]
            of_left = self.outside + self.offsets[left]
            of_right = self.outside + self.offsets[left + 1]
            room_left = self.top_room[left]
            room_right = self.top_room[left + 1]
            for i in range(room_left):
                of_left[i] = NEVER
            for j in range(room_right):
                of_right[j] = NEVER
            for i in range(room_left):
                for j in range(min(room_right, self.top_room[place] - 1 - i)):
                    of_left[i] = max(
                        of_left[i],
                        of_node[i + j + 1] + self.inside[self.offsets[left + 1] + j])
                    of_right[j] = max(
                        of_right[j],
                        of_node[i + j + 1] + self.inside[self.offsets[left] + i])
        for place in range(self.n_top):
            of_node = self.outside + self.offsets[place]
            for i in range(self.top_room[place] - 2, -1, -1):
                of_node[i] = max(of_node[i], of_node[i + 1])

    cdef int assign_pieces(self) except -1 nogil:
        """Match the subtrees of the dearest pruning with the labels at best."""
        cdef Py_ssize_t i, c, k = self.n_labels
        self.n_pieces = 0
        self.take_pieces(0, self.n_labels)
        for i in range(k):
            for c in range(k):
                self.overlap[i, c] = self.gains[self.pieces[i] * k + c]
        with gil:
            self.matched = max(self.matched, best_bijection(self.overlap_array))
        return 0
