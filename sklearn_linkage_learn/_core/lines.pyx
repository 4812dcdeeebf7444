"""Lines between the clusters of a merge sequence, looked up by node id.

Invariant: the row of a cluster holds, exactly, its lines to the clusters alive when
it is merged, each at the other's slot. Each point has a slot of its own, and a cluster
that of its point with the lowest one, so that the slots of coexisting clusters differ.
A line is what two merge functions, or one under two metrics, give where the parameter
is 0 and 1; it depends on the two point sets only, so rows stay right when the sequence
changes around them. Cost: 8 * n_parts * n bytes a row, about half of them ever
touched; O(1) a look-up.
"""

from libc.stdlib cimport free

from .memory cimport Workspace, allocate, allocate_rows, close_rows, open_rows
from .predicates cimport (
    COMPLETE, Expansion, MergeFunction, WARD, add_wide, difference, first_negative,
    is_quotient, order_at, ward_numerator,
)
from .tree_sweep cimport TreeSweep


cdef class Lines(TreeSweep):
    """Leaves and their distances at first."""

    def __cinit__(
        self,
        const double[:, ::1] distances,
        int n_points,
        const int[::1] kinds,
        int sum_width,
        double slack,
        *args,
    ):
        cdef int f, i
        self.distances = distances
        for f in range(2):
            self.kind[f] = <MergeFunction> kinds[f]
            self.metric[f] = f if distances.shape[0] == 2 else 0
            self.width[f] = sum_width if is_quotient(self.kind[f]) else 1
            self.offset[f] = self.n_parts
            self.n_parts += self.width[f]
        if self.n_parts > MOST_PARTS:
            raise OverflowError("sums of these distances need too many bits")
        self.n_planes = self.n_parts
        for f in range(2):
            self.shown[f] = self.offset[f]
            if is_quotient(self.kind[f]):
                self.shown[f] = self.n_planes
                self.n_planes += 1
                self.quotients = True
        self.first = <int*> allocate(self.room, sizeof(int))
        self.slot = <int*> allocate(self.room, sizeof(int))
        self.position = <int*> allocate(self.room, sizeof(int))
        self.point_at = <int*> allocate(n_points, sizeof(int))
        self.spare = <int*> allocate(self.room, sizeof(int))
        self.row = <double**> allocate(self.room, sizeof(double*))
        self.more_rows = <double**> allocate(self.room, sizeof(double*))
        if self.kind[0] == WARD:
            self.slack = slack
            self.within = <double*> allocate(
                2 * self.room * sum_width, sizeof(double)
            )
        for i in range(n_points):
            self.first[i] = i
            self.position[i] = -1
        self.n_nodes = n_points

    def __dealloc__(self):
        cdef int i
        for i in range(self.n_more_rows):
            free(self.more_rows[i])
        free(self.more_rows)
        free(self.row)
        free(self.point_at)
        free(self.first)
        free(self.slot)
        free(self.position)
        free(self.within)
        free(self.spare)

    cdef int compare_merges(self, int u, int v) noexcept nogil:
        return self.compare(self.left[u], self.right[u], self.left[v], self.right[v])

    cdef double merge_crossing(self, int u, int v) noexcept nogil:
        return self.crossing(self.left[u], self.right[u], self.left[v], self.right[v])

    def run(self, const int[:, ::1] children):
        cdef size_t n = self.n_points, i
        cdef Workspace rows = Workspace(2 * n, n * self.n_parts)
        for i in range(2 * n):
            self.row[i] = rows.row(i)
        return super().run(children)

    cdef int load_points(self, const int[:, ::1] children) except -1 nogil:
        """Give every point a slot, and its lines to points with lower ones."""
        cdef int i
        self.number_slots(children)
        for i in range(self.n_points):
            self.load_row(self.point_at[i])
            self.poll.spend(2 * i)
        return 0

    cdef void number_slots(self, const int[:, ::1] children) noexcept nogil:
        """Number slots so that in this run the first m are in use when m are alive.

        The lines that are read together then lie together, in later runs too.
        """
        cdef int n = self.n_points, place
        cdef int* slot = self.slot
        slot[max(2 * n - 2, 0)] = 0
        for place in range(n - 2, -1, -1):
            slot[children[place, 0]] = slot[n + place]
            slot[children[place, 1]] = n - 1 - place
        for place in range(n):
            self.point_at[slot[place]] = place

    cdef void load_row(self, int point) noexcept nogil:
        """Store the lines of a point to those with lower slots."""
        cdef double* entry = self.row[point]
        cdef const double* first
        cdef const double* second
        cdef Py_ssize_t n = self.n_points, low, high, pair
        cdef int s, c
        if n < 2:
            # There is no distance to point at.
            return
        first = &self.distances[self.metric[0], 0]
        second = &self.distances[self.metric[1], 0]
        for s in range(self.slot[point]):
            low = min(point, self.point_at[s])
            high = max(point, self.point_at[s])
            pair = low * n - low * (low + 1) // 2 + high - low - 1
            for c in range(2, self.n_parts):
                entry[c] = 0.0
            # The second number comes last, as the first may be wider than one double.
            entry[1] = 0.0
            entry[0] = first[pair]
            entry[self.offset[1]] = second[pair]
            entry += self.n_parts

    cdef int new_node(self) except -1 nogil:
        """An id with a row of its own."""
        cdef int node
        if self.n_spare:
            self.n_spare -= 1
            node = self.spare[self.n_spare]
        else:
            node = self.n_nodes
            self.n_nodes += 1
        if self.row[node] == NULL:
            self.row[node] = self.new_row()
        open_rows(self.row[node], 1, <size_t> self.n_points * self.n_parts)
        self.parent[node] = -1
        return node

    cdef double* new_row(self) except NULL nogil:
        """Memory for a row beyond those of one tree's nodes."""
        cdef double* row = allocate_rows(1, <size_t> self.n_points * self.n_parts)
        self.more_rows[self.n_more_rows] = row
        self.n_more_rows += 1
        return row

    cdef void give_back(self, int node) noexcept nogil:
        close_rows(self.row[node], <size_t> self.n_points * self.n_parts)
        self.spare[self.n_spare] = node
        self.n_spare += 1

    cdef void unite(self, int node, int left, int right) noexcept nogil:
        """Make a node the union of two coexisting clusters."""
        cdef double parts[MOST_PARTS]
        cdef double* sums
        cdef int f, width
        self.left[node] = left
        self.right[node] = right
        self.parent[left] = self.parent[right] = node
        self.size[node] = self.size[left] + self.size[right]
        self.first[node] = min(self.first[left], self.first[right])
        self.slot[node] = min(self.slot[left], self.slot[right])
        if self.within == NULL:
            return
        self.fetch(left, right, parts)
        for f in range(2):
            width = self.width[f]
            sums = self.within + (2 * node + f) * width
            add_wide(
                self.within + (2 * left + f) * width,
                self.within + (2 * right + f) * width,
                sums,
                width,
            )
            add_wide(sums, parts + self.offset[f], sums, width)

    cdef void fetch(self, int x, int y, double* parts) noexcept nogil:
        """Copy the numbers of two clusters; the first is merged no later."""
        cdef const double* source = self.entry(x, y)
        cdef int c
        for c in range(self.n_parts):
            parts[c] = source[c]

    cdef void line(self, int x, int y, double* parts) noexcept nogil:
        """The numbers of two clusters that are compared: Ward's are put together."""
        cdef double sums[MOST_PARTS]
        cdef int f, width
        if self.kind[0] != WARD:
            self.fetch(x, y, parts)
            return
        self.fetch(x, y, sums)
        for f in range(2):
            width = self.width[f]
            ward_numerator(
                sums + self.offset[f],
                self.within + (2 * x + f) * width,
                self.within + (2 * y + f) * width,
                width, self.size[x], self.size[y], parts + f * (width + 2),
            )

    cdef void gaps(
        self, int x, int y, int u, int v, Expansion* start, Expansion* end
    ) noexcept nogil:
        """The line of (x, y) less that of (u, v), denominators cleared."""
        cdef double a[MOST_PARTS + 4]
        cdef double b[MOST_PARTS + 4]
        cdef int more = 2 if self.kind[0] == WARD else 0
        cdef int at = self.offset[1] + more
        self.line(x, y, a)
        self.line(u, v, b)
        difference(
            start, self.kind[0], a, b, self.width[0] + more,
            self.below(x, y), self.below(u, v), self.quotients,
        )
        difference(
            end, self.kind[1], a + at, b + at, self.width[1] + more,
            self.below(x, y), self.below(u, v), self.quotients,
        )

    cdef int compare(self, int x, int y, int u, int v) noexcept nogil:
        """-1 if (x, y) are nearer than (u, v) just right of t, else 1; exact."""
        cdef Expansion start, end
        cdef int s
        self.gaps(x, y, u, v, &start, &end)
        s = order_at(&start, &end, self.t)
        if s == 0:
            s = -1 if self.deciding_pair(x, y) < self.deciding_pair(u, v) else 1
        return s

    cdef double crossing(self, int x, int y, int u, int v) noexcept nogil:
        """From which parameter on (x, y) are nearer than (u, v), exactly."""
        cdef Expansion start, end
        self.gaps(x, y, u, v, &start, &end)
        return first_negative(&start, &end)

    cdef long long deciding_pair(self, int x, int y) noexcept nogil:
        """The earliest point pair that decides a merge function of (x, y)."""
        cdef Py_ssize_t n = self.n_points, low, high
        cdef double parts[MOST_PARTS]
        cdef int a, b, f, n_x, n_y
        cdef long long pair, decided, best = n * n
        if self.quotients or (x < n and y < n):
            # The earliest pair there is.
            return <long long> n * min(self.first[x], self.first[y]) + max(
                self.first[x], self.first[y]
            )
        self.fetch(x, y, parts)
        n_x = self.list_members(x, self.members)
        n_y = self.list_members(y, self.members + n_x)
        # Only counted: those who compare much look at the clock.
        self.poll.work += 4 * <long long> n_x * n_y
        for f in range(2):
            decided = -1
            for a in range(n_x):
                for b in range(n_x, n_x + n_y):
                    low = min(self.members[a], self.members[b])
                    high = max(self.members[a], self.members[b])
                    if self.distance(f, low, high) != parts[self.offset[f]]:
                        continue
                    pair = low * n + high
                    if decided < 0 or (
                        (pair > decided) == (self.kind[f] == COMPLETE)
                    ):
                        decided = pair
            best = min(best, decided)
        return best
