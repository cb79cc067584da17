"""A compiled pattern: maps and whole patterns. Lists and leaves are in ``lists`` and ``leaves``.

Every check treats ``null`` like a missing key. Checks recurse along the pattern, whose depth the
compiler limits, not along the object.
"""

cimport cython

from policyd._core.values.activation cimport Activation, activation, work
from policyd._core.pattern.report cimport MAX_TEXT, PatternReport, below, common
from policyd._core.pattern.strings cimport Wildcard

cdef enum:
    KEY = 5  # units of work (10 ns) per key where all keys are checked


cdef class PatternCheck:
    """One node of a pattern. ``expected`` describes the expected value in messages."""

    cdef int test(self, object value, Activation act) except -1:
        """Returns a PatternResult. Raises only DeadlineExceeded."""
        raise TypeError(f"{type(self).__name__} has no test of its own")

    cdef int explain(self, object value, str path, PatternReport report, Activation act) except -1:
        """Adds every place where a failing value fails to the report."""
        return report.add(path, self.expected, value)


# Maps


cdef class PatternEntry:
    """One key of a map pattern. The subclasses are for marked keys and keys with wildcards."""
    cdef readonly str key
    cdef readonly PatternCheck check
    #: check: PatternCheck | None

    def __init__(self, str key not None, PatternCheck check):
        #: (str, PatternCheck | None) -> None
        self.key = key
        self.check = check

    cdef int test(self, dict value, Activation act) except -1:
        return self.check.test(value.get(self.key), act)

    cdef int explain(self, dict value, str path, PatternReport report, Activation act) except -1:
        return self.check.explain(value.get(self.key), below(path, self.key), report, act)


@cython.final
cdef class IfPresent(PatternEntry):
    """``=(key)``."""

    cdef int test(self, dict value, Activation act) except -1:
        found = value.get(self.key)
        return HOLDS if found is None else self.check.test(found, act)


@cython.final
cdef class Absent(PatternEntry):
    """``X(key)``."""

    cdef int test(self, dict value, Activation act) except -1:
        return HOLDS if value.get(self.key) is None else FAILS

    cdef int explain(self, dict value, str path, PatternReport report, Activation act) except -1:
        return report.add(below(path, self.key), "nothing", value.get(self.key))


cdef class WildcardEntry(PatternEntry):
    """The keys that a wildcard matches."""
    cdef readonly Wildcard wildcard

    def __init__(self, str key not None, PatternCheck check):
        #: (str, PatternCheck | None) -> None
        PatternEntry.__init__(self, key, check)
        self.wildcard = Wildcard(key)


@cython.final
cdef class SomeKey(WildcardEntry):
    """``app.*``: the value of at least one matching key must fit."""

    cdef int test(self, dict value, Activation act) except -1:
        cdef int best = FAILS
        cdef int result
        for key, found in value.items():
            work(act, KEY)
            if found is not None and self.wildcard.fits(<str?>key, act):
                result = self.check.test(found, act)
                if result == HOLDS:
                    return HOLDS
                best = max(best, result)
        return best

    cdef int explain(self, dict value, str path, PatternReport report, Activation act) except -1:
        cdef bint found_any = False
        for key in sorted(value):
            found = value[key]
            if found is not None and self.wildcard.fits(<str?>key, act):
                found_any = True
                self.check.explain(found, below(path, key), report, act)
        if not found_any:
            report.add(below(path, self.key), self.check.expected, None)
        return 0


@cython.final
cdef class EachKey(WildcardEntry):
    """``=(app.*)``: the value of every matching key must fit."""

    cdef int test(self, dict value, Activation act) except -1:
        cdef bint applied = False, skipped = False
        cdef int result
        for key, found in value.items():
            work(act, KEY)
            if found is not None and self.wildcard.fits(<str?>key, act):
                result = self.check.test(found, act)
                if result == FAILS:
                    return FAILS
                skipped |= result == SKIPPED
                applied |= result == HOLDS
        return SKIPPED if skipped and not applied else HOLDS

    cdef int explain(self, dict value, str path, PatternReport report, Activation act) except -1:
        for key in sorted(value):
            found = value[key]
            if (
                found is not None
                and self.wildcard.fits(<str?>key, act)
                and self.check.test(found, act) == FAILS
            ):
                self.check.explain(found, below(path, key), report, act)
        return 0


@cython.final
cdef class NoKey(WildcardEntry):
    """``X(app.*)``: there must be no matching key."""

    cdef int test(self, dict value, Activation act) except -1:
        for key, found in value.items():
            work(act, KEY)
            if found is not None and self.wildcard.fits(<str?>key, act):
                return FAILS
        return HOLDS

    cdef int explain(self, dict value, str path, PatternReport report, Activation act) except -1:
        for key in sorted(value):
            found = value[key]
            if found is not None and self.wildcard.fits(<str?>key, act):
                report.add(below(path, key), "nothing", found)
        return 0


@cython.final
cdef class MapCheck(PatternCheck):
    """A map: first its conditions, then all other entries."""
    cdef readonly tuple conditions
    cdef readonly tuple entries
    #: conditions: tuple[PatternEntry, ...]
    #: entries: tuple[PatternEntry, ...]

    def __init__(self, str expected not None, conditions, entries):
        #: (str, Iterable[PatternEntry], Iterable[PatternEntry]) -> None
        self.expected = expected
        self.conditions = tuple(conditions)
        self.entries = tuple(entries)

    cdef int test(self, object value, Activation act) except -1:
        cdef bint applied = bool(self.conditions) or not self.entries
        cdef bint skipped = False
        cdef PatternEntry entry
        cdef int result
        if type(value) is not dict:
            return FAILS
        for entry in self.conditions:
            if entry.test(<dict>value, act) != HOLDS:
                return SKIPPED
        for entry in self.entries:
            result = entry.test(<dict>value, act)
            if result == FAILS:
                return FAILS
            if result == SKIPPED:
                skipped = True
            else:
                applied = True
        return SKIPPED if skipped and not applied else HOLDS

    cdef int explain(self, object value, str path, PatternReport report, Activation act) except -1:
        cdef PatternEntry entry
        cdef bint reported = False
        cdef dict found
        if type(value) is dict:
            found = <dict>value
        elif value is None and not self.conditions:
            found = {}  # report the missing parts instead of the whole map
        else:
            return report.add(path, self.expected, value)
        for entry in self.entries:
            if entry.test(found, act) == FAILS:
                entry.explain(found, path, report, act)
                reported = True
        return 0 if reported else report.add(path, self.expected, value)


# Whole patterns


cdef class Pattern:
    """A whole pattern. ``guard`` checks the conditions ``<(key)``; None if there are none."""
    #: guard: PatternCheck | None

    def __init__(self, PatternCheck root, PatternCheck guard):
        #: (PatternCheck, PatternCheck | None) -> None
        self.root = root
        self.guard = guard

    cdef int test(self, object value, Activation act) except -1:
        if self.guard is not None and self.guard.test(value, act) != HOLDS:
            return SKIPPED
        return self.root.test(value, act)

    cdef PatternReport explain(self, object value, str within, bint secret, Activation act):
        """Reports why the value does not fit, with paths below ``within``."""
        cdef PatternReport report = PatternReport()
        report.secret = secret
        self.root.explain(value, within, report, act)
        return report

    def check(self, value, *, str within="", deadline=0):
        #: (object, str, int) -> str | None
        """Every place where the value does not fit; None if it fits or the pattern is skipped.

        ``deadline`` is a time of perf_counter_ns (0: none). Raises DeadlineExceeded after it.
        """
        cdef Activation act = activation(0, 0, deadline)
        if self.test(value, act) != FAILS:
            return None
        return self.explanation(value, within, act).text()

    cdef PatternReport explanation(self, object value, str within, Activation act):
        """Reports why a value fails, with paths below `within`."""
        cdef bint secret = type(value) is dict and (<dict>value).get("kind") == "Secret"
        return self.explain(value, within, secret, act)

    def holds(self, value, *, deadline=0):
        #: (object, int) -> bool
        """Whether the value fits and all conditions hold, for use as a condition."""
        return self.test(value, activation(0, 0, deadline)) == HOLDS


@cython.final
cdef class AnyPattern(Pattern):
    """Patterns, one of which must hold; skipped if none holds and none fails."""
    cdef readonly tuple patterns
    #: patterns: tuple[Pattern, ...]

    def __init__(self, patterns):
        #: (Iterable[Pattern]) -> None
        self.patterns = tuple(patterns)

    cdef int test(self, object value, Activation act) except -1:
        cdef bint failed = False
        cdef Pattern pattern
        cdef int result
        for pattern in self.patterns:
            result = pattern.test(value, act)
            if result == HOLDS:
                return HOLDS
            failed |= result == FAILS
        return FAILS if failed else SKIPPED

    cdef PatternReport explain(self, object value, str within, bint secret, Activation act):
        cdef Pattern pattern
        cdef PatternReport report
        cdef list reasons = []
        cdef str field = None
        for number, pattern in enumerate(self.patterns, 1):
            if pattern.test(value, act) == FAILS:
                report = pattern.explain(value, within, secret, act)
                report.limit = MAX_TEXT // len(self.patterns)
                reasons.append(f"pattern {number}: {report.text()}")
                field = common(field, report.field)
            else:
                reasons.append(f"pattern {number}: does not apply")
        return PatternReport.saying("; ".join(reasons), field)
