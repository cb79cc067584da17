"""The lists of a pattern."""

cimport cython

from policyd._core.values.activation cimport Activation, work
from policyd._core.pattern.checks cimport FAILS, HOLDS, SKIPPED, PatternCheck
from policyd._core.pattern.report cimport PatternReport, item_of

cdef enum:
    ITEM = 5  # units of work (10 ns) per item of a list


@cython.final
cdef class ListCheck(PatternCheck):
    """A list: each item must fit all checks of ``each``, and one of ``any_of`` if there are any.

    With ``some`` an empty list is skipped: below a condition the list must have items.
    """
    cdef readonly tuple each
    cdef readonly tuple any_of
    cdef readonly bint some
    #: each: tuple[PatternCheck, ...]
    #: any_of: tuple[PatternCheck, ...]

    def __init__(self, str expected not None, each, any_of, bint some):
        #: (str, Iterable[PatternCheck], Iterable[PatternCheck], bool) -> None
        self.expected = expected
        self.each = tuple(each)
        self.any_of = tuple(any_of)
        self.some = some

    cdef int test(self, object value, Activation act) except -1:
        cdef bint applied = False
        cdef int result
        if type(value) is not list:
            return FAILS
        if not value:
            return SKIPPED if self.some else HOLDS
        for item in <list>value:
            result = self.test_item(item, act)
            if result == FAILS:
                return FAILS
            if result == HOLDS:
                applied = True
        return HOLDS if applied else SKIPPED

    cdef int test_item(self, object item, Activation act) except -1:
        cdef int best = SKIPPED
        cdef int result
        cdef PatternCheck check
        work(act, ITEM)
        for check in self.each:
            result = check.test(item, act)
            if result == FAILS:
                return FAILS
            if result == HOLDS:
                best = HOLDS
        if not self.any_of:
            return best
        for check in self.any_of:
            if check.test(item, act) != FAILS:
                return HOLDS
        return FAILS

    cdef int explain(self, object value, str path, PatternReport report, Activation act) except -1:
        cdef Py_ssize_t index
        cdef PatternCheck check
        if type(value) is not list:
            return report.add(path, self.expected, value)
        for index in range(len(<list>value)):
            item = (<list>value)[index]
            if self.test_item(item, act) != FAILS:
                continue
            place = item_of(path, index)
            reported = False
            for check in self.each:
                if check.test(item, act) == FAILS:
                    check.explain(item, place, report, act)
                    reported = True
            if not reported:
                words = " or ".join([(<PatternCheck>each).expected for each in self.any_of])
                report.add(place, words, item)
        return 0


@cython.final
cdef class EmptyList(PatternCheck):
    """``[]``."""

    def __cinit__(self):
        self.expected = "an empty list"

    cdef int test(self, object value, Activation act) except -1:
        return HOLDS if type(value) is list and not value else FAILS


@cython.final
cdef class ExistsCheck(PatternCheck):
    """``^(key)``: at least one item of the list fits each check of ``wanted``."""
    cdef readonly tuple wanted
    #: wanted: tuple[PatternCheck, ...]

    def __init__(self, str expected not None, wanted):
        #: (str, Iterable[PatternCheck]) -> None
        self.expected = expected
        self.wanted = tuple(wanted)

    cdef int test(self, object value, Activation act) except -1:
        cdef PatternCheck check
        if type(value) is not list:
            return FAILS
        for check in self.wanted:
            if not has_item(<list>value, check, act):
                return FAILS
        return HOLDS

    cdef int explain(self, object value, str path, PatternReport report, Activation act) except -1:
        cdef PatternCheck check
        if type(value) is not list:
            return report.add(path, self.expected, value)
        for check in self.wanted:
            if not has_item(<list>value, check, act):
                report.add(path, f"at least one {check.expected}", value)
        return 0


cdef bint has_item(list items, PatternCheck check, Activation act) except -1:
    for item in items:
        work(act, ITEM)
        if check.test(item, act) == HOLDS:
            return True
    return False
