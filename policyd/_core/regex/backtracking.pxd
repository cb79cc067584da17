"""Finds all matches of a regular expression in a string, in linear time."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

from policyd._core.regex.dfa cimport Dfa
from policyd._core.values.activation cimport Activation


cdef class Backtracking:
    cdef Dfa dfa          # owner of the program
    cdef int kind         # of the text: bytes of a character
    cdef void *text
    cdef str owner        # of the text
    cdef bytearray bits   # owner of ``failed``
    cdef uint8_t *failed
    cdef int64_t size     # of the text
    cdef int64_t *waiting  # stack of position * length of the program + instruction
    cdef int64_t room      # of the stack
    cdef int64_t depth
    cdef int64_t end      # of the match that was found
    # The characters of the text beyond ASCII, in order. ``table`` has a bit per set and such
    # character: whether the set has it.
    cdef str others
    cdef int other_kind
    cdef void *other_data
    cdef int64_t other_count
    cdef bytearray table_bits  # owner of ``table``
    cdef uint8_t *table
    cdef uint32_t last_char    # the last character that was looked up, and its place
    cdef int64_t last_place

    cdef int64_t next(self, Activation act, int64_t at) except -2
    cdef bint completes(self, Activation act, int64_t start) except -1
    cdef int learn(self, Activation act) except -1
    cdef int64_t place(self, uint32_t char) noexcept
    cdef bint has(self, uint16_t index, uint32_t char) noexcept
    cdef uint32_t at(self, int64_t position) noexcept
    cdef int push(self, int64_t position, int64_t instruction) except -1
    cdef bint stands(self, unsigned int op, int64_t position) noexcept


cdef Backtracking backtracking(Activation act, Dfa dfa, str text)
