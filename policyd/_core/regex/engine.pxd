"""A compiled pattern with Go's semantics, on the cheapest engine that is exact for it."""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.regex.backtracking cimport Backtracking
from policyd._core.regex.dfa cimport Dfa


cdef enum RegexEngine:
    EQUALS      # ^text$
    PREFIX      # ^text
    SUFFIX      # text$
    CONTAINS    # text
    ONE_OF      # ^(a|b|c)$
    DFA         # other patterns, if they are small: tests of ASCII strings
    RE2


cdef class Regex:
    cdef readonly str pattern
    cdef RegexEngine engine
    cdef str literal        # for the first four engines
    cdef frozenset choices  # for ONE_OF
    cdef str rewritten      # the pattern in RE2 syntax
    cdef Dfa program        # for find_all, None until needed
    cdef bint has_no_program
    cdef Dfa dfa            # for DFA: None until enough strings were searched
    cdef int searches          # strings searched until then
    cdef object match       # RE2's method
    cdef int64_t size       # number of instructions of RE2's program

    cdef int afford(self, Activation act, str text) except -1
    cdef bint search(self, Activation act, str text) except -1
    cdef int search_dfa(self, str text) except -2
    cdef str find(self, Activation act, str text)
    cdef Backtracking linear_search(self, Activation act, str text)
    cdef list find_all(self, Activation act, str text, int64_t limit)


cdef object compile_regex(str pattern, int64_t memory=*)
cdef object cached_regex(Activation act, str pattern)
