"""What an engine knows of a loss: it announces merges and asks for a value."""

from .interrupts cimport Poll


cdef struct MergeTree:
    # A cluster tree by node id: leaves are 0..n_leaves-1, other ids are arbitrary.
    Py_ssize_t n_leaves
    const int* left         # children of a node, by id (undefined for a leaf)
    const int* right
    const int* order        # the n_leaves - 1 merged nodes, children first, root last
    const double* height    # merge height of a node, by id
    const int* cut          # the flat clusters' nodes, if the loss uses_cut


cdef enum:
    COUNTS = 1    # watched for its labels only
    CHILDREN = 2  # watched for its two children


cdef class TreeLoss:
    cdef readonly Py_ssize_t n_leaves
    cdef readonly int n_labels
    cdef readonly bint uses_cut      # reads MergeTree.cut
    cdef readonly bint uses_heights  # reads MergeTree.height; order is by height then
    cdef double lower                # certified lower bound of the last value

    cdef int reserve(self, int n_nodes) except -1
    cdef void join(self, int node, int left, int right) noexcept nogil
    cdef double evaluate(self, const MergeTree* tree) except? -1 nogil

    # What follows is for the subclasses only.
    cdef Poll poll
    cdef int capacity
    cdef int* codes                  # label of each leaf
    cdef int* counts                 # points of each label below a node, row by node
    cdef int* sizes
    cdef char* watched               # what of a node the last value depends on
    cdef int* watch_list
    cdef int n_watched
    cdef bint stale
    cdef int root
    cdef double value

    cdef void watch(self, int node, char what) noexcept nogil
    cdef double compute(self, const MergeTree* tree) except? -1 nogil


cdef class PruningLoss(TreeLoss):
    # The top of the tree, parents before children.
    cdef int n_top
    cdef int* top_node
    cdef int* top_depth
    cdef int* top_left               # place of the left child in the top, -1 if none;
    #                                  the right child stands next to it
    cdef int* top_room               # most subtrees a k-pruning can have below

    cdef void collect(self, const MergeTree* tree) noexcept nogil


cdef class HammingLoss(PruningLoss):
    cdef int* tables
    cdef unsigned char* popcount

    cdef int best_match(self) except -1 nogil
    cdef int tabulate(self, int place, int* table) except -1 nogil
    cdef void split_sets(self, int place, const int* left, const int* right,
                         int* table) noexcept nogil


cdef class MajorityLoss(PruningLoss):
    cdef double* weights
    cdef double* best
    cdef Py_ssize_t* offsets


cdef void* enlarge(void* memory, size_t size) except NULL
cdef int best_bijection(overlap) except -1
cdef double misplaced(Py_ssize_t n_points, Py_ssize_t n_matched) noexcept nogil
cdef Py_ssize_t fill_offsets(const int* room, int n_top,
                             Py_ssize_t* offsets) noexcept nogil
cdef void knapsack(const int* left, const int* room, const Py_ssize_t* offsets,
                   int n_top, const double* weights, double* best) noexcept nogil
