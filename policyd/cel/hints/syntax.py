"""Find the mistakes in source that is not CEL, and those in the arguments of macros."""

from collections import defaultdict
from collections.abc import Mapping

from policyd.cel.hints.literals import LITERALS, neighbours, nothing
from policyd.cel.hints.operators import OPERATORS
from policyd.cel.hints.stream import Mistake, Rule, SourcePieces, bracket_mistake, short
from policyd.cel.hints.words import WORDS, reserved

_MOST = 5
_MOST_SEEN = 50  # of all kinds together: each may have a look at all of the source
_RESERVED = "reserved identifier: "


def _joined() -> Mapping[str, tuple[Rule, ...]]:
    found: dict[str, tuple[Rule, ...]] = defaultdict(tuple)
    for rules in (LITERALS, OPERATORS, WORDS):
        for key, row in rules.items():
            found[key] += row
    return dict(found)


_RULES = _joined()


def mistakes(text: str) -> list[Mistake]:
    """Return the first mistakes of source that does not parse; of each kind one. Every rule
    describes pieces that never are CEL; only if there are none, brackets and operators are counted.
    """
    stream = SourcePieces(text)
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
        whole = nothing(stream) or bracket_mistake(stream) or neighbours(stream)
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
        return Mistake(pos, *reserved(message.removeprefix(_RESERVED)))
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
    if s.text(at) == "[":
        path, close = short(s.path_before(at), "map"), s.partner(at)
        key = short(s.between(at + 1, close), "KEY") if close is not None else "KEY"
        if key.isdigit():
            return f"write size({path}) > {key}"
        return f"write {key} in {path}"
    if s.text(at) in ("(", "."):
        if s.text(at + 1) == "?":
            return f"write {short(s.path_before(at) + '.?' + s.text(at + 2), 'a.?b')}.hasValue()"
        return "write the field alone in has(), and its comparison after it: has(a.b) && a.b == 1"
    if s[at].kind == "IDENTIFIER":
        return f"write {s.text(at)} != null"
    if s[at].kind == "STRING":
        return f"write has(object.{s.text(at)[1:-1]}), or {s.text(at)} in map"
    return "write the field alone in has(), and its comparison after it: has(a.b) && a.b == 1"
