"""The index over the rules of all policies."""

cimport policyd._core.match.rules as rules


cdef class Candidate:
    """One rule of one entry: what remains to be asked when its key was found."""
    cdef Py_ssize_t position      # of the entry
    cdef rules.MatchRules entry
    cdef rules.ResourceRule rule          # None: the entry has no rules, every request fits


cdef class CandidateTable:
    """Numbers of candidates by (group, version, resource, subresource, operation).

    The key of a rule keeps its wildcards, and a lookup asks for each combination of wildcards that
    occurs for this group and operation (``shapes``, bit masks). In a ``loose`` table every version
    is a wildcard.
    """
    cdef bint loose
    cdef dict numbers
    cdef dict shapes

    cdef int collect(
        self, rules.MatchInput request, tuple resource, list found
    ) except -1


cdef class Index:
    """Entries by what their rules name.

    ``loose`` finds rules of matchPolicy Equivalent for requests in another version.
    """
    cdef tuple candidates         # in the order of the entries, then of the rules
    cdef tuple payloads
    cdef CandidateTable exact
    cdef CandidateTable loose
    cdef tuple unruled            # candidates of entries without rules
    cdef bint equivalents         # some entry has matchPolicy Equivalent

    cdef list only_exact(self, rules.MatchInput request, tuple found)
    cdef list whole_entries(self, rules.MatchInput request, list found)
