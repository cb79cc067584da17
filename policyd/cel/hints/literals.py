"""Syntax hints: strings, numbers with units, and values without an operator between them."""

from policyd.cel.hints.stream import Mistake, MistakeRules, SourcePieces, short
from policyd.cel.syntax.lexer import BAD_STRING, EOF, UNCLOSED

_PREFIXES = ("f", "F", "u", "fr", "rf")
_ESCAPES = "abfnrtv\"'\\?`xXuU0123"
_DURATIONS = frozenset(("s", "m", "h", "ms", "us", "ns", "sec", "min", "d", "days", "hours"))
_QUANTITIES = frozenset(
    ("m", "k", "K", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "KB", "MB", "GB")
)
_SECONDS = {"sec": "s", "min": "m", "hours": "h"}


def string(s: SourcePieces, at: int) -> Mistake | None:
    """Quotes inside of quotes, and strings beside each other."""
    quote = s.text(at)[-1]
    after = s[at + 1]
    other = "'" if quote == '"' else '"'
    if s.named(at - 1) and s.glued(at) and s.text(at - 1) in _PREFIXES:
        what = f"CEL has no strings that begin with {s.text(at - 1)}{s.text(at)[0]}"
        return Mistake(s[at - 1].pos, what, "write 'pod %s'.format([x]), or 'pod ' + string(x)")
    if after.kind in ("STRING", BAD_STRING):
        if s.glued(at + 1) and after.text[:1] == quote:
            hint = f"write \\{quote} for {quote} inside of a string, or put it in {other}"
            return Mistake(after.pos, f"the string ends at its second {quote}", hint)
        return Mistake(after.pos, "two strings follow each other", "write + or , between them")
    if s.glued(at + 1) and (after.kind in ("IDENTIFIER", UNCLOSED) or after.kind.startswith("NUM")):
        hint = f"write \\{quote} for {quote} inside of a string, or put it in {other}"
        return Mistake(after.pos, f"the string ends at its second {quote}", hint)
    return None


def bad_string(s: SourcePieces, at: int) -> Mistake | None:
    r"""A string with an escape that CEL does not have, such as ``\d``."""
    text = s.text(at)
    place = 1
    while place < len(text):
        place = text.find("\\", place)
        if place < 0:
            return None
        sign = text[place + 1 : place + 2]
        if sign not in _ESCAPES:
            break
        if sign.isalnum() and sign not in "abfnrtv":  # too few digits
            what = f"the escape \\{sign} has too few digits"
            hint = rf"write \\{sign} for the characters, or put an r before the string"
            return Mistake(s[at].pos + place, what, hint)
        place += 2
    else:
        return None
    raw = f": r{text}" if len(text) <= 60 else ""
    hint = rf"write \\{sign}, or put an r before the string{raw}"
    return Mistake(s[at].pos + place, f"CEL has no escape \\{sign}", hint)


def unclosed(s: SourcePieces, at: int) -> Mistake | None:
    quote, pos = s.text(at)[0], s[at].pos
    if s.ends_value(at - 1) and s.glued(at):
        before = s[at - 1]
        if at >= 2 and before.kind == "IDENTIFIER" and s[at - 2].kind == "STRING":
            return None  # the string before it is reported
        return Mistake(pos, f"this {quote} opens a string that is never closed", "remove it")
    triple = " or ".join((quote * 3, "\\n"))
    lines = f"; a string of several lines needs {triple}" if "\n" in s.source[pos:] else ""
    return Mistake(pos, "the string that begins here is never closed", f"write {quote}{lines}")


def number(s: SourcePieces, at: int) -> Mistake | None:
    """``5Gi``, ``10s``, ``1.2.3`` and ``containers.0``."""
    text, after = s.text(at), s[at + 1]
    if text.startswith(".") and s.glued(at) and s.ends_value(at - 1):
        if s[at - 1].kind.startswith("NUM"):
            return None
        path = short(s.path_before(at), "list")
        return Mistake(s[at].pos, "an index is written in brackets", f"write {path}[{text[1:]}]")
    if not s.glued(at + 1):
        return None
    if after.kind == "NUM_FLOAT" and after.text.startswith("."):
        end = at
        while s.glued(end + 1) and (s[end + 1].kind.startswith("NUM") or s.text(end + 1) == "/"):
            end += 1
        whole = s.between(at, end + 1)
        call = "cidr" if "/" in whole else "ip" if whole.count(".") == 3 else "semver"
        hint = f"write '{whole}' for the string, {call}('{whole}') to compare"
        return Mistake(s[at].pos, f"{whole} is not a number", hint)
    if after.kind != "IDENTIFIER":
        return None
    unit, whole = after.text, text + after.text
    if unit in _QUANTITIES and unit != "m":
        hint = f"write quantity('{whole}')"
    elif unit == "m":
        hint = f"write quantity('{whole}') or duration('{whole}')"
    elif unit in ("d", "days") and text.isdigit():
        hint = f"write duration('{int(text[:9]) * 24}h')"
    elif unit in _DURATIONS:
        hint = f"write duration('{text}{_SECONDS.get(unit, unit)}')"
    else:
        hint = f"write '{whole}' if it is a string"
    return Mistake(s[at].pos, f"{short(whole, 'this')} is not a number", hint)


def escaped_name(s: SourcePieces, at: int) -> Mistake | None:
    if s.text(at - 1) in (".", "?", "{", ","):
        return None
    what = "backquotes do not make a string"
    return Mistake(s[at].pos, what, f"write '{short(s.text(at)[1:-1], '…')}'")


def neighbours(s: SourcePieces) -> Mistake | None:
    """Return the first two values with nothing between them."""
    for at in range(1, len(s)):
        if s.ends_value(at - 1) and s.begins_value(at) and s.text(at - 1) not in (".", "?"):
            left, right = short(s.text(at - 1), "the value", 20), short(s.text(at), "the next", 20)
            what = f"an operator is missing between {left} and {right}"
            hint = "write && or || between conditions, a comma between arguments"
            return Mistake(s[at].pos, what, hint)
    return None


def nothing(s: SourcePieces) -> Mistake | None:
    """Return the mistake of an expression without any value."""
    if s[0].kind == EOF:
        return Mistake(0, "there is no expression", "write one, such as true")
    return None


LITERALS: MistakeRules = {
    "STRING": (string,),
    BAD_STRING: (bad_string,),
    UNCLOSED: (unclosed,),
    "NUM_INT": (number,),
    "NUM_FLOAT": (number,),
    "ESC_IDENTIFIER": (escaped_name,),
}
