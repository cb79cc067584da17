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


cdef object compiled(Activation act, object text, object pattern, str prefix):
    """The Regex of a pattern that is not a literal; an error that begins with ``prefix`` if the
    pattern is invalid; NO_OVERLOAD if the arguments have the wrong types.
    """
    if type(text) is not str or type(pattern) is not str:
        return NO_OVERLOAD
    regex = cached_regex(act, <str> pattern)
    return regex if type(regex) is Regex else error(f"{prefix}{regex}")


cdef object matches(Activation act, object text, object pattern):
    if type(pattern) is not Regex:
        pattern = compiled(act, text, pattern, "")
        if type(pattern) is not Regex:
            return pattern
    elif type(text) is not str:
        text = native_string(text)
    return NO_SUCH_OVERLOAD if text is None else (<Regex> pattern).search(act, <str> text)


cdef object find(Activation act, object text, object pattern):
    if type(pattern) is not Regex:
        pattern = compiled(act, text, pattern, "Illegal regex: ")
        if type(pattern) is not Regex:
            return pattern
    elif type(text) is not str:
        text = native_string(text)
    return NO_SUCH_OVERLOAD if text is None else (<Regex> pattern).find(act, <str> text)


cdef object find_all(Activation act, object text, object pattern, object limit):
    if type(pattern) is not Regex:
        if type(limit) is not int:
            return NO_OVERLOAD
        pattern = compiled(act, text, pattern, "Illegal regex: ")
        if type(pattern) is not Regex:
            return pattern
    elif type(text) is not str:
        text = native_string(text)
    while type(limit) is Optional:  # with a literal pattern, the limit is converted to Go too
        limit = (<Optional> limit).held
    if text is None or type(limit) is not int:
        return NO_SUCH_OVERLOAD
    return (<Regex> pattern).find_all(act, <str> text, limit)


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
    ternary(
        "findAll", "string.findAll(string) -> list(string)", "string_find_all_string", find_all,
        "'123 abc 456'.findAll('[0-9]+') // ['123', '456']",
    ).given(-1).costs(pattern_search, _finding).prepares(prepare),
    ternary(
        "findAll", "string.findAll(string, int) -> list(string)", "string_find_all_string_int",
        find_all, "'123 abc 456'.findAll('[0-9]+', 1) // ['123']",
    ).costs(pattern_search, _finding).prepares(prepare),
), kinds=None)
