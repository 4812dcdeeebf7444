"""The clusters alive in one run, and every merge function between each two.

Invariant: `value` holds, for two slots in use, each merge function between their
clusters under each metric, exactly: single and complete linkage as the distances of
the point pair that decides under the mixed metric, average and Ward linkage as sums
over point pairs, in several doubles. Merging two slots keeps the lower one. Cost:
O(n) a merge, 4 * n_parts * n^2 bytes; comparisons are O(1) and decide ties by the
deciding point pairs, which are tracked from the first tie on.
"""

from libc.math cimport fabs
from libc.stdlib cimport free
from libc.string cimport memmove

from .memory cimport allocate
from .predicates cimport (
    COMPLETE, Expansion, MergeFunction, SINGLE, TOLERANCE, WARD,
    add_scaled, add_wide, clear, difference, grow, is_quotient, sign, ward_numerator,
)


cdef class Clusters:
    """Singletons at first; `distances` is (n_metrics, n_pairs), condensed."""

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
        cdef Py_ssize_t n = n_points
        self.n_points = self.n_alive = n_points
        self.distances = distances
        self.n_functions = kinds.shape[0]
        self.n_metrics = distances.shape[0]
        self.kind = <MergeFunction*> allocate(self.n_functions, sizeof(MergeFunction))
        self.width = <int*> allocate(self.n_functions, sizeof(int))
        self.offset = <int*> allocate(self.n_functions, sizeof(int))
        self.alpha = <double*> allocate(2 * self.n_functions, sizeof(double))
        self.beta = <double*> allocate(2 * self.n_metrics, sizeof(double))
        self.alive = <int*> allocate(n, sizeof(int))
        self.size = <int*> allocate(n, sizeof(int))
        self.share = <double*> allocate(n, sizeof(double))
        self.first = <int*> allocate(n, sizeof(int))
        self.node = <int*> allocate(n, sizeof(int))
        self.owner = <int*> allocate(n, sizeof(int))
        self.last = <int*> allocate(n, sizeof(int))
        self.next = <int*> allocate(n, sizeof(int))
        self.row = <Py_ssize_t*> allocate(n, sizeof(Py_ssize_t))
        for f in range(self.n_functions):
            self.kind[f] = <MergeFunction> kinds[f]
            self.width[f] = sum_width if is_quotient(self.kind[f]) else 1
            self.offset[f] = self.n_parts
            self.n_parts += self.width[f] * self.n_metrics
            self.quotients = self.quotients or is_quotient(self.kind[f])
            if self.kind[f] == WARD:
                self.slack = slack
                self.n_within = self.n_metrics * sum_width
                self.within = <double*> allocate(n * self.n_within, sizeof(double))
        self.n_line_parts = self.n_parts
        if self.within != NULL:
            self.n_line_parts += 2 * self.n_metrics
        self.line_buffer = <double*> allocate(2 * self.n_line_parts, sizeof(double))
        self.value = <double*> allocate(
            distances.shape[1] * self.n_parts, sizeof(double)
        )
        for i in range(n_points):
            self.alive[i] = self.first[i] = self.node[i] = self.last[i] = i
            self.next[i] = -1
            self.size[i] = 1
            self.share[i] = 1.0
            self.row[i] = i * n - <Py_ssize_t> i * (i + 1) // 2 - i - 1
        self.load_points()

    def __dealloc__(self):
        free(self.kind)
        free(self.width)
        free(self.offset)
        free(self.alpha)
        free(self.beta)
        free(self.value)
        free(self.within)
        free(self.weight)
        free(self.line_buffer)
        free(self.deciding)
        free(self.alive)
        free(self.size)
        free(self.share)
        free(self.first)
        free(self.node)
        free(self.owner)
        free(self.last)
        free(self.next)
        free(self.row)

    cdef void load_points(self) noexcept nogil:
        cdef Py_ssize_t pair
        cdef double* number
        cdef int f, m, c
        for pair in range(self.distances.shape[1]):
            number = self.value + pair * self.n_parts
            for f in range(self.n_functions):
                for m in range(self.n_metrics):
                    number[m * self.width[f]] = self.distances[m, pair]
                    for c in range(1, self.width[f]):
                        number[m * self.width[f] + c] = 0.0
                number += self.n_metrics * self.width[f]

    cdef int set_weights(
        self, const double[:, ::1] alpha, const double[:, ::1] beta
    ) except -1:
        """Fix the mix."""
        cdef int f, m
        for f in range(self.n_functions):
            self.alpha[2 * f] = alpha[f, 0]
            self.alpha[2 * f + 1] = alpha[f, 1]
        for m in range(self.n_metrics):
            self.beta[2 * m] = beta[m, 0]
            self.beta[2 * m + 1] = beta[m, 1]
        if not self.quotients:
            self.weight = <double*> allocate(self.n_parts, sizeof(double))
            for f in range(self.n_functions):
                for m in range(self.n_metrics):
                    self.weight[f * self.n_metrics + m] = alpha[f, 0] * beta[m, 0]
        return 0

    cdef void find_owners(self) noexcept nogil:
        """Write down which slot holds each point."""
        cdef int a, x
        for a in range(self.n_alive):
            x = self.alive[a]
            while x >= 0:
                self.owner[x] = self.alive[a]
                x = self.next[x]

    cdef const double* line(self, int i, int j, double* buffer) noexcept nogil:
        """The numbers of two slots that are compared: Ward's are put together."""
        cdef int m, width = self.width[0]
        if self.within == NULL:
            return self.parts(i, j)
        for m in range(self.n_metrics):
            ward_numerator(
                self.parts(i, j) + m * width,
                self.within + (i * self.n_metrics + m) * width,
                self.within + (j * self.n_metrics + m) * width,
                width, self.size[i], self.size[j], buffer + m * (width + 2),
            )
        return buffer

    cdef void gap(
        self, Expansion* e, int f, int m, const double* u, double below_u,
        const double* v, double below_v,
    ) noexcept nogil:
        """One merge function under one metric: a cluster pair less another's."""
        cdef int width = self.width[f] + (2 if self.kind[f] == WARD else 0)
        cdef int at = self.offset[f] + m * width
        difference(
            e, self.kind[f], u + at, v + at, width, below_u, below_v, self.quotients
        )

    cdef int compare_lines(
        self, const double* u, double below_u, const double* v, double below_v
    ) noexcept nogil:
        """Sign of the mix of one cluster pair less that of another, exactly.

        Equal mixes are told apart by the last number, then the one before: that is
        the order just right of a parameter, where weight moves to the last.
        """
        cdef Expansion total, of_function, gap
        cdef int f, m, c, s
        for c in range(self.n_line_parts):
            if u[c] != v[c]:
                break
        else:
            if below_u == below_v or not self.quotients:
                return 0
        clear(&total)
        for f in range(self.n_functions):
            clear(&of_function)
            for m in range(self.n_metrics):
                if self.beta[2 * m] != 0.0:
                    self.gap(&gap, f, m, u, below_u, v, below_v)
                    add_scaled(&of_function, &gap, self.beta[2 * m])
                    add_scaled(&of_function, &gap, self.beta[2 * m + 1])
            add_scaled(&total, &of_function, self.alpha[2 * f])
            add_scaled(&total, &of_function, self.alpha[2 * f + 1])
        s = sign(&total)
        for f in range(self.n_functions - 1, -1, -1):
            for m in range(self.n_metrics - 1, -1, -1):
                if s != 0:
                    return s
                self.gap(&gap, f, m, u, below_u, v, below_v)
                s = sign(&gap)
        return s

    cdef int compare_points(self, const double* u, const double* v) noexcept nogil:
        """Sign of one point pair's distance less another's under the mixed metric.

        As for clusters, equal mixes are told apart by the last metric first.
        """
        cdef Expansion total, gap
        cdef double a = 0.0, b = 0.0
        cdef int m, s
        for m in range(self.n_metrics):
            a += self.beta[2 * m] * u[m]
            b += self.beta[2 * m] * v[m]
        if fabs(a - b) > TOLERANCE * (a + b):
            return 1 if a > b else -1
        clear(&total)
        for m in range(self.n_metrics):
            clear(&gap)
            grow(&gap, u[m])
            grow(&gap, -v[m])
            add_scaled(&total, &gap, self.beta[2 * m])
            add_scaled(&total, &gap, self.beta[2 * m + 1])
        s = sign(&total)
        for m in range(self.n_metrics - 1, -1, -1):
            if s != 0:
                return s
            s = (u[m] > v[m]) - (u[m] < v[m])
        return s

    cdef int compare(self, int i, int j, int k, int l) except -2 nogil:
        """-1 if slots (i, j) are nearer than (k, l), 1 if farther; never a tie."""
        cdef int s = self.compare_lines(
            self.line(i, j, self.line_buffer), self.below(i, j),
            self.line(k, l, self.line_buffer + self.n_line_parts), self.below(k, l),
        )
        return s if s != 0 else self.compare_ties(i, j, k, l)

    cdef int compare_ties(self, int i, int j, int k, int l) except -2 nogil:
        """The same for two cluster pairs that tie in every number."""
        if (i == k and j == l) or (i == l and j == k):
            return 0
        if self.deciding == NULL:
            with gil:
                self.track_deciding_pairs()
        return -1 if self.deciding_pair(i, j) < self.deciding_pair(k, l) else 1

    cdef long long deciding_pair(self, int i, int j) noexcept nogil:
        """The earliest point pair that decides any merge function of (i, j)."""
        cdef Py_ssize_t n = self.n_points
        cdef long long pair, best = n * n
        cdef int f
        for f in range(self.n_functions):
            if self.kind[f] == SINGLE or self.kind[f] == COMPLETE:
                pair = self.deciding[self.pair(i, j) * self.n_functions + f]
            else:
                pair = (
                    min(self.first[i], self.first[j]) * n
                    + max(self.first[i], self.first[j])
                )
            best = min(best, pair)
        return best

    cdef bint is_decided_by(
        self, Py_ssize_t i, Py_ssize_t j, const double* number
    ) noexcept nogil:
        """Whether points i < j have these distances under all metrics."""
        cdef Py_ssize_t pair = self.row[i] + j
        cdef int m
        for m in range(self.n_metrics):
            if self.distances[m, pair] != number[m]:
                return False
        return True

    cdef int track_deciding_pairs(self) except -1:
        """Find which point pair decides each entry; merges keep it up from here."""
        cdef Py_ssize_t n = self.n_points, entry, n_entries
        cdef int f, i, j, a, b
        if self.deciding != NULL:
            return 0
        n_entries = self.distances.shape[1] * self.n_functions
        self.deciding = <int*> allocate(n_entries, sizeof(int))
        for entry in range(n_entries):
            self.deciding[entry] = -1
        self.find_owners()
        for i in range(n):
            for j in range(i + 1, n):
                a = self.owner[i]
                b = self.owner[j]
                if a == b:
                    continue
                for f in range(self.n_functions):
                    if self.kind[f] != SINGLE and self.kind[f] != COMPLETE:
                        continue
                    entry = self.pair(a, b) * self.n_functions + f
                    # Points come in order: single keeps the first, complete the last.
                    if (
                        self.deciding[entry] < 0 or self.kind[f] == COMPLETE
                    ) and self.is_decided_by(i, j, self.parts(a, b) + self.offset[f]):
                        self.deciding[entry] = i * n + j
        return 0

    cdef void merge(self, int i, int j, int node) noexcept nogil:
        """Merge slot j into slot i."""
        cdef int a, at = 0
        self.join_rows(i, j)
        if self.within != NULL:
            self.join_within(i, j)
        for a in range(self.n_alive):
            if self.alive[a] == j:
                at = a
        self.n_alive -= 1
        memmove(
            self.alive + at, self.alive + at + 1, (self.n_alive - at) * sizeof(int)
        )
        self.size[i] += self.size[j]
        self.share[i] = 1.0 / self.size[i]
        self.first[i] = min(self.first[i], self.first[j])
        self.node[i] = node
        self.next[self.last[i]] = j
        self.last[i] = self.last[j]

    cdef void join_rows(self, int i, int j) noexcept nogil:
        """Every merge function between the union of i and j, and each other slot."""
        cdef bint plain = self.weight != NULL and self.n_metrics == 1
        cdef double* u
        cdef const double* v
        cdef int a, x, f
        plain = plain and self.deciding == NULL
        for f in range(self.n_functions):
            plain = plain and (self.kind[f] == SINGLE or self.kind[f] == COMPLETE)
        for a in range(self.n_alive):
            x = self.alive[a]
            if x == i or x == j:
                continue
            if not plain:
                self.join_numbers(i, j, x)
                continue
            u = self.parts(i, x)
            v = self.parts(j, x)
            for f in range(self.n_functions):
                if (v[f] < u[f]) == (self.kind[f] == SINGLE):
                    u[f] = v[f]

    cdef void join_numbers(self, int i, int j, int x) noexcept nogil:
        cdef double* u = self.parts(i, x)
        cdef const double* v = self.parts(j, x)
        cdef int f, c, s, width
        for f in range(self.n_functions):
            width = self.width[f]
            if self.kind[f] == SINGLE or self.kind[f] == COMPLETE:
                if self.n_metrics == 1:
                    s = (u[0] > v[0]) - (u[0] < v[0])
                else:
                    s = self.compare_points(u, v)
                if self.deciding != NULL:
                    self.join_deciding(i, j, x, f, s)
                if s != 0 and (s > 0) == (self.kind[f] == SINGLE):
                    for c in range(self.n_metrics):
                        u[c] = v[c]
            elif is_quotient(self.kind[f]):
                for c in range(self.n_metrics):
                    add_wide(u + c * width, v + c * width, u + c * width, width)
            else:
                for c in range(self.n_metrics):
                    u[c] = 0.5 * (u[c] + v[c])
            u += width * self.n_metrics
            v += width * self.n_metrics

    cdef void join_within(self, int i, int j) noexcept nogil:
        """The sums of squares inside the union of i and j."""
        cdef int m, width = self.width[0]
        cdef double* u
        for m in range(self.n_metrics):
            u = self.within + (i * self.n_metrics + m) * width
            add_wide(u, self.within + (j * self.n_metrics + m) * width, u, width)
            add_wide(u, self.parts(i, j) + m * width, u, width)

    cdef void join_deciding(self, int i, int j, int x, int f, int s) noexcept nogil:
        """`s` is the sign of (i, x) less (j, x); equal numbers join their pairs."""
        cdef int* entry = self.deciding + self.pair(i, x) * self.n_functions + f
        cdef int u = entry[0], v = self.deciding[self.pair(j, x) * self.n_functions + f]
        if self.kind[f] == SINGLE:
            entry[0] = u if s < 0 else v if s > 0 else min(u, v)
        else:
            entry[0] = u if s > 0 else v if s < 0 else max(u, v)
