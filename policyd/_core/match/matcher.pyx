"""Finds the policies that match a request, by an index of their match rules.

The cost grows with the number of policies that match, not with the number loaded.
``match_resources.pyx`` defines how a rule matches; its names can be imported from here.
"""

from types import GenericAlias

cimport cython

cimport policyd._core.match.match_resources as rules

from policyd._core.match.match_resources import (  # no-cython-lint: exported
    Hit, MatchInput, MatchRules, ResourceRule,
    input_of,  # no-cython-lint: exported
)

#: from policyd._core.match.match_resources import Hit as Hit
#: from policyd._core.match.match_resources import MatchInput as MatchInput
#: from policyd._core.match.match_resources import MatchRules as MatchRules
#: from policyd._core.match.match_resources import ResourceRule as ResourceRule
#: from policyd._core.match.match_resources import input_of as input_of
#: _Payload = TypeVar('_Payload')
#: _Key = tuple[str, str, str, str, str]

cdef enum WildcardMask:
    ANY_GROUP = 1
    ANY_VERSION = 2
    ANY_RESOURCE = 4
    ANY_SUBRESOURCE = 8

cdef enum:
    # Candidates that an index remembers for all keys together; each key counts as several.
    MOST_REMEMBERED = 32768
    ENTRY_SIZE = 32
    MAX_NAME = 253  # characters of a name in a key; Kubernetes has no longer names

cdef tuple OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")


@cython.final
cdef class Candidate:
    """One rule of one entry, whose scope and names must be checked when its key is found."""
    cdef Py_ssize_t position      # of the entry
    cdef rules.MatchRules entry
    cdef rules.ResourceRule rule          # None: the entry has no rules and matches all requests
    cdef bint always              # nothing has to be checked

    def __init__(
        self, Py_ssize_t position, rules.MatchRules entry not None, rules.ResourceRule rule=None
    ):
        #: (int, MatchRules, ResourceRule | None) -> None
        self.position = position
        self.entry = entry
        self.rule = rule
        self.always = entry.unconditional and (
            rule is None or (rule.scope == rules.ALL_SCOPES and rule.names is None)
        )


def keys_of(rules.ResourceRule rule not None, bint loose):
    #: (ResourceRule, bool) -> dict[_Key, int]
    """The keys of this rule, each with its shape. A rule may name a resource twice.

    ``loose``: the keys as if the rule named all versions; for rules that name the group.
    """
    operations = OPERATIONS + ("*",) if "*" in rule.operations else rule.operations
    found = {}
    for group in rule.groups:
        if loose and group == "*":
            continue
        for version in ("*",) if loose else rule.versions:
            for resource, sub in rule.resources:
                shape = (
                    (ANY_GROUP if group == "*" else 0)
                    | (ANY_VERSION if version == "*" else 0)
                    | (ANY_RESOURCE if resource == "*" else 0)
                    | (ANY_SUBRESOURCE if sub == "*" else 0)
                )
                for operation in operations:
                    found[group, version, resource, sub, operation] = shape
    return found


@cython.final
cdef class CandidateTable:
    """Numbers of candidates by (group, version, resource, subresource, operation).

    The key of a rule contains its wildcards. A lookup tries each combination of wildcards that
    rules for the group and operation use (``shapes``, bit masks). In a ``loose`` table every
    version is a wildcard.
    """
    cdef bint loose
    cdef dict numbers
    cdef dict shapes

    def __init__(self, list numbered not None, bint loose):
        #: (list[tuple[int, ResourceRule]], bool) -> None
        """``numbered``: (number of the candidate, its rule), by number."""
        numbers = {}
        shapes = {("*", operation): set() for operation in (*OPERATIONS, "*")}
        for number, rule in numbered:
            for key, shape in keys_of(rule, loose).items():
                numbers.setdefault(key, []).append(number)
                shapes.setdefault((key[0], key[4]), set()).add(shape)
        for group, operation in shapes:
            # Rules for every group match requests of this group too.
            if group != "*" and ("*", operation) in shapes:
                shapes[group, operation] |= shapes["*", operation]
        self.loose = loose
        self.numbers = {key: tuple(found) for key, found in numbers.items()}
        self.shapes = {key: tuple(sorted(found)) for key, found in shapes.items()}

    cdef int collect(self, rules.MatchInput request, tuple resource, list found) except -1:
        """Append the candidates: a tuple of numbers per shape with candidates."""
        cdef str operation = request.operation if request.operation in OPERATIONS else "*"
        cdef int shape
        cdef tuple key, shapes
        shapes = self.shapes.get((resource[0], operation))
        if shapes is None:
            shapes = self.shapes["*", operation]
        for shape in shapes:
            key = (
                "*" if shape & ANY_GROUP else resource[0],
                "*" if shape & ANY_VERSION else resource[1],
                "*" if shape & ANY_RESOURCE else resource[2],
                "*" if shape & ANY_SUBRESOURCE else request.sub_resource,
                operation,
            )
            numbers = self.numbers.get(key)
            if numbers is not None:
                found.append(numbers)
        return 0


@cython.final
cdef class Index:
    """Entries by the resources and operations of their rules.

    ``loose`` finds rules with matchPolicy Equivalent for requests in another version.
    """
    cdef tuple candidates         # in the order of the entries, then of the rules
    cdef tuple payloads
    cdef CandidateTable exact
    cdef CandidateTable loose
    cdef tuple unruled            # candidates of entries without rules
    cdef bint equivalents         # an entry has matchPolicy Equivalent
    # The matches of requests that have been seen, a list that nobody changes; or the candidates, if
    # the match depends on more than the key.
    cdef dict known
    cdef Py_ssize_t room          # left in ``known``
    cdef object table             # Equivalents of these requests
    #: (Generic[_Payload])

    def __init__(self, entries):
        #: (Iterable[tuple[MatchRules, _Payload]]) -> None
        cdef list candidates = [], payloads = [], unruled = [], exact = [], loose = []
        cdef rules.MatchRules entry
        for position, (entry, payload) in enumerate(entries):
            payloads.append(payload)
            if not entry.rules:
                unruled.append(len(candidates))
                candidates.append(Candidate(position, entry))
            for rule in entry.rules:
                exact.append((len(candidates), rule))
                if entry.equivalent:
                    loose.append((len(candidates), rule))
                candidates.append(Candidate(position, entry, rule))
        self.candidates = tuple(candidates)
        self.payloads = tuple(payloads)
        self.exact = CandidateTable(exact, False)
        self.loose = CandidateTable(loose, True)
        self.unruled = tuple(unruled)
        self.equivalents = bool(loose)
        self.known, self.room = {}, MOST_REMEMBERED

    def __class_getitem__(cls, payload):
        #: (object) -> GenericAlias
        return GenericAlias(cls, payload)

    def __len__(self):
        #: () -> int
        return len(self.payloads)

    def match(self, rules.MatchInput request not None):
        #: (MatchInput) -> list[tuple[_Payload, Hit]]
        """The entries that match the request, in their order. Do not change the list: other
        requests get it too.
        """
        if request.never_matched:
            return []
        if request.table is not self.table:
            self.table, self.known, self.room = request.table, {}, MOST_REMEMBERED
        # The fields of a request that determine its candidates and their hit.
        cdef tuple key = (
            request.request_resource, request.resource, request.request_kind, request.kind,
            request.sub_resource, request.operation,
        )
        known = self.known.get(key)
        if known is None:
            known = self.known_of(request, key)
        if type(known) is list:
            return known
        exact, loose = <tuple>known
        if exact is not None:
            return self.only_exact(request, exact)
        return self.whole_entries(request, loose)

    cdef object known_of(self, rules.MatchInput request, tuple key):
        """The matches of all requests with this key, or their candidates. Remembers them if there
        is room, because the client chooses the keys and their number.
        """
        cdef tuple found = self.candidates_of(request)
        cdef Py_ssize_t size = ENTRY_SIZE + len(found[0] or found[1] or ())
        cdef object known = found
        if found[0] is not None and self.always(found[0]):
            known = self.only_exact(request, found[0])
        for part in key:
            for name in part if type(part) is tuple else (part,):
                if len(name) > MAX_NAME:
                    return known
        if size > self.room:
            self.known.clear()
            self.room = MOST_REMEMBERED
        if size <= self.room:
            self.known[key] = known
            self.room -= size
        return known

    cdef bint always(self, tuple found) except -1:
        """Whether these candidates match, whatever else the request contains."""
        for number in found:
            if not (<Candidate>self.candidates[<Py_ssize_t>number]).always:
                return False
        return True

    cdef tuple candidates_of(self, rules.MatchInput request):
        """The numbers of the candidates in order, as a pair of which one is None: the first if all
        name the client's resource, the second if some name equivalents.
        """
        cdef list exact = [], loose = [], found = []
        cdef tuple resource
        self.exact.collect(request, request.request_resource, exact)
        exact.append(self.unruled)
        if self.equivalents:
            for resource in request.equivalents():
                self.exact.collect(request, resource, loose)
            if request.any_version:
                self.loose.collect(request, request.request_resource, loose)
        for numbers in exact + loose:
            found.extend(numbers)
        found.sort()
        return (None, tuple(found)) if loose else (tuple(found), None)

    cdef list only_exact(self, rules.MatchInput request, tuple found):
        """The usual case: all candidates name the client's resource; they are in entry order."""
        cdef list result = []
        cdef Candidate candidate
        cdef rules.Hit hit, exact = request.exact_hit()
        cdef Py_ssize_t done = -1  # a hit, or a rejection by excludes or selectors, is final
        for number in found:
            candidate = <Candidate>self.candidates[<Py_ssize_t>number]
            if candidate.position == done:
                continue
            if candidate.always:
                done = candidate.position
                result.append((self.payloads[done], exact))
            elif candidate.rule is None or candidate.rule.allows(request, request.request_resource):
                done = candidate.position
                hit = candidate.entry.confirm(request, exact)
                if hit is not None:
                    result.append((self.payloads[done], hit))
        return result

    cdef list whole_entries(self, rules.MatchInput request, tuple found):
        """The case with equivalent resources: all rules of each entry are checked."""
        cdef list result = []
        cdef Candidate candidate
        cdef rules.Hit hit
        cdef Py_ssize_t done = -1
        for number in found:
            candidate = <Candidate>self.candidates[<Py_ssize_t>number]
            if candidate.position != done:
                done = candidate.position
                hit = candidate.entry.match(request)
                if hit is not None:
                    result.append((self.payloads[done], hit))
        return result
