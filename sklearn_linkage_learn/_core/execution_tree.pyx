"""The paper's execution tree: every merge sequence of a family, depth first.

Invariant: at depth m the first m merges are made, and `Frame m` says for which
parameters [t, end) of the node they still have to be followed further. A node's
children come from the paper's sweep: take the nearest pair at t, go to the first
crossing of its line with any other pair's, repeat. Undoing a merge restores the one
row it changed, so memory is O(n^2). Cost: O(m^2) for each edge at m clusters.
Any two merge functions will do; leaves come in the order of the parameter.
"""

cimport cython
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from sklearn_linkage_learn._core.clusters cimport Clusters
from sklearn_linkage_learn._core.pieces cimport Pieces
from sklearn_linkage_learn._core.predicates cimport (
    Expansion, TOLERANCE, crossing_bound, first_negative,
)
from sklearn_linkage_learn._core.pruning cimport MergeTree, TreeLoss


cdef struct Frame:
    double t            # the node's children are known up to here
    double end
    int i               # slots of the merge that led on from here
    int j
    int size            # what slot i was before that merge
    int first
    int node
    double* value       # the row of slot i before that merge
    int* deciding


@cython.final
cdef class ExecutionTree(Clusters):
    """Depth-first enumeration for a pair of merge functions."""

    cdef Pieces pieces
    cdef TreeLoss loss
    cdef Frame* frames
    cdef int* left
    cdef int* right
    cdef int* order
    cdef int* cut
    cdef double* height

    def __cinit__(self, *args):
        cdef Py_ssize_t n = max(self.n_points, 1), depth
        self.frames = <Frame*> calloc(n, sizeof(Frame))
        self.left = <int*> malloc(2 * n * sizeof(int))
        self.right = <int*> malloc(2 * n * sizeof(int))
        self.order = <int*> malloc(n * sizeof(int))
        self.cut = <int*> malloc(n * sizeof(int))
        self.height = <double*> calloc(2 * n, sizeof(double))
        if (
            self.frames == NULL or self.left == NULL or self.right == NULL
            or self.order == NULL or self.cut == NULL or self.height == NULL
        ):
            raise MemoryError
        for depth in range(n - 1):
            self.order[depth] = n + depth
            self.frames[depth].value = <double*> malloc(
                n * self.n_parts * sizeof(double)
            )
            self.frames[depth].deciding = <int*> malloc(
                n * self.n_functions * sizeof(int)
            )
            if (
                self.frames[depth].value == NULL
                or self.frames[depth].deciding == NULL
            ):
                raise MemoryError
        self.track_deciding_pairs()

    def __dealloc__(self):
        cdef Py_ssize_t depth
        if self.frames != NULL:
            for depth in range(max(self.n_points, 1)):
                free(self.frames[depth].value)
                free(self.frames[depth].deciding)
        free(self.frames)
        free(self.left)
        free(self.right)
        free(self.order)
        free(self.cut)
        free(self.height)

    cdef int enumerate(self) except -1 nogil:
        """Visit every leaf, in the order of the parameter."""
        cdef int depth = 0, last = max(self.n_points - 1, 0)
        cdef Frame* frame = self.frames
        cdef double t
        frame.t = 0.0
        frame.end = 1.0
        while depth >= 0:
            frame = self.frames + depth
            if depth == last:
                self.leaf(frame.t)
            elif frame.t < frame.end:
                t = frame.t
                self.next_child(frame)
                self.descend(frame, depth)
                depth += 1
                self.frames[depth].t = t
                self.frames[depth].end = frame.t
                continue
            depth -= 1
            if depth >= 0:
                self.undo(self.frames + depth)
        return 0

    cdef int next_child(self, Frame* frame) except -1 nogil:
        """The merge at frame.t; frame.t moves on to where another one takes over."""
        cdef double t = frame.t, bound, p, q
        cdef int a, b, x, y
        self.nearest_pair(frame)
        p = self.approximate(frame.i, frame.j, 0)
        q = self.approximate(frame.i, frame.j, 1)
        frame.t = frame.end
        for a in range(self.n_alive):
            x = self.alive[a]
            for b in range(a + 1, self.n_alive):
                y = self.alive[b]
                bound = crossing_bound(
                    p, q, self.approximate(x, y, 0), self.approximate(x, y, 1)
                )
                if bound >= frame.t:
                    continue
                bound = self.takeover(x, y, frame.i, frame.j)
                if t < bound < frame.t:
                    frame.t = bound
        return 0

    cdef double takeover(self, int x, int y, int i, int j) noexcept nogil:
        """From which parameter on slots (x, y) are nearer than (i, j), exactly."""
        cdef Expansion start, end
        self.gap(
            &start, 0, self.parts(x, y), self.pairs(x, y),
            self.parts(i, j), self.pairs(i, j),
        )
        self.gap(
            &end, 1, self.parts(x, y), self.pairs(x, y),
            self.parts(i, j), self.pairs(i, j),
        )
        return first_negative(&start, &end)

    cdef int nearest_pair(self, Frame* frame) except -1 nogil:
        """Find the nearest pair of clusters just right of frame.t."""
        cdef double t = frame.t, value, best = 0.0
        cdef int a, b, x, y
        frame.i = -1
        # 1 - t, exactly, in two doubles.
        self.weight[0] = 1.0 - t
        self.weight[1] = (1.0 - self.weight[0]) - t
        self.weight[2] = t
        self.weight[3] = 0.0
        for a in range(self.n_alive):
            x = self.alive[a]
            for b in range(a + 1, self.n_alive):
                y = self.alive[b]
                value = self.mix(x, y)
                if frame.i >= 0 and value >= best - TOLERANCE * best:
                    if value > best + TOLERANCE * best:
                        continue
                    if self.compare(x, y, frame.i, frame.j) > 0:
                        continue
                frame.i = x
                frame.j = y
                best = value
        return 0

    cdef void descend(self, Frame* frame, int depth) noexcept nogil:
        """Carry out the frame's merge, keeping what it overwrites."""
        cdef Py_ssize_t n = self.n_points, i = frame.i
        cdef int node = self.n_points + depth
        frame.size = self.size[i]
        frame.first = self.first[i]
        frame.node = self.node[i]
        memcpy(frame.value, self.parts(i, 0), n * self.n_parts * sizeof(double))
        memcpy(
            frame.deciding,
            self.deciding + i * n * self.n_functions,
            n * self.n_functions * sizeof(int),
        )
        self.left[node] = self.node[i]
        self.right[node] = self.node[frame.j]
        self.height[node] = self.mix(frame.i, frame.j)
        self.loss.join(node, self.left[node], self.right[node])
        self.merge(frame.i, frame.j, node)

    cdef void undo(self, Frame* frame) noexcept nogil:
        """Take the frame's merge back."""
        cdef Py_ssize_t n = self.n_points, x, i = frame.i
        cdef int a = self.n_alive, f
        self.size[i] = frame.size
        self.first[i] = frame.first
        self.node[i] = frame.node
        while a > 0 and self.alive[a - 1] > frame.j:
            self.alive[a] = self.alive[a - 1]
            a -= 1
        self.alive[a] = frame.j
        self.n_alive += 1
        memcpy(
            self.value + i * n * self.n_parts,
            frame.value,
            n * self.n_parts * sizeof(double),
        )
        for x in range(n):
            memcpy(
                self.value + (x * n + i) * self.n_parts,
                frame.value + x * self.n_parts,
                self.n_parts * sizeof(double),
            )
            for f in range(self.n_functions):
                self.deciding[(i * n + x) * self.n_functions + f] = (
                    self.deciding[(x * n + i) * self.n_functions + f]
                ) = frame.deciding[x * self.n_functions + f]

    cdef int leaf(self, double t) except -1 nogil:
        """One merge sequence is complete: it holds from t on."""
        cdef MergeTree tree
        if self.loss.uses_cut:
            self.undo_last_merges(self.loss.n_labels)
        tree.n_leaves = self.n_points
        tree.left = self.left
        tree.right = self.right
        tree.order = self.order
        tree.height = self.height
        tree.cut = self.cut
        self.pieces.add(t, &tree)
        if self.pieces.n_trees % 64 == 0:
            self.pieces.check_signals()
        return 0

    cdef void undo_last_merges(self, int k) noexcept nogil:
        """The flat clusters: what is left when the last k - 1 merges are undone."""
        cdef int node, side, child, first_undone = 2 * self.n_points - k, found = 0
        if k == 1:
            self.cut[0] = first_undone - 1
        for node in range(first_undone, 2 * self.n_points - 1):
            for side in range(2):
                child = self.right[node] if side else self.left[node]
                if child < first_undone:
                    self.cut[found] = child
                    found += 1


def enumerate_tree(
    const double[:, ::1] distances,
    int n_points,
    const int[::1] kinds,
    int sum_width,
    TreeLoss loss,
):
    """Compute the loss of every merge sequence of a pair of merge functions.

    Parameters
    ----------
    distances : (1, n_pairs) array
        Condensed distances.
    kinds : (2,) array
        Codes of the merge functions at parameter 0 and 1.
    sum_width : int
        How many doubles hold any sum of distances exactly.
    loss : TreeLoss

    Returns
    -------
    Pieces
        The loss by parameter; `n_trees` counts the merge sequences.
    """
    cdef ExecutionTree tree = ExecutionTree(distances, n_points, kinds, sum_width)
    tree.loss = loss
    tree.pieces = Pieces(loss)
    loss.reserve(max(2 * n_points - 1, 1))
    with nogil:
        tree.enumerate()
    return tree.pieces
