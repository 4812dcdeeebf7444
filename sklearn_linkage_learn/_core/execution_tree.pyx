"""The paper's execution tree: every merge sequence of a family, depth first.

Invariant: at depth m the first m merges are made, and `Frame m` says for which
parameters [t, end) of the node they still have to be followed further. A node's
children come from the paper's sweep: take the nearest pair at t, go to the first
crossing of its line with any other line, repeat. The lines are those of cluster
pairs; for single and complete linkage on two metrics, where a cluster pair's distance
is the least or greatest of many lines, those of point pairs. Undoing a merge restores
the one row it changed, so memory is O(n^2). Cost: O(m^2) for each edge at m clusters,
O(n^2) with point pairs. Leaves come in the order of the parameter.
"""

cimport cython
from libc.stdlib cimport free
from libc.string cimport memcpy

from .clusters cimport Clusters
from .memory cimport allocate
from .pieces cimport Pieces
from .predicates cimport (
    COMPLETE, Expansion, NEVER, SINGLE, TOLERANCE, crossing_bound, first_negative,
    gap_of_lines,
)
from .pruning cimport MergeTree, TreeLoss


cdef struct Frame:
    double t            # the node's children are known up to here
    double end
    int i               # slots of the merge that led on from here
    int j
    int size            # what slot i was before that merge
    int node
    double* value       # the row of slot i before that merge
    double* within      # and the sums inside it
    int* deciding
    int last            # its last point


@cython.final
cdef class ExecutionTree(Clusters):
    """Depth-first enumeration for two merge functions or two metrics."""

    cdef Pieces pieces
    cdef TreeLoss loss
    cdef double* value      # [slot pair][part], pairs in condensed order
    cdef Frame* frames
    cdef int* left
    cdef int* right
    cdef int* order
    cdef int* cut
    cdef double* height
    cdef bint of_points     # whether lines are those of point pairs

    def __cinit__(self, *args):
        cdef Py_ssize_t n = self.n_points, depth
        self.value = <double*> allocate(
            self.distances.shape[1] * self.n_parts, sizeof(double)
        )
        self.frames = <Frame*> allocate(n, sizeof(Frame))
        self.left = <int*> allocate(2 * n, sizeof(int))
        self.right = <int*> allocate(2 * n, sizeof(int))
        self.order = <int*> allocate(n, sizeof(int))
        self.cut = <int*> allocate(n, sizeof(int))
        self.height = <double*> allocate(2 * n, sizeof(double))
        for depth in range(n - 1):
            self.order[depth] = n + depth
            self.frames[depth].value = <double*> allocate(
                n * self.n_parts, sizeof(double)
            )
            self.frames[depth].within = <double*> allocate(
                self.n_within, sizeof(double)
            )
            self.frames[depth].deciding = <int*> allocate(
                n * self.n_functions, sizeof(int)
            )
        self.alpha[0] = self.beta[0] = 1.0
        self.of_points = self.n_metrics == 2 and (
            self.kind[0] == SINGLE or self.kind[0] == COMPLETE
        )
        with nogil:
            self.load_points()
            self.track_deciding_pairs()

    def __dealloc__(self):
        cdef Py_ssize_t depth
        if self.frames != NULL:
            for depth in range(max(self.n_points, 1)):
                free(self.frames[depth].value)
                free(self.frames[depth].within)
                free(self.frames[depth].deciding)
        free(self.value)
        free(self.frames)
        free(self.left)
        free(self.right)
        free(self.order)
        free(self.cut)
        free(self.height)

    cdef inline double* parts(self, int i, int j) noexcept nogil:
        return self.value + self.pair(i, j) * self.n_parts

    cdef const double* numbers(self, int i, int j, double* buffer) noexcept nogil:
        return self.parts(i, j)

    cdef int load_points(self) except -1 nogil:
        cdef Py_ssize_t pair
        for pair in range(self.distances.shape[1]):
            self.point_numbers(pair, self.value + pair * self.n_parts)
            self.poll.spend(4)
        return 0

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
        cdef double start = frame.t, t = frame.t
        cdef int i, j
        self.nearest_pair(frame, t)
        frame.t = self.next_takeover(frame, t)
        while self.of_points and frame.t < frame.end:
            # The crossing of two point pairs need not change the merge.
            i, j, t = frame.i, frame.j, frame.t
            self.nearest_pair(frame, t)
            if i != frame.i or j != frame.j:
                frame.i, frame.j = i, j
                break
            frame.t = self.next_crossing(frame, t)
        if t > start and self.loss.uses_heights:
            self.nearest_pair(frame, start)
        return 0

    cdef double next_takeover(self, Frame* frame, double t) except -1 nogil:
        """Until when the frame's merge is the nearest, as far as can be told."""
        cdef double bound, until = frame.end
        cdef int a, b, x, y
        if self.of_points:
            return self.next_crossing(frame, t)
        for a in range(self.n_alive):
            self.poll.spend(4 * (self.n_alive - a))
            x = self.alive[a]
            for b in range(a + 1, self.n_alive):
                y = self.alive[b]
                bound = crossing_bound(
                    self.component(frame.i, frame.j, 0),
                    self.component(frame.i, frame.j, 1),
                    self.component(x, y, 0), self.component(x, y, 1), self.slack,
                )
                if bound < until:
                    bound = self.takeover(x, y, frame.i, frame.j)
                    if t < bound < until:
                        until = bound
        return until

    cdef double component(self, int i, int j, int which) noexcept nogil:
        """The value of two slots where the parameter is 0 or 1, approximately."""
        cdef int f = which if self.n_functions == 2 else 0
        cdef int m = 0 if self.n_functions == 2 else which
        return self.shown(
            self.parts(i, j) + self.offset[f] + m * self.width[f], f, m, i, j
        )

    cdef double takeover(self, int x, int y, int i, int j) noexcept nogil:
        """From which parameter on slots (x, y) are nearer than (i, j), exactly."""
        cdef const double* u = self.line(x, y, self.line_buffer)
        cdef const double* v = self.line(i, j, self.line_buffer + self.n_line_parts)
        cdef Expansion start, end
        cdef int f = self.n_functions - 1
        self.gap(&start, 0, 0, u, self.below(x, y), v, self.below(i, j))
        self.gap(&end, f, 1 - f, u, self.below(x, y), v, self.below(i, j))
        return first_negative(&start, &end)

    cdef double next_crossing(self, Frame* frame, double t) except -1 nogil:
        """Where the point pair that decides the merge next meets another one."""
        cdef const double* chosen = self.parts(frame.i, frame.j)
        cdef double until = frame.end, p, q
        cdef Py_ssize_t i, j, pair = -1
        for i in range(self.n_points):
            self.poll.spend(4 * (self.n_points - i))
            for j in range(i + 1, self.n_points):
                pair += 1
                if self.owner[i] == self.owner[j]:
                    continue
                p = self.distances[0, pair]
                q = self.distances[1, pair]
                if min(
                    crossing_bound(chosen[0], chosen[1], p, q, 0.0),
                    crossing_bound(p, q, chosen[0], chosen[1], 0.0),
                ) < until:
                    until = min(until, meeting(chosen[0], chosen[1], p, q, t))
        return until

    cdef int nearest_pair(self, Frame* frame, double t) except -1 nogil:
        """Find the nearest pair of clusters just right of t."""
        cdef double value, best = 0.0, margin = 0.0
        cdef int a, b, x, y
        cdef double* moving = self.alpha if self.n_functions == 2 else self.beta
        # 1 - t, exactly, in two doubles.
        moving[0] = 1.0 - t
        moving[1] = (1.0 - moving[0]) - t
        moving[2] = t
        moving[3] = 0.0
        if self.of_points:
            self.load_clusters()
        frame.i = -1
        for a in range(self.n_alive):
            self.poll.spend(4 * (self.n_alive - a))
            x = self.alive[a]
            for b in range(a + 1, self.n_alive):
                y = self.alive[b]
                value = self.mix(self.parts(x, y), x, y)
                if frame.i >= 0 and value >= best - margin:
                    if value > best + margin:
                        continue
                    if self.compare(x, y, frame.i, frame.j) > 0:
                        continue
                frame.i = x
                frame.j = y
                best = value
                margin = TOLERANCE * value + self.slack
        return 0

    cdef int load_clusters(self) except -1 nogil:
        """Find the point pair that decides between any two clusters, afresh."""
        cdef Py_ssize_t n = self.n_points, i, j, entry, pair = -1
        cdef int a, b, s
        cdef bint new
        cdef double point[2]
        self.find_owners()
        for entry in range(self.distances.shape[1]):
            self.deciding[entry] = -1
        for i in range(n):
            self.poll.spend(4 * (n - i))
            for j in range(i + 1, n):
                pair += 1
                a = self.owner[i]
                b = self.owner[j]
                if a == b:
                    continue
                entry = self.pair(a, b)
                point[0] = self.distances[0, pair]
                point[1] = self.distances[1, pair]
                new = self.deciding[entry] < 0
                if not new:
                    s = self.compare_points(point, self.parts(a, b))
                    # Of equal pairs complete linkage is decided by the last.
                    new = s < 0 if self.kind[0] == SINGLE else s >= 0
                if new:
                    self.deciding[entry] = pair
                    self.parts(a, b)[0] = point[0]
                    self.parts(a, b)[1] = point[1]
        return 0

    cdef void descend(self, Frame* frame, int depth) noexcept nogil:
        """Carry out the frame's merge, keeping what it overwrites."""
        cdef int n = self.n_points, i = frame.i, x, node = self.n_points + depth
        frame.size = self.size[i]
        frame.node = self.node[i]
        frame.last = self.last[i]
        for x in range(n):
            if x != i:
                memcpy(
                    frame.value + x * self.n_parts,
                    self.parts(i, x),
                    self.n_parts * sizeof(double),
                )
                memcpy(
                    frame.deciding + x * self.n_functions,
                    self.deciding + self.pair(i, x) * self.n_functions,
                    self.n_functions * sizeof(int),
                )
        if self.within != NULL:
            memcpy(
                frame.within,
                self.within + i * self.n_within,
                self.n_within * sizeof(double),
            )
        self.left[node] = self.node[i]
        self.right[node] = self.node[frame.j]
        self.height[node] = self.mix(self.parts(i, frame.j), i, frame.j)
        self.loss.join(node, self.left[node], self.right[node])
        self.merge(i, frame.j, node)

    cdef void merge(self, int i, int j, int node) noexcept nogil:
        """Merge slot j into slot i."""
        cdef int a, x
        for a in range(self.n_alive):
            x = self.alive[a]
            if x != i and x != j:
                self.join_numbers(self.parts(i, x), self.parts(j, x), i, j, x)
        if self.within != NULL:
            self.join_within(i, j, self.parts(i, j))
        self.unite(i, j, node)

    cdef void undo(self, Frame* frame) noexcept nogil:
        """Take the frame's merge back."""
        cdef int n = self.n_points, i = frame.i, x, a = self.n_alive
        self.size[i] = frame.size
        self.node[i] = frame.node
        while a > 0 and self.alive[a - 1] > frame.j:
            self.alive[a] = self.alive[a - 1]
            a -= 1
        self.alive[a] = frame.j
        self.n_alive += 1
        self.last[i] = frame.last
        self.next[frame.last] = -1
        if self.within != NULL:
            memcpy(
                self.within + i * self.n_within,
                frame.within,
                self.n_within * sizeof(double),
            )
        for x in range(n):
            if x != i:
                memcpy(
                    self.parts(i, x),
                    frame.value + x * self.n_parts,
                    self.n_parts * sizeof(double),
                )
                memcpy(
                    self.deciding + self.pair(i, x) * self.n_functions,
                    frame.deciding + x * self.n_functions,
                    self.n_functions * sizeof(int),
                )

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


cdef double meeting(double p, double q, double r, double s, double t) noexcept nogil:
    """Where the lines (p, q) and (r, s) change their order behind t, exactly."""
    cdef Expansion start, end
    cdef double crossing
    gap_of_lines(r, s, p, q, &start, &end)
    crossing = first_negative(&start, &end)
    if t < crossing < 1.0:
        return crossing
    gap_of_lines(p, q, r, s, &start, &end)
    crossing = first_negative(&start, &end)
    return crossing if crossing > t else NEVER


def enumerate_tree(
    const double[:, ::1] distances,
    int n_points,
    const int[::1] kinds,
    int sum_width,
    double slack,
    TreeLoss loss,
):
    """Compute the loss of every merge sequence of a family.

    Parameters
    ----------
    distances : (n_metrics, n_pairs) array
        Condensed distances, two rows for two metrics.
    kinds : (n_functions,) array
        Codes of the merge functions, two for two merge functions.
    sum_width, slack : int, float
        As in `fixed_linkage`.
    loss : TreeLoss

    Returns
    -------
    Pieces
        The loss by parameter; `n_trees` counts the merge sequences.
    """
    cdef ExecutionTree tree = ExecutionTree(
        distances, n_points, kinds, sum_width, slack
    )
    tree.loss = loss
    tree.pieces = Pieces(loss)
    loss.reserve(max(2 * n_points - 1, 1))
    with nogil:
        tree.enumerate()
    return tree.pieces
