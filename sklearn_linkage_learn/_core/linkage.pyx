"""Algorithm 1 of the paper: linkage clustering at fixed weights.

Invariant: each merge joins two clusters that are nearest to each other in the mixed
merge function, ties decided as everywhere (see predicates and clusters). Where the
mix is reducible the tree does not depend on the order in which such pairs are
merged, and the nearest-neighbour chain finds it in O(n^2) time; elsewhere the
globally nearest pair is merged each time, from row minima, in O(n^2) to O(n^3).
"""

cimport cython
from libc.math cimport INFINITY, fabs
from libc.stdlib cimport free
from libc.string cimport memcpy

from .memory cimport allocate
from .predicates cimport TOLERANCE
from .row_loops cimport LANES, extend, least
from .unions cimport Unions


@cython.final
cdef class Run(Unions):
    """A run at fixed weights, and the merges it has carried out so far."""

    cdef int n_merges
    cdef int* child                 # [merge][2] by scipy's node ids
    cdef int* child_first           # [merge][2] their smallest points
    cdef int* child_size            # [merge][2] and how many there are
    cdef double* height
    cdef double* merged             # the line of the clusters of each merge
    cdef double* denominator        # what that is to be divided by
    cdef long long* earliest        # their earliest deciding point pair, or -1
    cdef int* delayed               # per merge: itself, or one below that is farther
    cdef int* rank                  # the merges in the order of the greedy run
    cdef int* link                  # a chain of slots; or each slot's nearest later one
    cdef double* nearest_value      # and how near that is

    def __cinit__(self, *args):
        cdef Py_ssize_t n = self.n_points, step
        self.child = <int*> allocate(2 * n, sizeof(int))
        self.child_first = <int*> allocate(2 * n, sizeof(int))
        self.child_size = <int*> allocate(2 * n, sizeof(int))
        self.height = <double*> allocate(n, sizeof(double))
        self.merged = <double*> allocate(n * self.n_line_parts, sizeof(double))
        self.denominator = <double*> allocate(n, sizeof(double))
        self.earliest = <long long*> allocate(n, sizeof(long long))
        self.delayed = <int*> allocate(n, sizeof(int))
        self.rank = <int*> allocate(2 * n, sizeof(int))
        self.link = <int*> allocate(n, sizeof(int))
        self.nearest_value = <double*> allocate(self.stride, sizeof(double))
        for step in range(n):
            self.earliest[step] = -1

    def __dealloc__(self):
        free(self.child)
        free(self.child_first)
        free(self.child_size)
        free(self.height)
        free(self.merged)
        free(self.denominator)
        free(self.earliest)
        free(self.delayed)
        free(self.rank)
        free(self.link)
        free(self.nearest_value)

    cdef void record(self, int i, int j) noexcept nogil:
        """Write down the merge of slots i and j, and carry it out."""
        cdef int step = self.n_merges, side, slot
        if i > j:
            i, j = j, i
        for side in range(2):
            slot = j if side else i
            self.child[2 * step + side] = self.node[slot]
            self.child_first[2 * step + side] = self.first[slot]
            self.child_size[2 * step + side] = self.size[slot]
        self.height[step] = self.mix(self.numbers(i, j, self.buffer), i, j)
        self.denominator[step] = self.below(i, j)
        memcpy(
            self.merged + step * self.n_line_parts,
            self.line(i, j, self.line_buffer),
            self.n_line_parts * sizeof(double),
        )
        self.merge(i, j, self.n_points + step)
        self.rank[step] = step
        self.n_merges += 1

    cdef int nearest(self, int i, int start) except -2 nogil:
        """The slot nearest to i among those from slot `start` on."""
        cdef int c, x, n_candidates, found = -1
        self.poll.spend(2 * self.n_columns)
        self.refresh(i)
        n_candidates = self.n_candidates(self.mixed_row[i], start)
        for c in range(n_candidates):
            x = self.candidate[c]
            if x != i and (found < 0 or self.compare(i, x, i, found) < 0):
                found = x
        return found

    cdef int chain(self) except -1 nogil:
        """Merge mutually nearest clusters along nearest-neighbour chains."""
        cdef int* link = self.link
        cdef int length = 0, i, j, k
        while self.n_alive > 1:
            if length == 0:
                link[0] = self.alive[0]
                length = 1
            while True:
                i = link[length - 1]
                j = self.nearest(i, 0)
                if length > 1 and j == link[length - 2]:
                    break
                link[length] = j
                length += 1
            length -= 2
            self.record(i, j)
            if 2 * self.n_alive < self.n_columns:
                self.close_gaps()
                for k in range(length):
                    link[k] = self.place[link[k]]
        return 0

    cdef int greedy(self) except -1 nogil:
        """Merge the globally nearest pair, from each slot's nearest later slot."""
        cdef int* later = self.link
        cdef int a, x, i, j
        for i in range(self.n_points - 1):
            self.find_later(i)
        while self.n_alive > 1:
            self.nearest_value[self.alive[self.n_alive - 1]] = INFINITY
            i = self.nearest_pair()
            j = later[i]
            self.record(i, j)
            self.poll.spend(2 * self.n_columns)
            for a in range(self.n_alive - 1):
                x = self.alive[a]
                if x == i or later[x] == i or later[x] == j:
                    self.find_later(x)
                elif x < i and self.is_nearer(x, i, later[x]):
                    later[x] = i
                    self.nearest_value[x] = self.value(x, i)
            if 2 * self.n_alive < self.n_columns:
                self.close_gaps_of_greedy()
        return 0

    cdef int find_later(self, int x) except -1 nogil:
        """Find the nearest slot behind x."""
        self.link[x] = self.nearest(x, x + 1)
        self.nearest_value[x] = self.value(x, self.link[x])
        return 0

    cdef int nearest_pair(self) except -2 nogil:
        """The slot that is nearest to its nearest later one."""
        cdef int* later = self.link
        cdef int c, x, n_candidates, found = -1
        n_candidates = self.n_candidates(self.nearest_value, 0)
        for c in range(n_candidates):
            x = self.candidate[c]
            if x == self.alive[self.n_alive - 1]:
                continue
            if found < 0 or self.compare(x, later[x], found, later[found]) < 0:
                found = x
        return found

    cdef bint is_nearer(self, int x, int i, int j) except? 1 nogil:
        """Whether slot i is nearer to x than j is."""
        cdef double a = self.value(x, i), b = self.nearest_value[x]
        if fabs(a - b) > self.margin(max(a, b)):
            return a < b
        return self.compare(x, i, x, j) < 0

    cdef void close_gaps_of_greedy(self) noexcept nogil:
        """Renumber the slots, and what is known of each."""
        cdef int a, x
        # Slots move down and in order, so that none is overwritten that is needed.
        for a in range(self.n_alive):
            x = self.alive[a]
            self.link[a] = self.link[x]
            self.nearest_value[a] = self.nearest_value[x]
        self.close_gaps()
        for a in range(self.n_alive - 1):
            self.link[a] = self.place[self.link[a]]

    cdef void find_delays(self) noexcept nogil:
        """Find merges that are nearer than one that they build on.

        Only the rounding of weighted linkage makes such. The greedy run carries them
        out right after that one.
        """
        cdef int step, side, below
        for step in range(self.n_merges):
            self.delayed[step] = step
            for side in range(2):
                below = self.child[2 * step + side] - self.n_points
                if below >= 0 and self.is_nearer_merge(
                    self.delayed[step], self.delayed[below]
                ):
                    self.delayed[step] = self.delayed[below]

    cdef bint precedes(self, int u, int v) noexcept nogil:
        """Whether merge u comes before merge v where the nearest pair goes first."""
        if self.delayed[u] == self.delayed[v]:
            return u < v
        return self.is_nearer_merge(self.delayed[u], self.delayed[v])

    cdef bint is_nearer_merge(self, int u, int v) noexcept nogil:
        """Whether the clusters of merge u were nearer than those of merge v."""
        cdef double a = self.height[u], b = self.height[v]
        cdef int s
        if fabs(a - b) > TOLERANCE * max(a, b) + self.slack:
            return a < b
        s = self.compare_lines(
            self.merged + u * self.n_line_parts, self.denominator[u],
            self.merged + v * self.n_line_parts, self.denominator[v],
        )
        if s != 0:
            return s < 0
        return self.earliest_pair(u) < self.earliest_pair(v)

    cdef long long earliest_pair(self, int step) noexcept nogil:
        """A merge's earliest deciding point pair, O(n^2) for all merges together.

        The points of a cluster stay next to each other in the lists of its unions.
        """
        if self.earliest[step] < 0:
            self.earliest[step] = self.search_deciding_pair(
                self.merged + step * self.n_line_parts,
                self.child_first[2 * step], self.child_size[2 * step],
                self.child_first[2 * step + 1], self.child_size[2 * step + 1],
            )
        return self.earliest[step]

    cdef void sort(self) noexcept nogil:
        """Put the merges into the order of the greedy run (bottom-up merge sort)."""
        cdef int n = self.n_merges, run = 1, start, middle, end, a, b, out
        cdef int* source = self.rank
        cdef int* target = self.rank + self.n_points
        self.find_delays()
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

    cdef void write(
        self, int[:, ::1] children, double[::1] heights, int[::1] sizes
    ) noexcept nogil:
        """Write the merges in the order of `rank`, and name them by it."""
        cdef int n = self.n_points, place, step, left, right
        cdef int* name = self.rank + n
        for place in range(self.n_merges):
            name[self.rank[place]] = n + place
        for place in range(self.n_merges):
            step = self.rank[place]
            left = self.child[2 * step]
            right = self.child[2 * step + 1]
            if left >= n:
                left = name[left - n]
            if right >= n:
                right = name[right - n]
            children[place, 0] = min(left, right)
            children[place, 1] = max(left, right)
            heights[place] = self.height[step]
            sizes[place] = self.child_size[2 * step] + self.child_size[2 * step + 1]


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
    int[::1] sizes,
):
    """Run linkage clustering at fixed weights.

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
    children, heights, sizes : (n_points - 1, 2) and (n_points - 1,) arrays
        The merges are written here, in the greedy run's order.
    """
    cdef Run run = Run(distances, n_points, kinds, sum_width, slack, alpha, beta)
    with nogil:
        if reducible:
            run.chain()
            run.sort()
        else:
            run.greedy()
        run.write(children, heights, sizes)


def extent(const double[:, ::1] distances):
    """Return the least positive and the largest distance, zeros if there is none."""
    cdef double[LANES] lows
    cdef double[LANES] tops
    cdef Py_ssize_t metric, k
    cdef double top = 0.0
    for k in range(LANES):
        lows[k] = INFINITY
        tops[k] = 0.0
    for metric in range(distances.shape[0] if distances.shape[1] else 0):
        extend(&distances[metric, 0], lows, tops, distances.shape[1])
    for k in range(LANES):
        top = max(top, tops[k])
    return (least(lows) if top > 0.0 else 0.0), top
