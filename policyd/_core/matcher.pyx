"""Which of all policies apply to a request: the index over their rules.

Cost grows with the policies that match, not with those loaded (design.md, 3.3). What it means to
match is in ``rules.pyx``; all names of this subject can be imported from here.
"""

cimport cython

from policyd._core cimport rules

from policyd._core.rules import Hit, MatchInput, MatchRules, Rule  # noqa: F401

cdef enum Wildcard:
    ANY_GROUP = 1
    ANY_VERSION = 2
    ANY_RESOURCE = 4
    ANY_SUBRESOURCE = 8

cdef tuple OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
cdef str LOOSE = "~"  # no version is called so


@cython.final
@cython.auto_pickle(False)
cdef class Candidate:

    def __init__(
        self, Py_ssize_t position, rules.MatchRules entry not None, rules.Rule rule=None
    ):
        self.position = position
        self.entry = entry
        self.rule = rule


def keys_of(rules.Rule rule not None, bint loose):
    """Every key that finds this rule, with its shape.

    ``loose``: those that ignore the version; they are for rules that name the group.
    """
    operations = OPERATIONS + ("*",) if "*" in rule.operations else rule.operations
    versions = rule.versions
    if loose:
        versions = () if "*" in versions else (LOOSE,)
    for group in rule.groups:
        if loose and group == "*":
            continue
        for version in versions:
            for resource, sub in rule.resources:
                shape = (
                    (ANY_GROUP if group == "*" else 0)
                    | (ANY_VERSION if version == "*" else 0)
                    | (ANY_RESOURCE if resource == "*" else 0)
                    | (ANY_SUBRESOURCE if sub == "*" else 0)
                )
                for operation in operations:
                    yield shape, (group, version, resource, sub, operation)


@cython.final
@cython.auto_pickle(False)
cdef class Index:

    def __init__(self, entries):
        cdef list candidates = [], payloads = [], unruled = []
        cdef dict by_key = {}
        cdef set shapes = set(), loose_shapes = set()
        cdef rules.MatchRules entry
        for position, (entry, payload) in enumerate(entries):
            payloads.append(payload)
            if not entry.rules:
                unruled.append(len(candidates))
                candidates.append(Candidate(position, entry))
            for rule in entry.rules:
                number = len(candidates)
                candidates.append(Candidate(position, entry, rule))
                # dict.fromkeys: a rule may name one thing twice.
                for shape, key in dict.fromkeys(keys_of(rule, False)):
                    shapes.add(shape)
                    by_key.setdefault(key, []).append(number)
                if entry.equivalent:
                    self.equivalents = True
                    for shape, key in dict.fromkeys(keys_of(rule, True)):
                        loose_shapes.add(shape)
                        by_key.setdefault(key, []).append(number)
        self.candidates = tuple(candidates)
        self.payloads = tuple(payloads)
        self.by_key = {key: tuple(numbers) for key, numbers in by_key.items()}
        self.shapes = tuple(sorted(shapes))
        self.loose_shapes = tuple(sorted(loose_shapes))
        self.unruled = tuple(unruled)

    def __len__(self):
        return len(self.payloads)

    def match(self, rules.MatchInput request not None):
        cdef list exact = [], loose = []
        cdef tuple resource
        if request.never_matched:
            return []
        self.collect(request, request.request_resource, self.shapes, exact)
        if self.unruled:
            exact.append(self.unruled)
        if self.equivalents:
            for resource in request.equivalents():
                self.collect(request, resource, self.shapes, loose)
            if request.any_version:
                self.collect(request, request.request_resource, self.loose_shapes, loose)
        if loose or len(exact) > 1:
            return self.merged(request, exact, loose)
        return self.only_exact(request, exact[0]) if exact else []

    cdef int collect(
        self, rules.MatchInput request, tuple resource, tuple shapes, list found
    ) except -1:
        """Append the candidates that each shape finds for this resource."""
        cdef str operation = request.operation if request.operation in OPERATIONS else "*"
        cdef bint loose = shapes is self.loose_shapes
        cdef int shape
        cdef tuple key
        for shape in shapes:
            key = (
                "*" if shape & ANY_GROUP else resource[0],
                LOOSE if loose else "*" if shape & ANY_VERSION else resource[1],
                "*" if shape & ANY_RESOURCE else resource[2],
                "*" if shape & ANY_SUBRESOURCE else request.sub_resource,
                operation,
            )
            numbers = self.by_key.get(key)
            if numbers is not None:
                found.append(numbers)
        return 0

    cdef list only_exact(self, rules.MatchInput request, tuple found):
        """The usual case: all candidates name the client's resource, and are in entry order."""
        cdef list result = []
        cdef Candidate candidate
        cdef rules.Hit hit
        cdef Py_ssize_t done = -1  # a hit or a refusal by excludes or selectors is final
        for number in found:
            candidate = <Candidate>self.candidates[<Py_ssize_t>number]
            if candidate.position == done:
                continue
            if candidate.rule is None or candidate.rule.allows(request, request.request_resource):
                done = candidate.position
                hit = candidate.entry.confirm(request, request.exact_hit())
                if hit is not None:
                    result.append((self.payloads[done], hit))
        return result

    cdef list merged(self, rules.MatchInput request, list exact, list loose):
        """As above, from several lists; with equivalent ones each entry is asked as a whole."""
        cdef list result = [], found = []
        cdef Candidate candidate
        cdef rules.Hit hit
        cdef Py_ssize_t done = -1
        for numbers in exact:
            found.extend(numbers)
        for numbers in loose:
            found.extend(numbers)
        found.sort()
        if not loose:
            return self.only_exact(request, tuple(found))
        for number in found:
            candidate = <Candidate>self.candidates[<Py_ssize_t>number]
            if candidate.position != done:
                done = candidate.position
                hit = candidate.entry.find(request)
                if hit is not None:
                    result.append((self.payloads[done], hit))
        return result
