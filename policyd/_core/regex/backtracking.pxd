"""Finds the matches of a regular expression in an ASCII string, all of them in linear time."""

from libc.stdint cimport int64_t, uint8_t

from policyd._core.regex.dfa cimport Dfa
from policyd._core.values.activation cimport Activation


cdef class Backtracking:
    """The search of one string. ``failed`` has a bit per position and instruction: whether no match
    can be completed from there. So no search repeats what an earlier one did in vain."""
    cdef Dfa dfa          # owner of the program
    cdef const uint8_t *text
    cdef str owner        # of the text
    cdef bytearray bits   # owner of ``failed``
    cdef uint8_t *failed
    cdef int64_t size     # of the text
    cdef int64_t *waiting  # stack of position * length of the program + instruction
    cdef int64_t room      # of the stack
    cdef int64_t depth
    cdef int64_t end      # of the match that was found

    # The start of the first match at or after a position, -1 if there is none; ``end`` is its end.
    cdef int64_t next(self, Activation act, int64_t at) except -2
    cdef bint completes(self, Activation act, int64_t start) except -1
    cdef int push(self, int64_t position, int64_t instruction) except -1
    cdef bint stands(self, unsigned int op, int64_t position) noexcept


# None if the string is not ASCII, or the memory would be too large.
cdef Backtracking backtracking(Dfa dfa, str text)
