"""Memory for the core's arrays."""

from libc.stdlib cimport calloc

cdef extern from *:
    """
    #ifdef SLL_CHECKED
    #include <string.h>
    #include <sanitizer/asan_interface.h>
    #define SLL_GAP 8
    static void sll_close_rows(double* start, size_t size)
    {
        __asan_poison_memory_region(start, size * sizeof(double));
    }
    static void sll_open_rows(double* row, size_t n_rows, size_t length)
    {
        for (; n_rows > 0; n_rows--, row += length + SLL_GAP) {
            __asan_unpoison_memory_region(row, length * sizeof(double));
            memset(row, 255, length * sizeof(double));
            if (n_rows > 1)
                sll_close_rows(row + length, SLL_GAP);
        }
    }
    #else
    #define SLL_GAP 0
    #define sll_close_rows(start, size) ((void) 0)
    #define sll_open_rows(start, n_rows, length) ((void) 0)
    #endif
    """
    # In a checked build (see setup.py) rows are GAP doubles apart. Who touches a gap or
    # a closed row is stopped, and the rows just opened hold no numbers. In other
    # builds there is no gap, and these functions do nothing.
    const size_t GAP "SLL_GAP"
    void close_rows "sll_close_rows"(double* start, size_t size) noexcept nogil
    void open_rows "sll_open_rows"(
        double* start, size_t n_rows, size_t length
    ) noexcept nogil


cdef inline void* allocate(size_t count, size_t size) except NULL nogil:
    """`count` zeroed items; the owner frees them in its __dealloc__."""
    cdef void* block = calloc(count if count > 0 else 1, size)
    if block == NULL:
        with gil:
            raise MemoryError(f"{count * size} bytes for the core")
    return block


cdef inline double* allocate_rows(size_t n_rows, size_t length) except NULL nogil:
    """One or more rows of doubles, GAP apart, with anything in them; freed likewise."""
    cdef double* rows = <double*> allocate(
        n_rows * (length + GAP) - GAP, sizeof(double)
    )
    open_rows(rows, n_rows, length)
    return rows


cdef class Workspace:
    cdef double* start
    cdef size_t size
    cdef size_t step            # doubles from row to row

    cdef inline double* row(self, size_t i) noexcept nogil:
        return self.start + i * self.step
