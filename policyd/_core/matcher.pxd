"""The index over the rules of all policies."""

from policyd._core cimport rules


cdef class Candidate:
    """One rule of one entry: what remains to be asked when its key was found."""
    cdef Py_ssize_t position      # of the entry
    cdef rules.MatchRules entry
    cdef rules.Rule rule          # None: the entry has no rules, every request fits


cdef class Index:
    """Entries by (group, version, resource, subresource, operation); one lookup a request.

    The key of a rule keeps its wildcards, and a lookup asks for each combination of wildcards that
    occurs (``shapes``). The version ``~`` stands for any: so rules of matchPolicy Equivalent are
    found by requests for another version. Values are numbers of candidates, in entry order.
    """
    cdef tuple candidates
    cdef tuple payloads
    cdef dict by_key
    cdef tuple shapes             # bit masks, see ``Wildcard`` in the .pyx
    cdef tuple loose_shapes       # those with the version ``~``
    cdef tuple unruled            # candidates of entries without rules
    cdef bint equivalents         # some entry has matchPolicy Equivalent

    cdef int collect(
        self, rules.MatchInput request, tuple resource, tuple shapes, list found
    ) except -1
    cdef list only_exact(self, rules.MatchInput request, tuple found)
    cdef list merged(self, rules.MatchInput request, list exact, list loose)
