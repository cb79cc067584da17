"""Integer arithmetic that reports overflow: sets the last argument; true on overflow."""

from libc.stdint cimport int64_t, uint64_t

cdef extern from *:
    bint add_overflows "__builtin_add_overflow"(int64_t, int64_t, int64_t*) noexcept
    bint subtract_overflows "__builtin_sub_overflow"(int64_t, int64_t, int64_t*) noexcept
    bint multiply_overflows "__builtin_mul_overflow"(int64_t, int64_t, int64_t*) noexcept
    bint add_overflows_unsigned "__builtin_add_overflow"(uint64_t, uint64_t, uint64_t*) noexcept
    bint multiply_overflows_unsigned "__builtin_mul_overflow"(
        uint64_t, uint64_t, uint64_t*) noexcept
