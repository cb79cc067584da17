"""Regular expressions with Go's syntax, in linear time.

``"abc".matches("^a.c$")`` or ``matches("abc", "^a.c$")`` (standard CEL), and Kubernetes' functions
``"abc 123".find("[0-9]+")`` (the first match, ``""`` if there is none) and
``"1 a 2".findAll("[0-9]+"[, limit])``.

With a literal pattern, values that become strings outside CEL are accepted too: the name of a type,
the string in an optional.

Cost: (length of the string + 1) / 10 times length of the pattern / 4, both rounded up; 1 unit for
the global function ``matches`` before 1.37.
"""

from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport NO_OVERLOAD, NO_SUCH_OVERLOAD, error
from policyd._core.eval.functions cimport binary, pattern_search, ternary
from policyd._core.regex.engine cimport Regex, cached_regex, compile_regex
from policyd._core.eval.rereading cimport native_string
from policyd._core.values.types cimport MISSING, Optional

from policyd._core.eval import estimates
from policyd._core.eval.functions import Library

#: LIBRARY: Library


cdef object prepare(object pattern):
    """Compile a literal pattern when the program is planned; an invalid one rejects the program."""
    if type(pattern) is not str:
        return MISSING
    regex = compile_regex(<str> pattern)
    return regex if type(regex) is Regex else error(<str> regex)


cdef object matches(Activation act, object text, object pattern):
    if type(pattern) is Regex:
        if type(text) is not str:
            text = native_string(text)
            if text is None:
                return NO_SUCH_OVERLOAD
        return (<Regex> pattern).search(act, <str> text)
    if type(text) is not str or type(pattern) is not str:
        return NO_OVERLOAD
    regex = cached_regex(act, <str> pattern)
    return matches(act, text, regex) if type(regex) is Regex else error(<str> regex)


cdef object find(Activation act, object text, object pattern):
    if type(pattern) is Regex:
        if type(text) is not str:
            text = native_string(text)
            if text is None:
                return NO_SUCH_OVERLOAD
        return (<Regex> pattern).find(act, <str> text)
    if type(text) is not str or type(pattern) is not str:
        return NO_OVERLOAD
    regex = cached_regex(act, <str> pattern)
    return find(act, text, regex) if type(regex) is Regex else error(f"Illegal regex: {regex}")


cdef object find_all(Activation act, object text, object pattern):
    return find_all_limited(act, text, pattern, -1)


cdef object find_all_limited(Activation act, object text, object pattern, object limit):
    if type(pattern) is Regex:
        if type(text) is not str:
            text = native_string(text)
        while type(limit) is Optional:  # the limit is converted to Go, like the string
            limit = (<Optional> limit).held
        if text is None or type(limit) is not int:
            return NO_SUCH_OVERLOAD
        return (<Regex> pattern).find_all(act, <str> text, limit)
    if type(text) is not str or type(pattern) is not str or type(limit) is not int:
        return NO_OVERLOAD
    regex = cached_regex(act, <str> pattern)
    if type(regex) is not Regex:
        return error(f"Illegal regex: {regex}")
    return find_all_limited(act, text, regex, limit)


def _finding(operands):
    charged = estimates.pattern_search(operands)
    return estimates.Charge(charged.cost, estimates.Range(0, operands[0].size.max))


LIBRARY = Library("regex", (
    binary(
        "matches", "matches(string, string) -> bool", "matches", matches,
    ).prepares(prepare).until(37),
    binary(
        "matches", "matches(string, string) -> bool", "matches", matches,
        "matches('nginx:1.25', ':[0-9.]+$') // true",
    ).costs_when_known(pattern_search, estimates.pattern_search).prepares(prepare).since(37),
    binary(
        "matches", "string.matches(string) -> bool", "matches_string", matches,
        "'nginx:latest'.matches(':[0-9.]+$') // false",
    ).costs_when_known(pattern_search, estimates.pattern_search).prepares(prepare),
    binary(
        "find", "string.find(string) -> string", "string_find_string", find,
        "'abc 123'.find('[0-9]+') // '123'",
    ).costs(pattern_search, _finding).prepares(prepare),
    binary(
        "findAll", "string.findAll(string) -> list(string)", "string_find_all_string", find_all,
        "'123 abc 456'.findAll('[0-9]+') // ['123', '456']",
    ).costs(pattern_search, _finding).prepares(prepare),
    ternary(
        "findAll", "string.findAll(string, int) -> list(string)", "string_find_all_string_int",
        find_all_limited, "'123 abc 456'.findAll('[0-9]+', 1) // ['123']",
    ).costs(pattern_search, _finding).prepares(prepare),
), kinds=None)
