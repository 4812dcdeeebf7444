"""The rows of the union of two clusters, from their rows.

Invariant: that of rows. A merge writes the rows of the new cluster and no column.
Cost: O(n) a merge, in loops over whole rows unless ties are tracked or a sum takes
more than two doubles.
"""

from libc.math cimport INFINITY, fabs
from libc.string cimport memcpy, memset

from .predicates cimport COMPLETE, SINGLE, TOLERANCE, is_quotient
from .row_loops cimport (
    add_weighed, join_greatest, join_least, join_middle, join_sums, weigh,
)


cdef class Unions(Rows):
    """Points at first, as `Rows`."""

    def __cinit__(self, *args):
        cdef int f
        self.in_rows = True
        for f in range(self.n_functions):
            self.in_rows = self.in_rows and self.width[f] <= 2

    cdef void merge(self, int i, int j, int node) noexcept nogil:
        """Merge slot j into slot i < j."""
        cdef int k, kept = 0
        if self.within != NULL:
            self.join_within(i, j, self.numbers(i, j, self.buffer))
        if self.in_rows and self.deciding == NULL:
            self.join_rows(i, j)
        else:
            self.join_entries(i, j)
        self.release(j)
        self.unite(i, j, node)
        self.time += 1
        self.born[i] = self.seen[i] = self.time
        self.absent[j] = INFINITY
        self.share[i] = 1.0 / self.size[i]
        for k in range(self.n_recent):
            self.recent[kept] = self.recent[k]
            kept += self.recent[k] != i and self.recent[k] != j
        self.recent[kept] = i
        self.n_recent = kept + 1
        self.mix_row(i)

    cdef void join_rows(self, int i, int j) noexcept nogil:
        """The exact numbers of the union of i and j, into rows of slot i."""
        cdef double** u = self.part_row + i * self.n_parts
        cdef double** v = self.part_row + j * self.n_parts
        cdef int f, n = self.n_columns
        self.own_parts(i)
        self.own_parts(j)
        for f in range(self.n_functions):
            if self.n_metrics > 1 and self.is_by_value(f):
                self.join_points(i, j, f)
                u += self.n_metrics
                v += self.n_metrics
                continue
            for _ in range(self.n_metrics):
                if self.kind[f] == SINGLE:
                    join_least(u[0], v[0], n)
                elif self.kind[f] == COMPLETE:
                    join_greatest(u[0], v[0], n)
                elif is_quotient(self.kind[f]):
                    join_sums(u[0], u[1], v[0], v[1], n)
                else:
                    join_middle(u[0], v[0], n)
                u += self.width[f]
                v += self.width[f]

    cdef void join_points(self, int i, int j, int f) noexcept nogil:
        """Single or complete linkage, that of the mixed metric, for several metrics."""
        cdef double** u = self.part_row + i * self.n_parts + self.offset[f]
        cdef double** v = self.part_row + j * self.n_parts + self.offset[f]
        cdef double* ours = self.take_row()
        cdef double* theirs = self.take_row()
        cdef bint single = self.kind[f] == SINGLE, taken
        cdef int a, x, m
        self.mix_metrics(ours, u)
        self.mix_metrics(theirs, v)
        for a in range(self.n_alive):
            x = self.alive[a]
            if x == i or x == j:
                continue
            taken = (ours[x] > theirs[x]) == single
            if fabs(ours[x] - theirs[x]) <= TOLERANCE * (ours[x] + theirs[x]):
                taken = self.is_taken(u, v, x, single)
            for m in range(self.n_metrics):
                u[m][x] = v[m][x] if taken else u[m][x]
        self.give_row(ours)
        self.give_row(theirs)

    cdef void mix_metrics(self, double* row, double** parts) noexcept nogil:
        cdef int m
        for m in range(self.n_metrics):
            (weigh if m == 0 else add_weighed)(
                row, parts[m], self.ones, self.beta[2 * m], self.n_columns
            )

    cdef bint is_taken(
        self, double** u, double** v, int x, bint single
    ) noexcept nogil:
        """Whether the distances of v and not of u decide between their union and x."""
        cdef double* ours = self.buffer
        cdef double* theirs = self.buffer + self.n_metrics
        cdef int m, s
        for m in range(self.n_metrics):
            ours[m] = u[m][x]
            theirs[m] = v[m][x]
        s = self.compare_points(ours, theirs)
        return s != 0 and (s > 0) == single

    cdef void own_parts(self, int i) noexcept nogil:
        """Bring the exact numbers of slot i up to date, in rows that it holds."""
        cdef double** row = self.part_row + i * self.n_parts
        cdef int f, m, c, p = 0, younger = self.first_after(self.born[i])
        if self.alone:
            self.refresh(i)
            return
        for f in range(self.n_functions):
            for m in range(self.n_metrics):
                for c in range(self.width[f]):
                    if self.born[i] == 0:
                        row[p] = self.take_row()
                        if c == 0:
                            self.copy_distances(row[p], i, m)
                        else:
                            memset(row[p], 0, self.n_columns * sizeof(double))
                    self.catch_up(row[p], i, self.part_row + p, self.n_parts, younger)
                    p += 1

    cdef void copy_distances(self, double* row, int i, int m) noexcept nogil:
        """The distances of a point from all others, under one metric."""
        cdef int a, x
        if self.n_metrics == 1 and self.within == NULL:
            memcpy(row, self.mixed_row[i], self.n_columns * sizeof(double))
            return
        for a in range(self.n_alive):
            x = self.alive[a]
            row[x] = self.distances[m, self.pair(i, x)] if x != i else 0.0

    cdef void join_entries(self, int i, int j) noexcept nogil:
        """The same entry by entry, for ties that are tracked and for wide sums."""
        cdef int a, x, p, step = self.n_parts
        cdef double* u = self.buffer
        cdef double* v = self.buffer + step
        cdef double** target = self.part_row + (j if self.born[i] == 0 else i) * step
        if target[0] == NULL:
            for p in range(step):
                target[p] = self.take_row()
        for a in range(self.n_alive):
            x = self.alive[a]
            if x == i or x == j:
                continue
            self.numbers(i, x, u)
            self.join_numbers(u, self.numbers(j, x, v), i, j, x)
            for p in range(step):
                target[p][x] = u[p]
        if self.born[i] == 0:
            for p in range(step):
                self.part_row[i * step + p], target[p] = (
                    target[p], self.part_row[i * step + p]
                )
            if self.alone:
                self.mixed_row[i], self.mixed_row[j] = (
                    self.mixed_row[j], self.mixed_row[i]
                )

    cdef void mix_row(self, int i) noexcept nogil:
        """The mixed values of a cluster just merged, from its exact numbers."""
        cdef double* row = self.mixed_row[i]
        cdef double** parts = self.part_row + i * self.n_parts
        cdef const double* share
        cdef double portion
        cdef bint begun = False
        cdef int f, m
        for f in range(self.n_functions if self.within == NULL else 0):
            share = self.share if is_quotient(self.kind[f]) else self.ones
            for m in range(self.n_metrics):
                portion = self.portion[f * self.n_metrics + m] * share[i]
                if portion != 0.0 and not self.alone:
                    (add_weighed if begun else weigh)(
                        row, parts[0], share, portion, self.n_columns
                    )
                    begun = True
                parts += self.width[f]
        if self.within != NULL:
            self.mix_entries(i)
        row[i] = INFINITY

    cdef void mix_entries(self, int i) noexcept nogil:
        """The same for Ward linkage."""
        cdef int a, x, m
        cdef const double* number
        cdef double total
        for a in range(self.n_alive):
            x = self.alive[a]
            if x == i:
                continue
            number = self.numbers(i, x, self.buffer)
            total = 0.0
            for m in range(self.n_metrics):
                total += self.portion[m] * self.shown(
                    number + m * self.width[0], 0, m, i, x
                )
            self.mixed_row[i][x] = total
