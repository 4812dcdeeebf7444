"""What an engine knows of a loss: it announces merges and asks for a value."""


cdef struct MergeTree:
    # A cluster tree by node id: leaves are 0..n_leaves-1, other ids are arbitrary.
    Py_ssize_t n_leaves
    const int* left         # children of a node, by id (undefined for a leaf)
    const int* right
    const int* order        # the n_leaves - 1 merged nodes, children first, root last
    const double* height    # merge height of a node, by id
    const int* cut          # the flat clusters' nodes, if the loss uses_cut


cdef class TreeLoss:
    cdef readonly Py_ssize_t n_leaves
    cdef readonly int n_labels
    cdef readonly bint uses_cut      # reads MergeTree.cut
    cdef readonly bint uses_heights  # reads MergeTree.height; order is by height then
    cdef double lower                # certified lower bound of the last value

    cdef int reserve(self, int n_nodes) except -1
    cdef void join(self, int node, int left, int right) noexcept nogil
    cdef double evaluate(self, const MergeTree* tree) except? -1 nogil
