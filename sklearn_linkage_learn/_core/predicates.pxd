"""Exact arithmetic on float64: numbers as unevaluated sums of doubles.

Invariant: an Expansion's terms do not overlap and grow in magnitude, none is zero
unless it is the only one; its value is their exact sum, so the sign is that of the
last term. All of it holds while no product underflows: distances are scaled to a
maximum near 2**300 and parameters are 0 or at least SMALLEST, which leaves room
for a ratio of 2**1000 between distances. Cost: linear to quadratic in the terms.

The parameter lives on the doubles of [0, 1]: a decision at t means "just right of
t" (just left of 1 at t = 1), and a crossing is the smallest double behind it.
"""

from libc.math cimport fma, nextafter

cdef enum:
    CAPACITY = 192

cdef enum MergeFunction:
    SINGLE = 0
    COMPLETE = 1
    AVERAGE = 2
    WEIGHTED = 3
    WARD = 4

cdef extern from *:
    """
    /* A float filter errs by a few roundings; what is nearer is decided exactly. */
    #define SLL_TOLERANCE (1.0 / 281474976710656.0)
    /* The least positive parameter that is told from 0: 2**-100. */
    #define SLL_SMALLEST (1.0 / 1267650600228229401496703205376.0)
    #define SLL_NEVER 2.0
    """
    const double TOLERANCE "SLL_TOLERANCE"
    const double SMALLEST "SLL_SMALLEST"
    const double NEVER "SLL_NEVER"

cdef struct Expansion:
    int size
    double term[CAPACITY]


cdef inline void clear(Expansion* e) noexcept nogil:
    e.size = 1
    e.term[0] = 0.0


cdef inline void grow(Expansion* e, double b) noexcept nogil:
    """Add one double: e += b."""
    cdef double total = b, part, other, rest
    cdef int i, m = 0
    for i in range(e.size):
        part = e.term[i]
        other = total + part
        rest = other - total
        rest = (total - (other - rest)) + (part - rest)
        total = other
        if rest != 0.0:
            e.term[m] = rest
            m += 1
    if total != 0.0 or m == 0:
        e.term[m] = total
        m += 1
    e.size = m


cdef inline void compress(Expansion* e) noexcept nogil:
    """Rewrite e in as few terms as its bits need."""
    cdef double total, other, rest
    cdef int i, bottom = e.size - 1, m = 0
    total = e.term[bottom]
    for i in range(e.size - 2, -1, -1):
        other = total + e.term[i]
        rest = e.term[i] - (other - total)
        total = other
        if rest != 0.0:
            e.term[bottom] = total
            bottom -= 1
            total = rest
    e.term[bottom] = total
    for i in range(bottom + 1, e.size):
        other = e.term[i] + total
        rest = total - (other - e.term[i])
        total = other
        if rest != 0.0:
            e.term[m] = rest
            m += 1
    e.term[m] = total
    e.size = m + 1


cdef inline void add_scaled(Expansion* e, const Expansion* f, double b) noexcept nogil:
    """e += b * f."""
    cdef double product
    cdef int i
    for i in range(f.size):
        product = f.term[i] * b
        grow(e, fma(f.term[i], b, -product))
        grow(e, product)
    compress(e)


cdef inline void scale(Expansion* e, double b) noexcept nogil:
    """e *= b."""
    cdef Expansion copy
    copy.size = e.size
    cdef int i
    for i in range(e.size):
        copy.term[i] = e.term[i]
    clear(e)
    add_scaled(e, &copy, b)


cdef inline int sign(const Expansion* e) noexcept nogil:
    cdef double top = e.term[e.size - 1]
    return (top > 0.0) - (top < 0.0)


cdef inline double rounded(const Expansion* e) noexcept nogil:
    """The double nearest to e, or next to it."""
    cdef double total = 0.0
    cdef int i
    for i in range(e.size):
        total += e.term[i]
    return total


cdef inline void add_parts(
    Expansion* e, const double* parts, int width, double b
) noexcept nogil:
    """e += b * (the number stored as `width` doubles)."""
    cdef Expansion number
    cdef int i
    clear(&number)
    for i in range(width):
        grow(&number, parts[i])
    add_scaled(e, &number, b)


cdef inline int store(Expansion* e, double* parts, int width) noexcept nogil:
    """Write e as `width` doubles, largest first; -1 if they do not hold it."""
    cdef int i
    compress(e)
    for i in range(width):
        parts[i] = e.term[e.size - 1 - i] if i < e.size else 0.0
    return 0 if e.size <= width else -1


cdef inline void add_wide(
    const double* a, const double* b, double* out, int width
) noexcept nogil:
    """The sum of two stored numbers; exact when `width` doubles hold the result."""
    cdef double hi, rest, lo
    cdef Expansion e
    cdef int i
    if width == 1:
        out[0] = a[0] + b[0]
    elif width == 2:
        hi = a[0] + b[0]
        rest = hi - a[0]
        rest = (a[0] - (hi - rest)) + (b[0] - rest)
        lo = rest + (a[1] + b[1])
        out[0] = hi + lo
        out[1] = lo - (out[0] - hi)
    else:
        clear(&e)
        for i in range(width):
            grow(&e, a[i])
            grow(&e, b[i])
        store(&e, out, width)


cdef inline int compare_wide(
    const double* a, const double* b, int width
) noexcept nogil:
    """Sign of the difference of two stored numbers."""
    cdef Expansion e
    cdef int i
    if width == 1:
        return (a[0] > b[0]) - (a[0] < b[0])
    clear(&e)
    for i in range(width):
        grow(&e, a[i])
        grow(&e, -b[i])
    return sign(&e)


cdef inline bint is_quotient(MergeFunction kind) noexcept nogil:
    """Whether a number stands for a sum that is still to be divided."""
    return kind == AVERAGE or kind == WARD


cdef inline void difference(
    Expansion* e,
    MergeFunction kind,
    const double* a,
    const double* b,
    int width,
    double below_a,
    double below_b,
    bint quotients,
) noexcept nogil:
    """a - b for one merge function, times below_a * below_b if `quotients`.

    Average and Ward linkage keep numerators; clearing the denominators `below` in
    all merge functions of a mix keeps comparisons exact.
    """
    clear(e)
    if is_quotient(kind):
        add_parts(e, a, width, below_b)
        add_parts(e, b, width, -below_a)
        return
    add_parts(e, a, width, 1.0)
    add_parts(e, b, width, -1.0)
    if quotients:
        scale(e, below_a)
        scale(e, below_b)


# Ward's criterion, half the squared distance of centroids times the harmonic mean of
# the sizes, from sums of squared distances: of clusters of a and b points, `between`
# them and inside (`left`, `right`) each,
#     (between * a * b - left * b**2 - right * a**2) / (a * b * (a + b)).

cdef inline double ward_denominator(double a, double b) noexcept nogil:
    return a * b * (a + b)


cdef inline int ward_numerator(
    const double* between,
    const double* left,
    const double* right,
    int width,
    double a,
    double b,
    double* out,
) noexcept nogil:
    """The exact numerator, in width + 2 doubles."""
    cdef Expansion e
    clear(&e)
    add_parts(&e, between, width, a * b)
    add_parts(&e, left, width, -b * b)
    add_parts(&e, right, width, -a * a)
    return store(&e, out, width + 2)


cdef inline double ward_value(
    double between, double between_low, double left, double left_low,
    double right, double right_low, double a, double b,
) noexcept nogil:
    """The criterion to within a few roundings, and 2**-95 of the first term.

    The three terms may cancel, so that they are kept in two doubles each.
    """
    cdef double x = between * (a * b), y = left * (b * b), z = right * (a * a)
    cdef double first = x - y, second, low, back
    low = (
        fma(between, a * b, -x) + between_low * (a * b)
        - fma(left, b * b, -y) - left_low * (b * b)
        - fma(right, a * a, -z) - right_low * (a * a)
    )
    back = first - x
    low += (x - (first - back)) - (y + back)
    second = first - z
    back = second - first
    low += (first - (second - back)) - (z + back)
    return (second + low) / ward_denominator(a, b)


cdef inline int sign_at(
    const Expansion* start, const Expansion* end, double t
) noexcept nogil:
    """Sign of the line from `start` at 0 to `end` at 1, at t."""
    cdef Expansion e
    clear(&e)
    add_scaled(&e, start, 1.0)
    add_scaled(&e, start, -t)
    add_scaled(&e, end, t)
    return sign(&e)


cdef inline int order_at(
    const Expansion* start, const Expansion* end, double t
) noexcept nogil:
    """Sign of a line just right of t (just left of 1), 0 only if it vanishes."""
    cdef int s = sign_at(start, end, t)
    if s == 0:
        s = sign(end)
    if s == 0:
        s = sign(start)
    return s


cdef inline double first_negative(
    const Expansion* start, const Expansion* end
) noexcept nogil:
    """Smallest parameter from which on a line is negative, NEVER if it ends >= 0."""
    cdef double p, q, t, before
    if sign(end) >= 0:
        return NEVER
    if sign(start) <= 0:
        return 0.0
    p = rounded(start)
    q = rounded(end)
    t = p / (p - q)
    if t < SMALLEST:
        return SMALLEST
    while t < 1.0 and sign_at(start, end, t) > 0:
        t = nextafter(t, 2.0)
    before = nextafter(t, 0.0)
    while before >= SMALLEST and sign_at(start, end, before) <= 0:
        t = before
        before = nextafter(t, 0.0)
    return t if t < 1.0 else NEVER


cdef inline void gap_of_lines(
    double p, double q, double r, double s, Expansion* start, Expansion* end
) noexcept nogil:
    """The line (p, q) less the line (r, s)."""
    clear(start)
    grow(start, p)
    grow(start, -r)
    clear(end)
    grow(end, q)
    grow(end, -s)


cdef inline double crossing_bound(
    double p, double q, double p_other, double q_other, double slack
) noexcept nogil:
    """No later than where the line (p_other, q_other) gets below (p, q).

    The four values may be off by a few roundings and `slack`; NEVER is certain.
    """
    cdef double error = TOLERANCE * (p + q + p_other + q_other) + slack
    cdef double start = p_other - p, end = q_other - q
    if end > error:
        return NEVER
    if start <= error:
        return 0.0
    return (start - error) / (start - end + 2.0 * error) * (1.0 - TOLERANCE)
