"""The clusters alive in one run, and every merge function between each two.

Invariant: `value` holds, for two slots in use, each merge function between their
clusters, exactly: single and complete linkage as a point distance, average linkage
as a sum over point pairs (both possibly in several doubles). Merging two slots
keeps the lower one. Cost: O(n) a merge, 8 * n_parts * n^2 bytes; comparisons are
O(1) and decide ties by the deciding point pairs, tracked from the first tie on.
"""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memmove

from sklearn_linkage_learn._core.predicates cimport (
    AVERAGE, CAPACITY, COMPLETE, Expansion, MergeFunction, SINGLE, WEIGHTED,
    add_scaled, add_wide, clear, compare_wide, difference, sign,
)


cdef class Clusters:
    """Singletons at first; `distances` is (width, n_pairs), condensed."""

    def __cinit__(
        self,
        const double[:, ::1] distances,
        int n_points,
        const int[::1] kinds,
        int sum_width,
    ):
        cdef int f, i
        cdef Py_ssize_t n = n_points
        self.n_points = self.n_alive = n_points
        self.distances = distances
        self.n_functions = kinds.shape[0]
        self.kind = <MergeFunction*> malloc(self.n_functions * sizeof(MergeFunction))
        self.width = <int*> malloc(self.n_functions * sizeof(int))
        self.offset = <int*> malloc(self.n_functions * sizeof(int))
        self.weight = <double*> calloc(2 * self.n_functions, sizeof(double))
        self.alive = <int*> malloc(max(n, 1) * sizeof(int))
        self.size = <int*> malloc(max(n, 1) * sizeof(int))
        self.first = <int*> malloc(max(n, 1) * sizeof(int))
        self.node = <int*> malloc(max(n, 1) * sizeof(int))
        self.owner = <int*> malloc(max(n, 1) * sizeof(int))
        if (
            self.kind == NULL or self.width == NULL or self.offset == NULL
            or self.weight == NULL or self.alive == NULL or self.size == NULL
            or self.first == NULL or self.node == NULL or self.owner == NULL
        ):
            raise MemoryError
        self.n_parts = 0
        for f in range(self.n_functions):
            self.kind[f] = <MergeFunction> kinds[f]
            self.width[f] = 1
            if kinds[f] == AVERAGE:
                self.width[f] = sum_width
            elif kinds[f] == SINGLE or kinds[f] == COMPLETE:
                self.width[f] = distances.shape[0]
            self.offset[f] = self.n_parts
            self.n_parts += self.width[f]
            self.has_average = self.has_average or kinds[f] == AVERAGE
        self.value = <double*> malloc(max(n * n * self.n_parts, 1) * sizeof(double))
        if self.value == NULL:
            raise MemoryError
        for i in range(n_points):
            self.alive[i] = self.first[i] = self.node[i] = self.owner[i] = i
            self.size[i] = 1
        self.load_points()

    def __dealloc__(self):
        free(self.kind)
        free(self.width)
        free(self.offset)
        free(self.weight)
        free(self.value)
        free(self.mixed)
        free(self.deciding)
        free(self.alive)
        free(self.size)
        free(self.first)
        free(self.node)
        free(self.owner)

    cdef void load_points(self) noexcept nogil:
        cdef Py_ssize_t n = self.n_points, i, j, pair = 0
        cdef int f, c
        cdef double d
        for i in range(n):
            for j in range(i + 1, n):
                for f in range(self.n_functions):
                    for c in range(self.width[f]):
                        d = 0.0
                        if c < self.distances.shape[0]:
                            d = self.distances[c, pair]
                        self.value[(i * n + j) * self.n_parts + self.offset[f] + c] = d
                        self.value[(j * n + i) * self.n_parts + self.offset[f] + c] = d
                pair += 1

    cdef int set_weights(self, const double[:, ::1] weights) except -1:
        """Fix the mix; from here on `mixed` follows every merge."""
        cdef Py_ssize_t n = self.n_points, i, j
        cdef int f
        for f in range(self.n_functions):
            self.weight[2 * f] = weights[f, 0]
            self.weight[2 * f + 1] = weights[f, 1]
        if self.mixed == NULL:
            self.mixed = <double*> malloc(max(n * n, 1) * sizeof(double))
            if self.mixed == NULL:
                raise MemoryError
        for i in range(n):
            for j in range(n):
                if i != j:
                    self.mixed[i * n + j] = self.mix(i, j)
        return 0

    cdef void gap(
        self, Expansion* e, int f, const double* u, double pairs_u,
        const double* v, double pairs_v,
    ) noexcept nogil:
        """Merge function f of one cluster pair less that of another (`parts`)."""
        difference(
            e, self.kind[f], u + self.offset[f], v + self.offset[f], self.width[f],
            pairs_u, pairs_v, self.has_average,
        )

    cdef int compare_parts(
        self, const double* u, double pairs_u, const double* v, double pairs_v
    ) noexcept nogil:
        """Sign of the mix of one cluster pair less that of another, exactly.

        Equal mixes are told apart by the last merge function, then the one before:
        that is the order just right of a parameter, where weight moves to the last.
        """
        cdef Expansion total, gap
        cdef int f, c, s
        for c in range(self.n_parts):
            if u[c] != v[c]:
                break
        else:
            if pairs_u == pairs_v or not self.has_average:
                return 0
        clear(&total)
        for f in range(self.n_functions):
            if self.weight[2 * f] != 0.0:
                self.gap(&gap, f, u, pairs_u, v, pairs_v)
                add_scaled(&total, &gap, self.weight[2 * f])
                if self.weight[2 * f + 1] != 0.0:
                    add_scaled(&total, &gap, self.weight[2 * f + 1])
        s = sign(&total)
        f = self.n_functions - 1
        while s == 0 and f >= 0:
            self.gap(&gap, f, u, pairs_u, v, pairs_v)
            s = sign(&gap)
            f -= 1
        return s

    cdef int compare(self, int i, int j, int k, int l) except -2 nogil:
        """-1 if slots (i, j) are nearer than (k, l), 1 if farther; never a tie."""
        cdef int s = self.compare_parts(
            self.parts(i, j), self.pairs(i, j), self.parts(k, l), self.pairs(k, l)
        )
        return s if s != 0 else self.compare_ties(i, j, k, l)

    cdef int compare_ties(self, int i, int j, int k, int l) except -2 nogil:
        """The same for two cluster pairs that tie in every merge function."""
        cdef long long a, b
        if (i == k and j == l) or (i == l and j == k):
            return 0
        if self.deciding == NULL:
            with gil:
                self.track_deciding_pairs()
        a = self.deciding_pair(i, j)
        b = self.deciding_pair(k, l)
        return -1 if a < b else 1

    cdef long long deciding_pair(self, int i, int j) noexcept nogil:
        """The earliest point pair that decides any merge function of (i, j)."""
        cdef Py_ssize_t n = self.n_points
        cdef long long pair, best = n * n
        cdef int f
        for f in range(self.n_functions):
            if self.kind[f] == SINGLE or self.kind[f] == COMPLETE:
                pair = self.deciding[(i * n + j) * self.n_functions + f]
            else:
                pair = (
                    min(self.first[i], self.first[j]) * n
                    + max(self.first[i], self.first[j])
                )
            best = min(best, pair)
        return best

    cdef int compare_point(
        self, Py_ssize_t i, Py_ssize_t j, int f, const double* number
    ) noexcept nogil:
        """Sign of the distance of points i < j less a number of function f."""
        cdef double point[CAPACITY]
        cdef Py_ssize_t pair = i * self.n_points - i * (i + 1) // 2 + j - i - 1
        cdef int c
        for c in range(self.distances.shape[0]):
            point[c] = self.distances[c, pair]
        return compare_wide(&point[0], number, self.width[f])

    cdef int track_deciding_pairs(self) except -1:
        """Find which point pair decides each entry; merges keep it up from here."""
        cdef Py_ssize_t n = self.n_points, i, j, entry
        cdef int f, a, b, known
        if self.deciding != NULL:
            return 0
        self.deciding = <int*> malloc(max(n * n * self.n_functions, 1) * sizeof(int))
        if self.deciding == NULL:
            raise MemoryError
        for entry in range(n * n * self.n_functions):
            self.deciding[entry] = -1
        for i in range(n):
            for j in range(i + 1, n):
                a = self.owner[i]
                b = self.owner[j]
                for f in range(self.n_functions):
                    if a == b or not (
                        self.kind[f] == SINGLE or self.kind[f] == COMPLETE
                    ):
                        continue
                    if self.compare_point(
                        i, j, f, self.parts(a, b) + self.offset[f]
                    ) != 0:
                        continue
                    known = self.deciding[(a * n + b) * self.n_functions + f]
                    # Points come in order: single keeps the first, complete the last.
                    if known < 0 or self.kind[f] == COMPLETE:
                        self.deciding[(a * n + b) * self.n_functions + f] = i * n + j
                        self.deciding[(b * n + a) * self.n_functions + f] = i * n + j
        return 0

    cdef void merge(self, int i, int j, int node) noexcept nogil:
        """Merge slot j into slot i."""
        cdef Py_ssize_t n = self.n_points
        cdef int a, x, f, at = 0
        for f in range(self.n_functions):
            self.join_rows(i, j, f)
        for a in range(self.n_alive):
            if self.alive[a] == j:
                at = a
        self.n_alive -= 1
        memmove(
            self.alive + at, self.alive + at + 1, (self.n_alive - at) * sizeof(int)
        )
        self.size[i] += self.size[j]
        self.first[i] = min(self.first[i], self.first[j])
        self.node[i] = node
        for x in range(self.n_points):
            if self.owner[x] == j:
                self.owner[x] = i
        if self.mixed != NULL:
            for a in range(self.n_alive):
                x = self.alive[a]
                if x != i:
                    self.mixed[i * n + x] = self.mixed[x * n + i] = self.mix(i, x)

    cdef void join_rows(self, int i, int j, int f) noexcept nogil:
        """Merge function f between the union of i and j, and every other slot."""
        cdef Py_ssize_t n = self.n_points, step = self.n_parts
        cdef double* row = self.value + self.offset[f]
        cdef MergeFunction kind = self.kind[f]
        cdef double* u
        cdef const double* v
        cdef int a, x, c, s, width = self.width[f]
        for a in range(self.n_alive):
            x = self.alive[a]
            if x == i or x == j:
                continue
            u = row + (i * n + x) * step
            v = row + (j * n + x) * step
            if kind == SINGLE or kind == COMPLETE:
                s = compare_wide(u, v, width)
                if self.deciding != NULL:
                    self.join_deciding(i, j, x, f, s)
                if s != 0 and (s > 0) == (kind == SINGLE):
                    for c in range(width):
                        u[c] = v[c]
            elif kind == AVERAGE:
                add_wide(u, v, u, width)
            elif kind == WEIGHTED:
                u[0] = 0.5 * (u[0] + v[0])
            else:
                u[0] = self.ward(i, j, x, u[0], v[0], row[(i * n + j) * step])
            for c in range(width):
                row[(x * n + i) * step + c] = u[c]

    cdef double ward(
        self, int i, int j, int x, double u, double v, double joined
    ) noexcept nogil:
        cdef double a = self.size[i], b = self.size[j], c = self.size[x]
        return ((a + c) * u + (b + c) * v - c * joined) / (a + b + c)

    cdef void join_deciding(self, int i, int j, int x, int f, int s) noexcept nogil:
        """`s` is the sign of (i, x) less (j, x); equal values join their pairs."""
        cdef Py_ssize_t n = self.n_points
        cdef int u = self.deciding[(i * n + x) * self.n_functions + f]
        cdef int v = self.deciding[(j * n + x) * self.n_functions + f]
        if self.kind[f] == SINGLE:
            u = u if s < 0 else v if s > 0 else min(u, v)
        else:
            u = u if s > 0 else v if s < 0 else max(u, v)
        self.deciding[(i * n + x) * self.n_functions + f] = u
        self.deciding[(x * n + i) * self.n_functions + f] = u
