"""The numbers of a run's clusters at fixed weights, in rows that are scanned.

Invariant: what two clusters have between them stands in the row of the one that was
merged last, the exact numbers in rows of their own and the mix of them, in floats and
by weights that sum to one, in another. Between points all numbers are distances, so
that points have the row of the mix only. Older clusters read from the rows of younger
ones what has changed when they are scanned or merged themselves. Slots no longer in
use are columns to skip until half of all are. Cost: O(n) a scan. Rows change hands, so
that max(2, 1 + n_parts) * 4 * n^2 bytes suffice.
"""

from libc.math cimport INFINITY
from libc.stdlib cimport free
from libc.string cimport memcpy

from .memory cimport Workspace, allocate, close_rows, open_rows
from .row_loops cimport LANES, add_weighed, lane_minima, least, weigh

cdef enum:
    TILE = 32


cdef class Rows(Clusters):
    """Points at first; `alpha` and `beta` are weights as sums of two doubles."""

    def __cinit__(
        self,
        const double[:, ::1] distances,
        int n_points,
        const int[::1] kinds,
        int sum_width,
        double slack,
        const double[:, ::1] alpha,
        const double[:, ::1] beta,
    ):
        cdef Py_ssize_t n = n_points, n_rows, i
        self.alone = self.n_parts == 1 and not self.quotients
        self.n_columns = n
        self.stride = (n + LANES - 1) // LANES * LANES
        # Columns of rows that are a multiple of a page apart share few cache lines.
        if self.stride % 512 == 0:
            self.stride += LANES
        n_rows = max(n, (1 + self.n_parts) * ((n + 1) // 2)) + 2 * self.n_parts + 2
        self.memory = Workspace(n_rows, self.stride)
        self.spare = <double**> allocate(n_rows, sizeof(double*))
        self.mixed_row = <double**> allocate(n, sizeof(double*))
        self.part_row = <double**> allocate(n * self.n_parts, sizeof(double*))
        self.portion = <double*> allocate(
            self.n_functions * self.n_metrics, sizeof(double)
        )
        self.absent = <double*> allocate(self.stride, sizeof(double))
        self.share = <double*> allocate(self.stride, sizeof(double))
        self.ones = <double*> allocate(self.stride, sizeof(double))
        self.born = <int*> allocate(n, sizeof(int))
        self.seen = <int*> allocate(n, sizeof(int))
        self.recent = <int*> allocate(n, sizeof(int))
        self.place = <int*> allocate(n, sizeof(int))
        self.candidate = <int*> allocate(n, sizeof(int))
        self.n_spare = n_rows
        for i in range(n_rows):
            self.spare[n_rows - 1 - i] = self.memory.row(i)
        for i in range(self.stride):
            self.absent[i] = 0.0 if i < n else INFINITY
            self.share[i] = self.ones[i] = 1.0
        self.set_weights(alpha, beta)
        with nogil:
            self.load_points()

    def __dealloc__(self):
        free(self.spare)
        free(self.mixed_row)
        free(self.part_row)
        free(self.portion)
        free(self.absent)
        free(self.share)
        free(self.ones)
        free(self.born)
        free(self.seen)
        free(self.recent)
        free(self.place)
        free(self.candidate)

    cdef int set_weights(
        self, const double[:, ::1] alpha, const double[:, ::1] beta
    ) except -1:
        cdef double total = 0.0
        cdef int f, m
        Clusters.set_weights(self, alpha, beta)
        for f in range(self.n_functions):
            for m in range(self.n_metrics):
                total += alpha[f, 0] * beta[m, 0]
        for f in range(self.n_functions):
            for m in range(self.n_metrics):
                self.portion[f * self.n_metrics + m] = alpha[f, 0] * beta[m, 0] / total
        return 0

    cdef int load_points(self) except -1 nogil:
        """Write all distances twice, tile by tile as columns are far apart."""
        cdef int n = self.n_points, n_tiles = (n + TILE - 1) // TILE, i, j, top, left
        cdef double* row
        for i in range(n):
            row = self.take_row()
            self.mixed_row[i] = row
            if self.alone:
                self.part_row[i] = row
            self.load_distances(row, i)
            row[i] = INFINITY
            for j in range(n, self.stride):
                row[j] = INFINITY
            self.poll.spend(n)
        for top in range(n_tiles):
            self.poll.spend((top + 1) * TILE * TILE)
            for left in range(top + 1):
                for i in range(top * TILE, min((top + 1) * TILE, n)):
                    row = self.mixed_row[i]
                    for j in range(left * TILE, min((left + 1) * TILE, i)):
                        row[j] = self.mixed_row[j][i]
        return 0

    cdef void load_distances(self, double* row, int i) noexcept nogil:
        """The mixed values of point i and those behind it."""
        cdef int f, m, behind = self.n_points - i - 1
        # Ward's criterion of two points is half their squared distance.
        cdef double weight, half = 1.0 if self.within == NULL else 0.5
        row += i + 1
        if behind > 0 and self.n_metrics == 1 and self.within == NULL:
            memcpy(
                row, &self.distances[0, self.row[i] + i + 1], behind * sizeof(double)
            )
        elif behind > 0:
            for m in range(self.n_metrics):
                weight = 0.0
                for f in range(self.n_functions):
                    weight += self.portion[f * self.n_metrics + m]
                (weigh if m == 0 else add_weighed)(
                    row, &self.distances[m, self.row[i] + i + 1], self.ones,
                    half * weight, behind,
                )

    cdef double* take_row(self) noexcept nogil:
        self.n_spare -= 1
        open_rows(self.spare[self.n_spare], 1, self.stride)
        return self.spare[self.n_spare]

    cdef void give_row(self, double* row) noexcept nogil:
        close_rows(row, self.stride)
        self.spare[self.n_spare] = row
        self.n_spare += 1

    cdef const double* numbers(self, int i, int j, double* buffer) noexcept nogil:
        cdef int p
        if self.born[i] < self.born[j]:
            i, j = j, i
        if self.born[i] == 0:
            self.point_numbers(self.pair(i, j), buffer)
        else:
            for p in range(self.n_parts):
                buffer[p] = self.part_row[i * self.n_parts + p][j]
        return buffer

    cdef int n_candidates(self, const double* values, int start) noexcept nogil:
        """Find the columns from `start` on that may hold the least of some values.

        They are written to `candidate`: one, unless others are as near as rounding
        can move them.
        """
        cdef double[LANES] lane
        cdef double limit
        cdef int k, x, found = 0
        lane_minima(values, self.absent, start, self.n_columns, lane)
        limit = least(lane)
        limit += self.margin(limit)
        for k in range(LANES):
            if lane[k] > limit:
                continue
            x = k
            while x < self.n_columns:
                # Values that have overflowed are no numbers, and all equal.
                if x >= start and self.absent[x] == 0.0 and not values[x] > limit:
                    self.candidate[found] = x
                    found += 1
                x += LANES
        return found

    cdef void refresh(self, int i) noexcept nogil:
        """Bring the mixed values of slot i up to date."""
        self.catch_up(
            self.mixed_row[i], i, self.mixed_row, 1, self.first_after(self.seen[i])
        )
        self.seen[i] = self.time

    cdef int first_after(self, int time) noexcept nogil:
        """Where in `recent` the clusters begin that were born after some time."""
        cdef int k = self.n_recent
        while k > 0 and self.born[self.recent[k - 1]] > time:
            k -= 1
        return k

    cdef void catch_up(
        self, double* row, int i, double** rows, int step, int first
    ) noexcept nogil:
        """Read into a row of slot i what the clusters from `first` on know of it."""
        cdef Py_ssize_t k, x, column = i
        for k in range(first, self.n_recent):
            x = self.recent[k]
            row[x] = rows[x * step][column]

    cdef void release(self, int j) noexcept nogil:
        """Give back the rows of slot j."""
        cdef int p
        cdef double** parts = self.part_row + j * self.n_parts
        self.give_row(self.mixed_row[j])
        for p in range(self.n_parts):
            if parts[p] != NULL and not self.alone:
                self.give_row(parts[p])
            parts[p] = NULL

    cdef void close_gaps(self) noexcept nogil:
        """Number the slots in use from 0 on; `place` says where each has gone."""
        cdef int a, x, p, k, m = self.n_alive, step = self.n_parts
        for a in range(m):
            x = self.alive[a]
            self.place[x] = a
            self.squeeze(self.mixed_row[x])
            if self.born[x] > 0 and not self.alone:
                for p in range(step):
                    self.squeeze(self.part_row[x * step + p])
            self.mixed_row[a] = self.mixed_row[x]
            for p in range(step):
                self.part_row[a * step + p] = self.part_row[x * step + p]
            if self.within != NULL:
                for k in range(self.n_within):
                    self.within[a * self.n_within + k] = (
                        self.within[x * self.n_within + k]
                    )
            self.size[a] = self.size[x]
            self.first[a] = self.first[x]
            self.node[a] = self.node[x]
            self.last[a] = self.last[x]
            self.born[a] = self.born[x]
            self.seen[a] = self.seen[x]
            self.share[a] = self.share[x]
        for a in range(m):
            self.alive[a] = a
            self.absent[a] = 0.0
        for a in range(m, self.n_columns):
            self.absent[a] = INFINITY
        for k in range(self.n_recent):
            self.recent[k] = self.place[self.recent[k]]
        self.n_columns = m

    cdef void squeeze(self, double* row) noexcept nogil:
        """Move the entries of the slots in use together."""
        cdef int a
        for a in range(self.n_alive):
            row[a] = row[self.alive[a]]
