"""Loops over whole rows of doubles, written so that compilers vectorise them.

Every loop treats its columns alike and without branches; rows do not overlap. The
lanes of a minimum are an array, as one running minimum would chain all columns. None
of the values is rounded otherwise than one by one.
"""

from libc.math cimport INFINITY

cdef enum:
    LANES = 32
    BLOCK = 16


cdef inline void lane_minima(
    const double* row, const double* absent, int start, int stop, double* lane
) noexcept nogil:
    """The least of row + absent in the columns from start, lane by lane.

    Column x belongs to lane x % LANES. Columns from `stop` to the next multiple of
    LANES are read, and have to be absent. Absent ones may hold anything: infinity is
    added to them, and what is not a number is not less.
    """
    cdef Py_ssize_t x, k, whole = (start + LANES - 1) // LANES * LANES
    cdef double value
    for k in range(LANES):
        lane[k] = INFINITY
    for x in range(start, min(whole, stop)):
        value = row[x] + absent[x]
        lane[x % LANES] = value if value < INFINITY else INFINITY
    row += whole
    absent += whole
    for _ in range((stop - whole + LANES - 1) // LANES):
        for k in range(LANES):
            value = row[k] + absent[k]
            lane[k] = value if value < lane[k] else lane[k]
        row += LANES
        absent += LANES


cdef inline double least(const double* lane) noexcept nogil:
    """The least of all lanes, four chains of them at a time."""
    cdef double a = INFINITY, b = INFINITY, c = INFINITY, d = INFINITY
    cdef Py_ssize_t k = 0
    while k < LANES:
        a = lane[k] if lane[k] < a else a
        b = lane[k + 1] if lane[k + 1] < b else b
        c = lane[k + 2] if lane[k + 2] < c else c
        d = lane[k + 3] if lane[k + 3] < d else d
        k += 4
    return min(min(a, b), min(c, d))


cdef inline void join_least(double* u, const double* v, int n) noexcept nogil:
    cdef Py_ssize_t x
    for x in range(n):
        u[x] = v[x] if v[x] < u[x] else u[x]


cdef inline void join_greatest(double* u, const double* v, int n) noexcept nogil:
    cdef Py_ssize_t x
    for x in range(n):
        u[x] = v[x] if v[x] > u[x] else u[x]


cdef inline void join_middle(double* u, const double* v, int n) noexcept nogil:
    cdef Py_ssize_t x
    for x in range(n):
        u[x] = 0.5 * (u[x] + v[x])


cdef inline void join_sums(
    double* u, double* u_low, const double* v, const double* v_low, int n
) noexcept nogil:
    """Add numbers of two doubles, as `add_wide` does."""
    cdef Py_ssize_t x
    cdef double high, rest, low
    for x in range(n):
        high = u[x] + v[x]
        rest = high - u[x]
        rest = (u[x] - (high - rest)) + (v[x] - rest)
        low = rest + (u_low[x] + v_low[x])
        u[x] = high + low
        u_low[x] = low - (u[x] - high)


cdef inline void weigh(
    double* total, const double* row, const double* share, double weight, int n
) noexcept nogil:
    """total = weight * share * row."""
    cdef Py_ssize_t x
    for x in range(n):
        total[x] = weight * share[x] * row[x]


cdef inline void add_weighed(
    double* total, const double* row, const double* share, double weight, int n
) noexcept nogil:
    """total += weight * share * row."""
    cdef Py_ssize_t x
    for x in range(n):
        total[x] += weight * share[x] * row[x]


cdef inline void extend(
    const double* row, double* low, double* top, Py_ssize_t n
) noexcept nogil:
    """Lane by lane, the least positive and the largest value so far."""
    cdef double value, positive
    cdef Py_ssize_t x, k
    for _ in range(n // LANES):
        for k in range(LANES):
            value = row[k]
            positive = value if value > 0.0 else INFINITY
            low[k] = positive if positive < low[k] else low[k]
            top[k] = value if value > top[k] else top[k]
        row += LANES
    for x in range(n % LANES):
        value = row[x]
        positive = value if value > 0.0 else INFINITY
        low[x] = positive if positive < low[x] else low[x]
        top[x] = value if value > top[x] else top[x]


cdef inline int next_below(
    const double* starts, const double* ends, double rest, double t, double limit,
    int a, int end,
) noexcept nogil:
    """The first line from a on whose value at t is not above the limit, or `end`.

    Few are, so that whole blocks are passed over, in a form compilers vectorise.
    """
    cdef long long n_below
    cdef int i
    while a + BLOCK <= end:
        n_below = 0
        for i in range(BLOCK):
            n_below += rest * starts[a + i] + t * ends[a + i] <= limit
        if n_below:
            break
        a += BLOCK
    while a < end and rest * starts[a] + t * ends[a] > limit:
        a += 1
    return a
