"""Algorithm 1 of the paper: linkage clustering at fixed weights.

Invariant: each merge joins two clusters that are nearest to each other in the mixed
merge function, ties decided as everywhere (see predicates and clusters). Where the
mix is reducible the tree does not depend on the order in which such pairs are
merged, and the nearest-neighbour chain finds it in O(n^2) time; elsewhere the
globally nearest pair is merged each time, from row minima, in O(n^2) to O(n^3).
"""

cimport cython
from cpython.array cimport array
from libc.math cimport INFINITY, fabs
from libc.stdlib cimport free
from libc.string cimport memcpy

from .clusters cimport Clusters
from .memory cimport allocate
from .predicates cimport AVERAGE, COMPLETE, SINGLE, TOLERANCE


@cython.final
cdef class Run(Clusters):
    """A run at fixed weights, and the merges it has carried out so far."""

    cdef int n_merges
    cdef int[:, ::1] children       # by scipy's node ids
    cdef double[::1] heights
    cdef double* merged             # the line of the clusters of each merge
    cdef double* denominator        # what that is to be divided by
    cdef long long* earliest        # their earliest deciding point pair, or NULL
    cdef int* rank
    cdef int* links

    def __cinit__(self, *args):
        cdef Py_ssize_t n = self.n_points
        self.merged = <double*> allocate(n * self.n_line_parts, sizeof(double))
        self.denominator = <double*> allocate(n, sizeof(double))
        self.rank = <int*> allocate(2 * n, sizeof(int))
        self.links = <int*> allocate(n, sizeof(int))

    def __dealloc__(self):
        free(self.merged)
        free(self.denominator)
        free(self.earliest)
        free(self.rank)
        free(self.links)

    cdef void record(self, int i, int j) noexcept nogil:
        """Write down the merge of slots i and j, and carry it out."""
        cdef int step = self.n_merges
        if i > j:
            i, j = j, i
        self.children[step, 0] = min(self.node[i], self.node[j])
        self.children[step, 1] = max(self.node[i], self.node[j])
        self.heights[step] = self.mix(i, j)
        self.denominator[step] = self.below(i, j)
        memcpy(
            self.merged + step * self.n_line_parts,
            self.line(i, j, self.line_buffer),
            self.n_line_parts * sizeof(double),
        )
        self.merge(i, j, self.n_points + step)
        self.n_merges += 1

    cdef int nearest(self, int i, int after) except -2 nogil:
        """The slot nearest to i among those alive behind slot `after`, or -1."""
        cdef double value, best = INFINITY, above = INFINITY, below = INFINITY, means
        cdef int a, x, found = -1, other = self.n_functions - 1
        # The usual mixes are spelled out: this is where most of the time goes.
        cdef bint fast = (
            self.n_metrics == 1 and self.n_functions <= 2 and self.within == NULL
        )
        cdef bint first_is_mean = self.kind[0] == AVERAGE
        cdef bint second_is_mean = self.kind[other] == AVERAGE
        cdef double first = self.alpha[0], second = self.alpha[2] if other else 0.0
        cdef int at = self.offset[other]
        cdef const double* number
        for a in range(self.n_alive):
            x = self.alive[a]
            if x == i or x <= after:
                continue
            if fast:
                number = self.parts(i, x)
                means = self.share[i] * self.share[x]
                value = (
                    first * number[0] * (means if first_is_mean else 1.0)
                    + second * number[at] * (means if second_is_mean else 1.0)
                )
            else:
                value = self.mix(i, x)
            if value > above or (
                value >= below and self.compare(i, x, i, found) > 0
            ):
                continue
            found = x
            best = value
            above = best + (TOLERANCE * best + self.slack)
            below = best - (TOLERANCE * best + self.slack)
        return found

    cdef bint nearer(self, int i, int j, int k, int l) except? 1 nogil:
        """Whether slots (i, j) are nearer than (k, l)."""
        cdef double a = self.mix(i, j), b = self.mix(k, l)
        if fabs(a - b) > TOLERANCE * max(a, b) + self.slack:
            return a < b
        return self.compare(i, j, k, l) < 0

    cdef int chain(self) except -1 nogil:
        """Merge mutually nearest clusters along nearest-neighbour chains."""
        cdef int length = 0, i, j
        while self.n_alive > 1:
            if length == 0:
                self.links[0] = self.alive[0]
                length = 1
            while True:
                i = self.links[length - 1]
                j = self.nearest(i, -1)
                if length > 1 and j == self.links[length - 2]:
                    break
                self.links[length] = j
                length += 1
            length -= 2
            self.record(i, j)
        return 0

    cdef int greedy(self) except -1 nogil:
        """Merge the globally nearest pair, from each slot's nearest later slot."""
        cdef int* later = self.links
        cdef int a, x, i, j
        for i in range(self.n_points - 1):
            later[i] = self.nearest(i, i)
        while self.n_alive > 1:
            i = self.alive[0]
            for a in range(1, self.n_alive - 1):
                x = self.alive[a]
                if self.nearer(x, later[x], i, later[i]):
                    i = x
            j = later[i]
            self.record(i, j)
            for a in range(self.n_alive - 1):
                x = self.alive[a]
                if x == i or later[x] == i or later[x] == j:
                    later[x] = self.nearest(x, x)
                elif x < i and self.nearer(x, i, x, later[x]):
                    later[x] = i
        return 0

    cdef int precedes(self, int u, int v) except -1 nogil:
        """Whether merge u comes before merge v where the nearest pair goes first."""
        cdef double a = self.heights[u], b = self.heights[v]
        cdef int s
        if fabs(a - b) > TOLERANCE * max(a, b) + self.slack:
            return a < b
        s = self.compare_lines(
            self.merged + u * self.n_line_parts, self.denominator[u],
            self.merged + v * self.n_line_parts, self.denominator[v],
        )
        if s != 0:
            return s < 0
        if self.earliest == NULL:
            with gil:
                self.find_deciding_pairs()
        return self.earliest[u] < self.earliest[v]

    cdef int find_deciding_pairs(self) except -1:
        """Every merge's earliest deciding point pair, O(n^2) for all of them."""
        cdef Py_ssize_t n = self.n_points
        cdef int step, f
        members = [array("i", [i]) for i in range(n)]
        self.earliest = <long long*> allocate(n, sizeof(long long))
        for step in range(self.n_merges):
            left = members[self.children[step, 0]]
            right = members[self.children[step, 1]]
            self.earliest[step] = n * n
            for f in range(self.n_functions):
                self.earliest[step] = min(
                    self.earliest[step], self.decided_by(step, f, left, right)
                )
            members.append(left + right)
        return 0

    cdef long long decided_by(self, int step, int f, int[::1] a, int[::1] b):
        """The point pair of a x b that decides merge function f."""
        cdef const double* number = (
            self.merged + step * self.n_line_parts + self.offset[f]
        )
        cdef bint by_value = self.kind[f] == SINGLE or self.kind[f] == COMPLETE
        cdef Py_ssize_t u, v, low, high
        cdef long long pair, found = -1
        for u in range(a.shape[0]):
            for v in range(b.shape[0]):
                low = min(a[u], b[v])
                high = max(a[u], b[v])
                if by_value and not self.is_decided_by(low, high, number):
                    continue
                pair = low * self.n_points + high
                if found < 0 or ((pair > found) == (self.kind[f] == COMPLETE)):
                    found = pair
        return found

    cdef int sort(self) except -1 nogil:
        """Put the merges into the order of the greedy run (bottom-up merge sort)."""
        cdef int n = self.n_merges, run = 1, start, middle, end, a, b, out
        cdef int* source = self.rank
        cdef int* target = self.rank + max(n, 1)
        for a in range(n):
            source[a] = a
        while run < n:
            start = 0
            while start < n:
                middle = min(start + run, n)
                end = min(middle + run, n)
                a, b = start, middle
                for out in range(start, end):
                    if b >= end or (
                        a < middle and not self.precedes(source[b], source[a])
                    ):
                        target[out] = source[a]
                        a += 1
                    else:
                        target[out] = source[b]
                        b += 1
                start = end
            source, target = target, source
            run *= 2
        if source != self.rank:
            memcpy(self.rank, source, n * sizeof(int))
        return 0


def fixed_linkage(
    const double[:, ::1] distances,
    int n_points,
    const int[::1] kinds,
    int sum_width,
    double slack,
    const double[:, ::1] alpha,
    const double[:, ::1] beta,
    bint reducible,
    int[:, ::1] children,
    double[::1] heights,
):
    """Run linkage clustering at fixed weights into `children` and `heights`.

    Parameters
    ----------
    distances : (n_metrics, n_pairs) array
        Condensed distances.
    kinds : (n_functions,) array
        Codes of the merge functions.
    sum_width : int
        How many doubles hold any sum of distances exactly.
    slack : float
        Largest error of Ward's criterion in floats, besides a few roundings.
    alpha, beta : (n_functions, 2) and (n_metrics, 2) arrays
        Weights, each as the sum of two doubles.
    reducible : bool
        Whether the mix is reducible, so that chains find the greedy run's tree.

    Returns
    -------
    rank : (n_points - 1,) list
        The merges in the greedy run's order; `children` names them by their place
        in `children`.
    """
    cdef Run run = Run(distances, n_points, kinds, sum_width, slack)
    cdef int i
    run.children = children
    run.heights = heights
    run.set_weights(alpha, beta)
    with nogil:
        if reducible:
            run.chain()
            run.sort()
        else:
            run.greedy()
            for i in range(n_points - 1):
                run.rank[i] = i
    return [run.rank[i] for i in range(n_points - 1)]


def extent(const double[:, ::1] distances):
    """Return the least positive and the largest distance, zeros if there is none."""
    cdef double value, low = INFINITY, top = 0.0
    cdef Py_ssize_t metric, pair
    for metric in range(distances.shape[0]):
        for pair in range(distances.shape[1]):
            value = distances[metric, pair]
            if value > top:
                top = value
            if 0.0 < value < low:
                low = value
    return (low if top > 0.0 else 0.0), top
