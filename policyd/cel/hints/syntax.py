"""Find the mistakes in source that is not CEL: strings, numbers with units, values without an
operator between them and words of other languages; and those in the arguments of macros.
"""

from policyd.cel.hints.keys import present, written_key
from policyd.cel.hints.operators import OPERATORS, not_in
from policyd.cel.hints.stream import (
    Mistake,
    MistakeRules,
    SourcePieces,
    bracket_mistake,
    replaced,
    short,
)
from policyd.cel.hints.vocabulary import INFIX, PREFIX, RESERVED
from policyd.cel.syntax.lexer import BAD_STRING, EOF, UNCLOSED

_PREFIXES = ("f", "F", "u", "fr", "rf")
_ESCAPES = "abfnrtv\"'\\?`xXuU0123"
_DURATIONS = frozenset(("s", "m", "h", "ms", "us", "ns", "sec", "min", "d", "days", "hours"))
_QUANTITIES = frozenset(
    ("m", "k", "K", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "KB", "MB", "GB")
)
_WORDS_OF_TEXT = 3
_LONGEST_TEXT = 120
_SIGNS = "=<>&|()[]{}+'\""  # of operators, calls and strings
_SECONDS = {"sec": "s", "min": "m", "hours": "h"}


def string(s: SourcePieces, at: int) -> Mistake | None:
    """Quotes inside of quotes, and strings beside each other."""
    quote = s.text(at)[-1]
    after = s[at + 1]
    other = "'" if quote == '"' else '"'
    if s.text(at - 1) == "{" and after.text == ":" and s[at - 2].kind == "IDENTIFIER":
        return _quoted_field(s, at)
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
        what = f"the string ends at its second {quote}"
        return Mistake(after.pos, what, hint, len(s.source))
    return None


def _quoted_field(s: SourcePieces, at: int) -> Mistake:
    """``Object.metadata{"labels": …}``, and a map of which a type was made."""
    key, of = s.text(at)[1:-1], short(s.path_before(at - 1), "the type")
    hint = f"write {key}, without quotes"
    if not key.isidentifier():
        hint = f"write {{'{key}': …}} in place of {of}{{…}}: a map has no type"
    return Mistake(s[at].pos, "a field is not in quotes", hint)


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
            hint = (
                "write && or || between conditions, a comma between arguments, quotes around a text"
            )
            return Mistake(s[at].pos, what, hint)
    return None


def plain_text(s: SourcePieces) -> Mistake | None:
    """Return the mistake of a text for people: three names in a row, none known as an operator."""
    run = 0
    for at in range(len(s)):
        known = any(s.text(at).lower() in words for words in (INFIX, PREFIX, RESERVED))
        run = run + 1 if s.named(at) and not known and s.text(at + 1) not in (".", "(") else 0
        if run == _WORDS_OF_TEXT:
            only = not any(sign in s.source for sign in _SIGNS)
            whole = short(s.source, "Pods must have …", 60)
            hint = f"write '{whole}', in quotes, or move it to message"
            hint = hint if only else _with_values(s.source) or "write quotes around it: '…'"
            pos = s[0 if only else at - run + 1].pos
            if s[at - run].kind == "STRING" and s.glued(at - run + 1):
                return None  # a quote inside of a string
            return Mistake(pos, "this is a text, not an expression", hint)
    return None


def _with_values(text: str) -> str:
    """Return how a text with ``${…}`` or ``{{…}}`` is written; empty if it has none."""
    for opened, closed in (("${", "}"), ("{{", "}}")):
        first, *rest = text.split(opened)
        parts, quotes = [f"'{first}'"] if first else [], set("'\"")
        for each in rest:
            value, _, after = each.partition(closed)
            parts += [f"string({value.strip()})", *([f"'{after}'"] if after else [])]
        if rest and len(text) <= _LONGEST_TEXT and quotes.isdisjoint(text):
            return f"write {' + '.join(parts)}"
    return ""


def infix(s: SourcePieces, at: int) -> Mistake | None:
    """A word between two values, where CEL has an operator or a function."""
    word = s.text(at)
    if not s.named(at) or not s.ends_value(at - 1) or s[at + 1].kind == EOF:
        return None
    after = at + 1
    left = short(s.path_before(at) or s.text(at - 1), "x")
    what = f"CEL has no operator '{word}'"
    key = word.lower() if word.isupper() else word
    if key == "not" and s.text(after) == "in":
        return Mistake(s[at].pos, "CEL has no operator 'not in'", f"write {not_in(s, at, at + 2)}")
    if key == "is" and s.text(after) == "not":
        return Mistake(s[at].pos, "CEL has no operator 'is not'", "write !=")
    if key == "if":
        return _conditional(s, at)
    if key == "between":
        low, high = short(s.text(after), "LOW"), short(s.text(after + 2), "HIGH")
        return Mistake(
            s[at].pos, what, f"write {left} >= {low} && {left} <= {high}", s[after + 2].pos
        )
    if key == "for":
        return _comprehension(s, at)
    if key not in INFIX:
        return None
    sign = INFIX[key].removeprefix("write ")
    if " " not in sign and "(" not in sign:
        return replaced(s[at].pos, what, word, sign)
    right = short(s.text(after) + s.path_after(after + 1), "y")
    if s.text(after) == "(":
        right = short(s.between(after + 1, s.partner(after) or after + 1), "y")
    return Mistake(s[at].pos, what, INFIX[key].replace("{0}", left).replace("{1}", right))


def _conditional(s: SourcePieces, at: int) -> Mistake:
    """``x if c else y``."""
    other = next((n for n in range(at, len(s)) if s.text(n) == "else"), len(s))
    yes = short(s.path_before(at) or s.text(at - 1), "VALUE")
    condition = short(s.between(at + 1, other), "CONDITION")
    no = short(s.between(other + 1, len(s)), "OTHER")
    hint = f"write {condition} ? {yes} : {no}"
    return Mistake(s[at].pos, "CEL has no if … else", hint, len(s.source))


def _comprehension(s: SourcePieces, at: int) -> Mistake:
    """``[f(x) for x in list if c]``."""
    name = short(s.text(at + 1), "x")
    value = short(s.path_before(at), name)
    over = short(s.text(at + 3) + s.path_after(at + 4), "list")
    where = next((n for n in range(at, len(s)) if s.text(n) == "if"), None)
    start = s.start_before(at)
    method = s.text(start - 2) if s.text(start - 1) == "(" else ""
    hint = f"write {over}.map({name}, {value})"
    if method in ("all", "any"):
        hint = f"write {over}.{'all' if method == 'all' else 'exists'}({name}, {value})"
    elif where is not None:
        hint = f"write {over}.filter({name}, CONDITION).map({name}, {value})"
    return Mistake(s[at].pos, "CEL has no loops written with for", hint, len(s.source))


def prefix(s: SourcePieces, at: int) -> Mistake | None:
    """A word before a value, where CEL has none or a sign."""
    word = s.text(at)
    joined = s.text(at - 1).lower() in ("and", "or")
    if not s.named(at) or (s.ends_value(at - 1) and not joined):
        return None
    after = s.text(at + 1)
    if word in ("not", "NOT") and (s.begins_value(at + 1) or after == "!"):
        operand = short(after + s.path_after(at + 2), "x")
        if s.text(at + 2) == "(":
            operand = "(…)"
        return Mistake(s[at].pos, f"CEL has no operator '{word}'", f"write !{operand}")
    if word in ("if", "elif", "unless", "when", "case", "switch") and after not in (".", ","):
        hint = "write CONDITION ? VALUE : OTHER"
        return Mistake(s[at].pos, f"CEL has no '{word}'", hint, len(s.source))
    if word in PREFIX and s.begins_value(at + 1):
        operand = short(after + s.path_after(at + 2), "x")
        hint = PREFIX[word].replace("{0}", operand)
        return Mistake(s[at].pos, f"CEL has no '{word}'", hint, len(s.source))
    return None


_MOST = 5
_MOST_SEEN = 50  # of all kinds together: each may have a look at all of the source
_RESERVED = "reserved identifier: "


_RULES: MistakeRules = {
    **OPERATORS,
    "STRING": (string,),
    BAD_STRING: (bad_string,),
    UNCLOSED: (unclosed,),
    "NUM_INT": (number,),
    "NUM_FLOAT": (number,),
    "ESC_IDENTIFIER": (escaped_name,),
    "IDENTIFIER": (infix, prefix),
}


def mistakes(text: str) -> list[Mistake]:
    """Return the first mistakes of source that does not parse; of each kind one. Every rule
    describes pieces that never are CEL; only if there are none, brackets and operators are counted.
    """
    stream = SourcePieces(text)
    if text_ := plain_text(stream):
        return [text_]
    found: dict[str, Mistake] = {}
    end = seen = 0
    for at in range(len(stream)):
        mistake = _at(stream, at) if stream[at].pos >= end else None
        if mistake is not None:
            found.setdefault(mistake.summary, mistake)
            end, seen = mistake.end, seen + 1
            if len(found) == _MOST or seen == _MOST_SEEN:
                break
    if not found:
        if stream[0].kind == EOF:
            return [Mistake(0, "there is no expression", "write one, such as true")]
        whole = bracket_mistake(stream) or neighbours(stream)
        return [whole] if whole is not None else []
    return sorted(found.values(), key=lambda mistake: mistake.pos)


def _at(stream: SourcePieces, at: int) -> Mistake | None:
    piece = stream[at]
    for key in dict.fromkeys((piece.text, piece.kind)):
        for rule in _RULES.get(key, ()):
            mistake = rule(stream, at)
            if mistake is not None:
                return mistake
    return None


def macro_mistake(text: str, pos: int, message: str) -> Mistake | None:
    """Return the mistake behind an error that the parser reports for well-formed source."""
    if message.startswith(_RESERVED):
        name = message.removeprefix(_RESERVED)
        known = RESERVED.get(name) or PREFIX.get(name, "choose another name").replace("{0}", "x")
        return Mistake(pos, f"'{name}' is a word that CEL reserves", known)
    stream = SourcePieces(text)
    at = next((n for n in range(len(stream)) if stream[n].pos >= pos), len(stream))
    if message == "invalid argument to has() macro":
        return Mistake(pos, "has() takes the selection of a field, such as a.b", _has(stream, at))
    if message in ("argument must be a simple name", "argument is not an identifier"):
        what = "the first argument of a macro is the name of its variable"
        return Mistake(pos, what, "write a name, such as list.all(x, x != '')")
    if message == "unsupported syntax: '`'":
        field = stream.text(at).strip("`")
        what = "names in backquotes need Kubernetes 1.37"
        return Mistake(pos, what, f"write ['{short(field, 'name')}'] in place of .`…`")
    return None


def _has(s: SourcePieces, at: int) -> str:
    """Return what to write for ``has(…)`` of something that is no selection."""
    if test := _has_key(s, at):
        begin = next((n for n in range(at, 0, -1) if s.text(n) == "has"), 0)
        negated = s.text(begin - 1) == "!" and "&&" in test
        return f"write !({test})" if negated else f"write {test}"
    if s.text(at) == "[":
        return f"write size({short(s.path_before(at), 'list')}) > {s.text(at + 1)}"
    if s.text(at) == "." and s.text(at + 1) == "?":
        return f"write {short(s.path_before(at) + '.?' + s.text(at + 2), 'a.?b')}.hasValue()"
    if s[at].kind == "IDENTIFIER":
        return f"write {s.text(at)} != null"
    if s[at].kind == "STRING":
        return f"write has(object.{s.text(at)[1:-1]}), or {s.text(at)} in map"
    return "write the field alone in has(), and its comparison after it: has(a.b) && a.b == 1"


def _has_key(s: SourcePieces, at: int) -> str:
    """Return the test for the key of a map: ``has(map['a-b'])``, ``has(map.a-b)``; else empty."""
    if s.text(at) == "[":
        close = s.partner(at)
        key = short(s.between(at + 1, close), "KEY") if close is not None else "KEY"
        return "" if key.isdigit() else present(short(s.path_before(at), "map"), key)
    written = written_key(s.source, s[at].pos)
    return "" if written is None else written.presence
