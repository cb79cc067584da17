"""Regular expressions: what Go's grammar allows is compiled, and the core's machines answer as RE2 does.

An input is a pattern and, after the first NUL, a string; the string is matched as a whole and in parts.
"""

from re2 import _re2

from policyd._core.regex import program
from policyd._core.regex.backtracking import Backtracking
from policyd._core.regex.scanner import RegexSyntaxError
from policyd._core.regex.syntax import parse
from policyd.cel.env import Environment
from policyd.errors import BudgetExceeded, EvaluationError
from tests.core.regex import re2
from tests.fuzz.guided import mutating
from tests.fuzz.guided.target import FuzzTarget

LONGEST = 1_000
WORDS = (
    "(?:",
    "(?i:",
    "(?m)",
    "(?s-i)",
    "(?P<x>",
    "(?U)",
    "|",
    "*",
    "+?",
    "{2}",
    "{0,3}",
    "{1,}",
    "^",
    "$",
    "\\b",
    "\\B",
    "\\A",
    "\\z",
    "\\d",
    "\\W",
    "\\pL",
    "\\P{Lu}",
    "[[:alpha:]]",
    "[^a-z]",
    "[a-",
    "\\Q",
    "\\E",
    "\\x{10FFFF}",
    "\\x7f",
    ".",
    "()",
    "(a*)*",
    "\\C",
    "\\1",
    "{1001}",
    "k",
    "ſ",
    "K",
    "\u2028",
    "\x00",
)
SEEDS = (
    "^[a-z.]+/[a-z/]+:v[0-9]+$\x00registry.io/a:v1",
    "^(a|b|ab)*c{2,3}$\x00ababcc",
    "(?i)k\\b.*ſ$\x00Kelvin s",
    "(?m)^a$|\\Bb\x00c\na\nbb",
    "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)$\x00a-b-c",
    "[^\\d\\s]{3}(?s:.)\x00abc\n",
    "\\Qa.b\\E\x00a.b",
    "^(latest|stable)$\x00latest",
    "\\p{Greek}+\x00αβγ",
)
MATCHES = Environment.kubernetes().compile("object.matches(params)")
FIND = Environment.kubernetes().compile("object.findAll(params)")


def check(data: bytes) -> None:
    pattern, _, text = data[:LONGEST].decode("utf-8", "replace").partition("\x00")
    try:
        parsed = parse(pattern)
    except RegexSyntaxError as error:
        assert str(error)
        return
    assert parse(pattern) == parsed, "not the same twice"
    options = _re2.RE2.Options()
    options.log_errors = False
    compiled = _re2.RE2(parsed.text.encode(), options)
    texts = (text, text[: len(text) // 2], text[::-1], "")
    if compiled.ok():
        made = program.machine(parsed.text)
        for each in texts:
            answer = None if made is None else made.matches(each)
            assert answer is None or answer == matched(compiled, each), each
            if made is not None and re2.finds_what_go_finds(parsed.text, each):
                assert Backtracking.spans(made, each) == re2.spans(compiled, each), each
    through_cel(pattern, text, compiled if compiled.ok() else None)


def matched(compiled: object, text: str) -> bool:
    octets = text.encode()
    spans = compiled.Match(_re2.RE2.Anchor.UNANCHORED, octets, 0, len(octets))  # type: ignore[attr-defined]
    return bool(spans) and spans[0][0] >= 0


def through_cel(pattern: str, text: str, compiled: object) -> None:
    """Often enough that the engine of the pattern changes from RE2 to the machine."""
    variables = {"object": text, "params": pattern}
    try:
        answers = {MATCHES.evaluate(variables) for _ in range(3)}
        FIND.evaluate(variables)
    except (EvaluationError, BudgetExceeded) as error:
        assert str(error)
        return
    assert answers == {matched(compiled, text)}


def seeds() -> list[bytes]:
    return [each.encode() for each in SEEDS]


TARGET = FuzzTarget(check, seeds, mutating.text_mutation(WORDS))
