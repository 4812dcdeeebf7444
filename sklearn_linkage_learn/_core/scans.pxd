"""A scan over lines that compilers vectorise for the processor it runs on."""

cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) \
        && !defined(__clang__)
    #define SLL_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
    #else
    #define SLL_CLONES
    #endif

    #define SLL_SKIP(SIZE) \
        for (; a + SIZE <= end; a += SIZE) { \
            long long n_below = 0; \
            for (int i = a; i < a + SIZE; i++) \
                n_below += rest * starts[i] + t * ends[i] <= limit; \
            if (n_below) break; \
        }

    /* The first of the lines a, a + 1, ... whose value at t is not above the limit, or
       `end`. Few are, so that whole blocks are passed over. */
    SLL_CLONES static int sll_next_below(
        const double* starts, const double* ends, double rest, double t, double limit,
        int a, int end)
    {
        SLL_SKIP(32)
        SLL_SKIP(8)
        while (a < end && rest * starts[a] + t * ends[a] > limit) a++;
        return a;
    }
    """
    int next_below "sll_next_below"(
        const double* starts, const double* ends, double rest, double t, double limit,
        int a, int end,
    ) noexcept nogil
