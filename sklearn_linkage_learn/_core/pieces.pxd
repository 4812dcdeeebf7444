"""The pieces of a curve while an engine sweeps over the parameter."""

from .pruning cimport MergeTree, TreeLoss


cdef struct Piece:
    double start
    double value
    double lower        # certified lower bound of the value


cdef struct Work:
    # What an engine did, to compare where time is noisy.
    long long freed             # clusters taken out of a sequence in repairs
    long long kept              # merges that repairs went past
    long long scans             # loops over a cluster's lines to all others
    long long lines             # lines read from the rows of other clusters


cdef class Pieces:
    cdef TreeLoss loss
    cdef Piece* pieces
    cdef Py_ssize_t size
    cdef Py_ssize_t room
    cdef readonly Py_ssize_t n_trees
    cdef readonly Py_ssize_t n_events   # changes of the tree, or of the sequence
    cdef Work count

    cdef int add(self, double t, const MergeTree* tree) except -1 nogil
