"""The pieces of a curve while an engine sweeps over the parameter."""

from .pruning cimport MergeTree, TreeLoss


cdef struct Piece:
    double start
    double value
    double lower        # certified lower bound of the value


cdef class Pieces:
    cdef TreeLoss loss
    cdef Piece* pieces
    cdef Py_ssize_t size
    cdef Py_ssize_t room
    cdef readonly Py_ssize_t n_trees
    cdef readonly Py_ssize_t n_events

    cdef int add(self, double t, const MergeTree* tree) except -1 nogil
    cdef int check_signals(self) except -1 nogil
