"""The string tests of standard CEL.

``"abc".startsWith("a")``, ``"abc".endsWith("c")``, ``"abc".contains("b")``: all true.
``regex`` has patterns, ``strings`` has functions that create strings.
"""

from libc.stdint cimport int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport NO_SUCH_OVERLOAD
from policyd._core.eval.functions cimport binary, first_tenths, second_tenths, tenths
from policyd._core.regex.search cimport find
from policyd._core.values.types cimport size_of

from policyd._core.eval import estimates
from policyd._core.eval.functions import Library

#: LIBRARY: Library


cdef object contains(Activation act, object text, object part):
    if type(text) is not str or type(part) is not str:
        return NO_SUCH_OVERLOAD
    return find(act, <str>text, <str>part, 0, len(<str>text)) >= 0


cdef object starts_with(Activation act, object text, object part):
    if type(text) is not str or type(part) is not str:
        return NO_SUCH_OVERLOAD
    return (<str>text).startswith(<str>part)


cdef object ends_with(Activation act, object text, object part):
    if type(text) is not str or type(part) is not str:
        return NO_SUCH_OVERLOAD
    return (<str>text).endswith(<str>part)


cdef int64_t contains_cost(Activation act, object text, object part, object result) except -1:
    return tenths(size_of(text)) * tenths(size_of(part))


LIBRARY = Library("string_tests", (
    binary(
        "contains", "string.contains(string) -> bool", "contains_string", contains,
        "'abc'.contains('b') // true",
    ).costs_when_known(contains_cost, estimates.search),
    binary(
        "startsWith", "string.startsWith(string) -> bool", "starts_with_string", starts_with,
    ).costs_when_known(first_tenths, estimates.second_tenths).until(37),
    binary(
        "startsWith", "string.startsWith(string) -> bool", "starts_with_string", starts_with,
        "'abc'.startsWith('a') // true",
    ).costs_when_known(second_tenths, estimates.second_tenths).since(37),
    binary(
        "endsWith", "string.endsWith(string) -> bool", "ends_with_string", ends_with,
    ).costs_when_known(first_tenths, estimates.second_tenths).until(37),
    binary(
        "endsWith", "string.endsWith(string) -> bool", "ends_with_string", ends_with,
        "'abc'.endsWith('c') // true",
    ).costs_when_known(second_tenths, estimates.second_tenths).since(37),
), kinds=None)
