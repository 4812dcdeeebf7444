"""Prices on labels, and the best prunings at those prices."""

from .pruning cimport HammingLoss


cdef class PricedHammingLoss(HammingLoss):
    cdef int bound                   # no bijection matches more points
    cdef int matched                 # some bijection matches as many
    cdef double least_worth          # of the dearest pruning, over all prices tried
    cdef double* gains               # points of each label, row by place in the top
    cdef double* prices
    cdef double* best_prices
    cdef double* weights             # best worth of a place as one subtree
    cdef Py_ssize_t* offsets         # of a place's row in the two tables that follow
    cdef double* inside              # best worth of a place in 1, 2, ... subtrees
    cdef double* outside             # best worth of the rest, given at least as many
    cdef int* pieces                 # the dearest pruning
    cdef int n_pieces
    cdef int* usage                  # how often that takes a label, less one
    cdef double* largest             # what the largest of its takers matches
    cdef object overlap_array
    cdef double[:, ::1] overlap

    cdef void start(self) noexcept nogil
    cdef int descend(self, int steps) except -1 nogil
    cdef double price_tree(self) noexcept nogil
    cdef void move_prices(self, double gap) noexcept nogil
    cdef void take_pieces(self, int place, int size) noexcept nogil
    cdef void count_usage(self) noexcept nogil
    cdef int assign_pieces(self) except -1 nogil
    cdef void fill_outside(self) noexcept nogil
