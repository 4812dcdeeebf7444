"""Memory for the core's arrays."""

from libc.stdlib cimport calloc


cdef inline void* allocate(size_t count, size_t size) except NULL nogil:
    """`count` zeroed items; the owner frees them in its __dealloc__."""
    cdef void* block = calloc(count if count > 0 else 1, size)
    if block == NULL:
        with gil:
            raise MemoryError(f"{count * size} bytes for the core")
    return block


cdef class Workspace:
    cdef double* start
    cdef size_t size
