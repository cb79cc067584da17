"""A compiled pattern with Go's meaning, on the cheapest engine that is exact for it."""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.regex.dfa cimport Dfa


cdef enum RegexEngine:
    EQUALS      # ^text$
    PREFIX      # ^text
    SUFFIX      # text$
    CONTAINS    # text
    ONE_OF      # ^(a|b|c)$
    DFA         # everything else, if it is small: ASCII texts, and whether there is a match
    RE2


cdef class Regex:
    cdef readonly str pattern
    cdef RegexEngine engine
    cdef str literal        # for the first four engines
    cdef frozenset choices  # for ONE_OF
    cdef str rewritten      # the same pattern as RE2 writes it
    cdef Dfa dfa            # for DFA: None before it is worth its making
    cdef int searches          # texts until then
    cdef object match       # RE2's method
    cdef int64_t size       # instructions of RE2's program

    # Counts the search of a text; raises what BudgetExceeded has for one that cannot be afforded.
    cdef int afford(self, Activation act, str text) except -1
    cdef bint search(self, Activation act, str text) except -1
    cdef int search_dfa(self, str text) except -2
    # The first match, "" where there is none.
    cdef str find(self, Activation act, str text)
    # At most `limit` matches, all if it is negative; an empty match next to the one before does not
    # count.
    cdef list find_all(self, Activation act, str text, int64_t limit)


# The Regex, or the text of Go's error ("error parsing regexp: …").
cdef object compile_regex(str pattern, int64_t memory=*)
# The same through a bounded memo: for patterns that are known only when the expression runs.
cdef object cached_regex(Activation act, str pattern)
