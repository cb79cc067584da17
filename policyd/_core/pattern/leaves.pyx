"""The leaves and lists of a pattern. ``policyd/pattern/leaves.py`` parses the notation of leaves.

Where the object has a list, a leaf checks each item; for a map, only ``*`` and ``?*`` can hold; for
a missing value, only ``null``.
"""

cimport cython

from policyd._core.pattern.checks cimport FAILS, HOLDS, SKIPPED, PatternCheck
from policyd._core.pattern.report cimport PatternReport, item_of
from policyd._core.pattern.strings cimport Amount, Wildcard, amount_of, scalar_string
from policyd._core.values.activation cimport Activation, work

cdef enum Comparison:
    MORE
    MORE_OR_EQUAL
    LESS
    LESS_OR_EQUAL

#: COMPARISONS: dict[str, int]

cdef enum:
    ITEM = 5  # units of work (10 ns) per item of a list
    LONG = 1000  # characters: longer strings count as work

COMPARISONS = {">": MORE, ">=": MORE_OR_EQUAL, "<": LESS, "<=": LESS_OR_EQUAL}


@cython.final
cdef class Anything(PatternCheck):
    """``*``: any value."""

    def __cinit__(self):
        self.expected = "*"

    cdef int test(self, object value, Activation act) except -1:
        return FAILS if value is None else HOLDS


@cython.final
cdef class Something(PatternCheck):
    """``?*``: any value that is not empty."""

    def __cinit__(self):
        self.expected = "?*"

    cdef int test(self, object value, Activation act) except -1:
        if type(value) is str or type(value) is dict or type(value) is list:
            return HOLDS if value else FAILS
        return FAILS if value is None else HOLDS


@cython.final
cdef class Unset(PatternCheck):
    """``null``: no value, or the zero value of Go: false, 0 or an empty string."""

    def __cinit__(self):
        self.expected = "nothing"

    cdef int test(self, object value, Activation act) except -1:
        if type(value) is dict or type(value) is list:
            return FAILS
        return FAILS if value else HOLDS


# Scalars


cdef class LeafCheck(PatternCheck):
    """A leaf that compares a scalar."""

    cdef int test(self, object value, Activation act) except -1:
        if type(value) is not list:
            return HOLDS if value is not None and self.fits(value, act) else FAILS
        for item in <list>value:
            work(act, ITEM)
            if item is None or not self.fits(item, act):
                return FAILS
        return HOLDS

    cdef int explain(self, object value, str path, PatternReport report, Activation act) except -1:
        if type(value) is not list:
            return report.add(path, self.expected, value)
        for index, item in enumerate(<list>value):
            if item is None or not self.fits(item, act):
                report.add(item_of(path, index), self.expected, item)
        return 0

    cdef bint fits(self, object value, Activation act) except -1:
        raise TypeError(f"{type(self).__name__} has no test of its own")


@cython.final
cdef class BoolLeaf(LeafCheck):
    """``true`` or ``false``."""
    cdef readonly bint value

    def __init__(self, bint value):
        #: (bool) -> None
        self.value = value
        self.expected = "true" if value else "false"

    cdef bint fits(self, object value, Activation act) except -1:
        return (value is True) if self.value else (value is False)


@cython.final
cdef class NumberLeaf(LeafCheck):
    """A number: equal to numbers, and to strings with the same quantity."""
    cdef readonly object value
    cdef readonly Amount amount
    #: value: int | float
    #: amount: Amount | None

    def __init__(self, value not None):
        #: (int | float) -> None
        self.value = value
        self.expected = scalar_string(value)
        self.amount = amount_of(self.expected)

    cdef bint fits(self, object value, Activation act) except -1:
        cdef int order = 0
        kind = type(value)
        if kind is int or kind is float:
            return value == self.value
        if kind is not str or self.amount is None:
            return False
        return self.amount.compare_string(<str>value, &order) and order == 0


@cython.final
cdef class StringLeaf(LeafCheck):
    """A string: the literal itself, or one of its alternatives."""
    cdef readonly str literal
    cdef readonly tuple terms
    #: terms: tuple[Term, ...]

    def __init__(self, str literal not None, terms):
        #: (str, Iterable[Term]) -> None
        self.literal = literal
        self.expected = literal or '""'
        self.terms = tuple(terms)

    cdef bint fits(self, object value, Activation act) except -1:
        cdef Term term
        if type(value) is str:
            if <str>value == self.literal:
                return True
            if len(<str>value) > LONG:
                work(act, len(<str>value) // 8)
        for term in self.terms:
            if term.fits(value, act):
                return True
        return False


# Terms


cdef class Term:
    """A part between ``|`` and ``&``."""

    cdef bint fits(self, object value, Activation act) except -1:
        raise TypeError(f"{type(self).__name__} has no test of its own")


@cython.final
cdef class EqualTerm(Term):
    """A wildcard match, or an equal amount; ``negative``: neither."""
    cdef readonly Wildcard wildcard
    cdef readonly Amount amount
    cdef readonly bint negative
    #: amount: Amount | None

    def __init__(self, str text not None, bint negative):
        #: (str, bool) -> None
        self.wildcard = Wildcard(text)
        self.amount = amount_of(text)
        self.negative = negative

    cdef bint fits(self, object value, Activation act) except -1:
        cdef str text = scalar_string(value)
        cdef int order = 0
        cdef bint same
        if text is None:
            return False
        same = self.wildcard.fits(text, act)
        if not same and self.amount is not None and type(value) is not bool:
            same = self.amount.compare_string(text, &order) and order == 0
        return same != self.negative


@cython.final
cdef class CompareTerm(Term):
    """``> >= < <=`` an amount."""
    cdef readonly Amount amount
    cdef readonly str operator
    cdef Comparison comparison

    def __init__(self, str operator not None, Amount amount not None):
        #: (str, Amount) -> None
        self.operator = operator
        self.comparison = COMPARISONS[operator]
        self.amount = amount

    cdef bint fits(self, object value, Activation act) except -1:
        cdef int order = 0
        if not self.amount.compare(value, &order):
            return False
        if self.comparison == MORE:
            return order > 0
        if self.comparison == MORE_OR_EQUAL:
            return order >= 0
        if self.comparison == LESS:
            return order < 0
        return order <= 0


@cython.final
cdef class RangeTerm(Term):
    """``low-high``, ends included; ``outside``: ``low!-high``, ends excluded."""
    cdef readonly Amount low
    cdef readonly Amount high
    cdef readonly bint outside

    def __init__(self, Amount low not None, Amount high not None, bint outside):
        #: (Amount, Amount, bool) -> None
        self.low = low
        self.high = high
        self.outside = outside

    cdef bint fits(self, object value, Activation act) except -1:
        cdef int low = 0, high = 0
        if not self.low.compare(value, &low) or not self.high.compare(value, &high):
            return False
        if self.outside:
            return low < 0 or high > 0
        return low >= 0 and high <= 0


@cython.final
cdef class AllTerm(Term):
    """Terms with ``&`` between them."""
    cdef readonly tuple terms
    #: terms: tuple[Term, ...]

    def __init__(self, terms):
        #: (Iterable[Term]) -> None
        self.terms = tuple(terms)

    cdef bint fits(self, object value, Activation act) except -1:
        cdef Term term
        for term in self.terms:
            if not term.fits(value, act):
                return False
        return True


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
    """``^(key)``: each check of ``wanted`` fits at least one item of the list."""
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
