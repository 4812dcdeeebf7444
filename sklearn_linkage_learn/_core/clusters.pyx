"""The clusters alive in one run, and exact comparisons of their merge functions.

Invariant: the numbers of two slots are each merge function between their clusters
under each metric, exactly: single and complete linkage as the distances of the point
pair that decides under the mixed metric, average and Ward linkage as sums over point
pairs, in several doubles. Subclasses keep them. Merging two slots keeps the lower
one. Comparisons are O(1) and decide ties by the deciding point pairs. These are
searched for among the points at first, and tracked for all cluster pairs in
2 * n_functions * n^2 bytes once that has taken SEARCHES looks a point.
"""

from libc.limits cimport INT_MAX
from libc.math cimport fabs
from libc.stdlib cimport free
from libc.string cimport memmove

from .interrupts cimport Poll
from .memory cimport allocate
from .predicates cimport (
    COMPLETE, Expansion, MergeFunction, SINGLE, TOLERANCE, WARD,
    add_scaled, add_wide, clear, difference, grow, is_quotient, sign, ward_numerator,
)

cdef enum:
    SEARCHES = 64


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
        self.poll = Poll()
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
        self.buffer = <double*> allocate(2 * self.n_parts, sizeof(double))
        for i in range(n_points):
            self.alive[i] = self.first[i] = self.node[i] = self.last[i] = i
            self.next[i] = -1
            self.size[i] = 1
            self.row[i] = i * n - <Py_ssize_t> i * (i + 1) // 2 - i - 1

    def __dealloc__(self):
        free(self.kind)
        free(self.width)
        free(self.offset)
        free(self.alpha)
        free(self.beta)
        free(self.within)
        free(self.weight)
        free(self.line_buffer)
        free(self.buffer)
        free(self.deciding)
        free(self.alive)
        free(self.size)
        free(self.first)
        free(self.node)
        free(self.owner)
        free(self.last)
        free(self.next)
        free(self.row)

    cdef const double* numbers(self, int i, int j, double* buffer) noexcept nogil:
        """All numbers kept for two slots, maybe in `buffer`; subclasses know."""
        return NULL

    cdef void point_numbers(self, Py_ssize_t pair, double* number) noexcept nogil:
        """The numbers of two clusters that are points."""
        cdef int f, m, c
        for f in range(self.n_functions):
            for m in range(self.n_metrics):
                number[0] = self.distances[m, pair]
                for c in range(1, self.width[f]):
                    number[c] = 0.0
                number += self.width[f]

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
            x = self.first[self.alive[a]]
            while x >= 0:
                self.owner[x] = self.alive[a]
                x = self.next[x]

    cdef const double* line(self, int i, int j, double* buffer) noexcept nogil:
        """The numbers of two slots that are compared: Ward's are put together."""
        cdef int m, width = self.width[0]
        cdef const double* number
        if self.within == NULL:
            return self.numbers(i, j, buffer)
        number = self.numbers(i, j, self.buffer)
        for m in range(self.n_metrics):
            ward_numerator(
                number + m * width,
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
        if self.deciding == NULL and self.n_searched > SEARCHES * self.n_points:
            self.track_deciding_pairs()
        return -1 if self.deciding_pair(i, j) < self.deciding_pair(k, l) else 1

    cdef long long deciding_pair(self, int i, int j) noexcept nogil:
        """The earliest point pair that decides any merge function of (i, j).

        A point pair is named by its place in condensed order.
        """
        cdef long long best = self.distances.shape[1]
        cdef int f
        if self.deciding == NULL:
            return self.search_deciding_pair(
                self.numbers(i, j, self.buffer),
                self.first[i], self.size[i], self.first[j], self.size[j],
            )
        for f in range(self.n_functions):
            best = min(
                best,
                self.deciding[self.pair(i, j) * self.n_functions + f]
                if self.is_by_value(f) else self.pair(i, j),
            )
        return best

    cdef long long search_deciding_pair(
        self, const double* number, int a, int size_a, int b, int size_b
    ) noexcept nogil:
        """The same for clusters whose lists of points start at a and b."""
        cdef long long best = self.distances.shape[1]
        cdef int f
        for f in range(self.n_functions):
            best = min(
                best,
                self.search(f, number + self.offset[f], a, size_a, b, size_b)
                if self.is_by_value(f) else self.row[min(a, b)] + max(a, b),
            )
        return best

    cdef long long search(
        self, int f, const double* number, int a, int size_a, int b, int size_b
    ) noexcept nogil:
        """The point pair that decides single or complete linkage."""
        cdef Py_ssize_t low, high
        cdef long long pair, found = -1
        cdef int x = a, y
        self.n_searched += <long long> size_a * size_b
        for _ in range(size_a):
            y = b
            for _ in range(size_b):
                low = min(x, y)
                high = max(x, y)
                pair = self.row[low] + high
                # Of equal point pairs, single takes the first, complete the last.
                if (
                    found < 0 or (pair > found) == (self.kind[f] == COMPLETE)
                ) and self.is_decided_by(low, high, number):
                    found = pair
                y = self.next[y]
            x = self.next[x]
        return found

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

    cdef int track_deciding_pairs(self) except -1 nogil:
        """Find which point pair decides each entry; merges keep it up from here."""
        cdef Py_ssize_t n = self.n_points, entry, n_entries
        cdef const double* number
        cdef int f, i, j, a, b
        if self.deciding != NULL:
            return 0
        if self.distances.shape[1] > INT_MAX:
            raise OverflowError(
                f"ties are told apart among 65536 points, not among {self.n_points}"
            )
        n_entries = self.distances.shape[1] * self.n_functions
        self.deciding = <int*> allocate(n_entries, sizeof(int))
        for entry in range(n_entries):
            self.deciding[entry] = -1
        self.find_owners()
        for i in range(n):
            self.poll.spend(4 * (n - i))
            for j in range(i + 1, n):
                a = self.owner[i]
                b = self.owner[j]
                if a == b:
                    continue
                number = self.numbers(a, b, self.buffer)
                for f in range(self.n_functions):
                    if not self.is_by_value(f):
                        continue
                    entry = self.pair(a, b) * self.n_functions + f
                    # Points come in order: single keeps the first, complete the last.
                    if (
                        self.deciding[entry] < 0 or self.kind[f] == COMPLETE
                    ) and self.is_decided_by(i, j, number + self.offset[f]):
                        self.deciding[entry] = self.row[i] + j
        return 0

    cdef void unite(self, int i, int j, int node) noexcept nogil:
        """Slot i takes over the points of slot j > i."""
        cdef int low = 0, high = self.n_alive - 1, middle
        while low < high:
            middle = (low + high) // 2
            if self.alive[middle] < j:
                low = middle + 1
            else:
                high = middle
        self.n_alive -= 1
        memmove(
            self.alive + low, self.alive + low + 1, (self.n_alive - low) * sizeof(int)
        )
        self.size[i] += self.size[j]
        self.node[i] = node
        self.next[self.last[i]] = self.first[j]
        self.last[i] = self.last[j]

    cdef void join_numbers(
        self, double* u, const double* v, int i, int j, int x
    ) noexcept nogil:
        """Make u, the numbers of (i, x), those of the union of i and j; v are (j, x).
        """
        cdef int f, c, s, width
        for f in range(self.n_functions):
            width = self.width[f]
            if self.is_by_value(f):
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

    cdef void join_within(self, int i, int j, const double* number) noexcept nogil:
        """The sums of squares inside the union of i and j, `number` between them."""
        cdef int m, width = self.width[0]
        cdef double* u
        for m in range(self.n_metrics):
            u = self.within + (i * self.n_metrics + m) * width
            add_wide(u, self.within + (j * self.n_metrics + m) * width, u, width)
            add_wide(u, number + m * width, u, width)

    cdef void join_deciding(self, int i, int j, int x, int f, int s) noexcept nogil:
        """`s` is the sign of (i, x) less (j, x); equal numbers join their pairs."""
        cdef int* entry = self.deciding + self.pair(i, x) * self.n_functions + f
        cdef int u = entry[0], v = self.deciding[self.pair(j, x) * self.n_functions + f]
        if self.kind[f] == SINGLE:
            entry[0] = u if s < 0 else v if s > 0 else min(u, v)
        else:
            entry[0] = u if s > 0 else v if s < 0 else max(u, v)
