"""Values that YAML reads in another way than meant: signs at their start, quotes, ': ' inside."""

import re
from collections.abc import Mapping

from policyd.policy.source.yaml_text.rows import (
    QUOTES,
    Explanation,
    YamlRow,
    quoted,
    without_comment,
)

_SIGNS: Mapping[str, str] = {
    "!": "a value that begins with ! is a YAML tag",
    "&": "a value that begins with & is a YAML anchor",
    "*": "a value that begins with * is a YAML alias",
    "%": "a value cannot begin with %",
    "@": "a value cannot begin with @",
    "`": "a value cannot begin with a backquote",
    "[": "a value that begins with [ is a YAML list",
    "{": "a value that begins with { is a YAML object",
}
_NEVER_MEANT = frozenset("!*%@`")  # what the parser refuses after these is a string
_TEMPLATE = "a value that begins with {{ is a YAML object in another"
# A path with indexes in a flow map, as in suites: ``spec.volumes[0].name: ``.
_KEY = re.compile(r"(?<![\w.])[\w.]++\[[^][\s{},:]*+\][^\s:,{}]*+(?=:(?:\s|$))")
_LONGEST = 120  # value in a hint
_OF_REQUEST = ("object", "oldObject")


def template(inner: str, key: str = "", after: str = "") -> Explanation:
    """``{{ … }}`` of Helm, or of Kyverno, whose variables are paths of the request."""
    first, *rest = inner.strip().split(".")
    if not rest or not all(each.isidentifier() for each in (first, *rest)):
        hint = "render the template first (helm template), or put the value in quotes"
        return Explanation(_TEMPLATE, hint)
    path = ".".join(rest if first == "request" and rest[0] in _OF_REQUEST else (first, *rest))
    if key == "message":
        plain = not set("'\"\\{") & set(after)
        text = f" + '{after if plain else ' …'}'" if after else ""
        return Explanation(_TEMPLATE, f'write messageExpression: "{path}{text}"')
    hint = f'write "${{{path}}}" in an overlay, {path} in an expression or messageExpression'
    return Explanation(_TEMPLATE, hint)


def sign(row: YamlRow) -> Explanation | None:
    """A value that begins with a sign of YAML."""
    what = _SIGNS.get(row.value[:1])
    if what is None:
        return None
    if row.value.startswith("{{"):
        inner, _, after = row.value[2:].partition("}}")
        return template(inner, row.key or "", after)
    closing = {"[": "]", "{": "}"}.get(row.value[0])
    if closing and row.value.endswith(closing):
        return None
    whole = without_comment(row.value) if row.value[0] in _NEVER_MEANT else ""
    return Explanation(what, quoted(row.value), value=whole)


def in_brackets(line: str, column: int) -> Explanation:
    """Characters that a value without quotes cannot contain between ``{`` and ``}``."""
    sign_ = line[column - 1 : column]
    near = _KEY.finditer(line, max(0, column - _LONGEST), column + _LONGEST)
    key = next((each for each in near if each.start() < column <= each.end()), None)
    if key is not None:
        what = "a key without quotes cannot contain '[' between brackets"
        return Explanation(what, f"put the key in quotes: '{key[0]}': …")
    hint = "put the value in quotes, or write each field on its own line"
    if sign_ in ("[", "]", "{", "}"):
        what = f"a value without quotes cannot contain '{sign_}' between brackets"
        return Explanation(what, hint)
    return Explanation("a ',' or a closing bracket is missing", hint)


def tag(line: str, began: tuple[int, int]) -> Explanation:
    """A tag or alias that is not valid, at its place."""
    row, value = YamlRow.of(line), line[began[1] - 1 :]
    whole = row.value if row.at + 1 == began[1] else _in_flow(value)
    shown = whole or value.rstrip("}] ")
    return Explanation(_SIGNS[value[0]], quoted(shown), (), began, without_comment(whole))


def _in_flow(text: str) -> str:
    """Return the value that begins a part of a flow map; empty if its end is not there."""
    depth = 0
    for at, char in enumerate(text):
        if depth == 0 and char in ",}]":
            return text[:at].rstrip()
        depth += (char in "([{") - (char in ")]}")
    return ""


def quotes(row: YamlRow, column: int) -> Explanation | None:
    """A value that begins with a quote, and continues after the next one."""
    quote = row.value[:1]
    if quote not in QUOTES or not quote:
        return None
    end = closing_quote(row.value, 0)
    if end is None or row.at + end + 1 >= column + 1:
        return None
    rest = row.value[end + 1 :]
    if rest[:1] == " ":
        what = f"the value begins with {quote} and ends at the next one"
        return Explanation(what, f"write all of it on the next lines after '|': {row.value}")
    other = '"' if quote == "'" else "'"
    escape = "''" if quote == "'" else '\\"'
    inside = f"write {escape} for {quote} inside of it"
    use = "" if other in row.value else f", put it in {other}"
    what = f"the value ends at its second {quote}"
    return Explanation(what, f"{inside}{use}, or write it on the next lines after '|'")


def closing_quote(text: str, start: int) -> int | None:
    """Return where the string that begins at an offset ends on its line."""
    quote, at = text[start], start + 1
    while at < len(text):
        if quote == '"' and text[at] == "\\":
            at += 2
        elif text[at] != quote:
            at += 1
        elif quote == "'" and text[at + 1 : at + 2] == quote:
            at += 2
        else:
            return at
    return None


def colon(row: YamlRow) -> Explanation | None:
    """``: `` in a value without quotes."""
    if row.key is None or ": " not in row.value + " ":
        return None
    return Explanation("': ' cannot be in a value without quotes", quoted(row.value))


def block(row: YamlRow) -> Explanation:
    """Text after ``|`` or ``>``."""
    mark = row.value[:1]
    what = f"a value that begins with {mark} continues on the next lines"
    if row.value[:2] in ("||", ">=") or (mark == ">" and row.value[1:2] == " "):
        return Explanation(what, quoted(row.value))
    rest = row.value.lstrip("|>+-0123456789 ")
    return Explanation(what, f"write the text on the next line, indented: {rest}")


def escape(line: str, column: int, began: tuple[int, int]) -> Explanation:
    r"""``\d`` in double quotes, which open at the column of ``began`` if in the same line."""
    at = line.rfind("\\", 0, column + 1)
    name = line[at : at + 2] if at >= 0 else "\\"
    what = f"YAML has no escape {name} in double quotes"
    opening = began[1] - 1
    end = closing_quote(line, opening) if line[opening : opening + 1] == '"' else None
    written = None if end is None else _in_single_quotes(line[opening + 1 : end])
    use = "put the value in single quotes, or write it on the next lines after '|'"
    return Explanation(what, f"write {written}" if written else f"write \\{name}, {use}")


# Characters that follow a backslash: in double quotes of YAML, and in a string of CEL.
_YAML_ESCAPES = frozenset("0abtnvfre N_LPxuU/\t")
_CEL_ESCAPES = frozenset("abfnrtv\\?\"'`xXuU01234567")
_STRING = re.compile(r"""(?P<raw>\b[rR])?(?P<quote>['"])(?P<text>.*?)(?P=quote)""")


def _in_single_quotes(text: str) -> str:
    r"""Return the text of a value in double quotes in single ones, where ``\`` is no escape; empty
    if it has other escapes. Strings of an expression with ``\`` become raw strings.
    """
    pairs = re.findall(r"\\(.)", text[:_LONGEST])
    if len(text) > _LONGEST or not _YAML_ESCAPES.isdisjoint(pairs):
        return ""
    plain = re.sub(r'\\(["\\])', r"\1", text)
    strings = [match["text"] for match in _STRING.finditer(plain)]
    if any(not _CEL_ESCAPES.isdisjoint(re.findall(r"\\(.)", each)) for each in strings):
        return ""

    def as_raw(match: re.Match[str]) -> str:
        raw = match["raw"] or ("r" if "\\" in match["text"] else "")
        quote = match["quote"] if '"' in match["text"] else '"'
        return f"{raw}{quote}{match['text']}{quote}"

    whole = _STRING.sub(as_raw, plain)
    return "" if "'" in whole else f"'{whole}'"
