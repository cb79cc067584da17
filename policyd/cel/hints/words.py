"""Syntax hints: words of other languages."""

from policyd.cel.hints.operators import not_in
from policyd.cel.hints.stream import Mistake, MistakeRules, Rule, SourcePieces, short
from policyd.cel.hints.vocabulary import INFIX, PREFIX, RESERVED
from policyd.cel.syntax.lexer import EOF


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
    if key == "for":
        return _comprehension(s, at)
    if key not in INFIX:
        return None
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


def reserved(name: str) -> tuple[str, str]:
    """Return what is wrong with a reserved name, and the remedy."""
    known = RESERVED.get(name) or PREFIX.get(name, "choose another name").replace("{0}", "x")
    return f"'{name}' is a word that CEL reserves", known


_WORD_RULES: tuple[Rule, ...] = (infix, prefix)
WORDS: MistakeRules = {"IDENTIFIER": _WORD_RULES}
