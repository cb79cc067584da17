"""The index of the match rules of all policies."""

cimport policyd._core.match.match_resources as rules


cdef class Candidate:
    cdef Py_ssize_t position      # of the entry
    cdef rules.MatchRules entry
    cdef rules.ResourceRule rule          # None: the entry has no rules and matches every request
    cdef bint always              # nothing has to be checked


cdef class CandidateTable:
    cdef bint loose
    cdef dict numbers
    cdef dict shapes

    cdef int collect(
        self, rules.MatchInput request, tuple resource, list found
    ) except -1


cdef class Index:
    cdef tuple candidates         # in the order of the entries, then of the rules
    cdef tuple payloads
    cdef CandidateTable exact
    cdef CandidateTable loose
    cdef tuple unruled            # candidates of entries without rules
    cdef bint equivalents         # an entry has matchPolicy Equivalent
    # The matches of requests that have been seen, a list that nobody changes; or their candidates,
    # if it depends on more than the key.
    cdef dict known
    cdef Py_ssize_t room          # left in ``known``
    cdef object table             # Equivalents: those of these requests

    cdef object known_of(self, rules.MatchInput request, tuple key)
    cdef bint always(self, tuple found) except -1
    cdef tuple candidates_of(self, rules.MatchInput request)
    cdef list only_exact(self, rules.MatchInput request, tuple found)
    cdef list whole_entries(self, rules.MatchInput request, tuple found)
