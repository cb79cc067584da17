"""A third kind of random expression: those that people and Kubernetes' API server have seen, spliced and bent.

Policies, recorded requests to a real API server and the rows of past differences are cut into operands; an operand
takes the place of another, a literal becomes an odd one, a call gets another name or other arguments, an operand is
wrapped, a token is lost or another slips in. Most of what comes out is wrong in one place and right in all others.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

import yaml

from policyd._core.lib.libraries import KNOWN_LIBRARIES
from policyd.cel.env import Environment
from policyd.errors import CelCompileError
from tests.fuzz import words
from tests.shared import OWN, ROOT, rows

TOKEN = re.compile(
    r"""\s+|//[^\n]*|[rRbB]{0,2}(?:'''(?:[^\\]|\\.)*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|0[xX][0-9a-fA-F]+[uU]?|\d+\.\d+(?:[eE][+-]?\d+)?|\d+[uU]?|[A-Za-z_]\w*|&&|\|\||[=!<>]=|\.\?|\[\?|.""",
    re.DOTALL,
)
OPEN, CLOSE = ("(", "[", "[?", "{"), (")", "]", "}")
OPERATORS = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in")
MACROS = (
    "all", "exists", "exists_one", "existsOne", "map", "filter", "sortBy", "optMap", "optFlatMap",
    "transformList", "transformMap", "transformMapEntry", "has",
)  # fmt: skip
NAMES = sorted({
    row.name for library in KNOWN_LIBRARIES for row in library.overloads if row.name.replace(".", "").isalnum()
})  # fmt: skip
CALLED = sorted({name.rpartition(".")[2] for name in NAMES} | set(MACROS) | {"bind", "greatest"})
NUMBERS: list[str] = words.SPLICES["numbers"]
ATOMS: list[str] = words.SPLICES["atoms"]
ODD_TEXTS: list[str] = words.SPLICES["texts"]
WRAPS: list[str] = words.SPLICES[
    "wraps"
]  # S is the operand, A any other, M a macro, F a function, T a text
SLIPS: list[str] = words.SPLICES["slips"]
# Recorded in rows of their own; their errors name types of Go that nobody asks for.
MESSAGE = re.compile(r"google\.protobuf\.\w+\{")
FIELDS = ("nope", "a", "spec", "name", "k", "`a-b`", "in", "size", "__in__", "x")
_EXPRESSIONS = ("expression", "valueExpression", "messageExpression")
_LONGEST = 3_000


class Splices:
    """One bent expression after the other."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._recorded = recorded()

    def expression(self) -> str:
        text = self.wrapped(self.atom()) if self.random.random() < 0.1 else self.any()
        for _ in range(self.random.choice((0, 1, 1, 1, 1, 1, 2, 2, 3, 4))):
            text = self.random.choice(self._CHANGES)(self, text)
        return text[:_LONGEST]

    def any(self) -> str:
        return self.random.choice(self._recorded)

    def atom(self) -> str:
        kind = self.random.random()
        if kind < 0.3:
            return self.random.choice(ATOMS)
        if kind < 0.5:
            return self.random.choice(NUMBERS)
        return self.quoted() if kind < 0.65 else self.operand()

    def operand(self) -> str:
        """A part of another expression."""
        tokens = TOKEN.findall(self.any())
        places = operands(tokens)
        start, end = self.random.choice(places) if places else (0, len(tokens))
        text = "".join(tokens[start:end])
        return text if len(text) < 200 else "1"

    def quoted(self) -> str:
        """A text as a literal, in one of the ways in which it can be written."""
        pool = self.random.choice((ODD_TEXTS, ODD_TEXTS, words.TEXTS, *words.ARGUMENTS.values()))
        text = self.random.choice(pool)
        kind = self.random.random()
        if kind < 0.1 and not set(text) & set("'\\\n\r"):
            return f"r'{text}'"
        if kind < 0.2:
            return "'" + "".join(f"\\U{ord(char):08x}" for char in text) + "'"
        if kind < 0.3:
            return "b'" + "".join(f"\\x{octet:02x}" for octet in text.encode()) + "'"
        text = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return "'" + text.replace("\r", "\\r") + "'"

    # Changes of a text

    def spliced(self, text: str) -> str:
        other = self.operand() if self.random.random() < 0.6 else self.atom()
        return self._replaced(
            text, lambda _: other if self.random.random() < 0.6 else f"dyn({other})"
        )

    def wrapped_part(self, text: str) -> str:
        return self._replaced(text, self.wrapped)

    def wrapped(self, text: str) -> str:
        makers: Mapping[str, Callable[[], str]] = {
            "A": self.atom,
            "M": lambda: self.random.choice(MACROS),
            "F": lambda: self.random.choice(CALLED),
            "G": lambda: self.random.choice(NAMES),
            "T": self.quoted,
        }
        parts = re.split(r"\b([SAMFGT])\b", self.random.choice(WRAPS))
        return "".join(
            part if i % 2 == 0 else text if part == "S" else makers[part]()
            for i, part in enumerate(parts)
        )

    def other_literal(self, text: str) -> str:
        def changed(token: str) -> str:
            if token[-1] in "'\"" and self.random.random() < 0.8:
                return self.quoted()
            return self.random.choice(NUMBERS) if self.random.random() < 0.6 else self.atom()

        literal = re.compile(r"\d.*|.*['\"]|true|false|null", re.DOTALL)
        return self._changed(text, literal.fullmatch, changed)

    def other_function(self, text: str) -> str:
        return self._changed_at(
            text, lambda tokens, i: _is_call(tokens, i + 1), lambda _: self.random.choice(CALLED)
        )

    def other_operator(self, text: str) -> str:
        return self._changed(text, OPERATORS.__contains__, lambda _: self.random.choice(OPERATORS))

    def other_arguments(self, text: str) -> str:
        tokens = TOKEN.findall(text)
        calls = [i for i in range(len(tokens)) if _is_call(tokens, i)]
        start = self.random.choice(calls) if calls else 0
        end = closing(tokens, start) if calls else None
        if end is None:
            return text
        given = "".join(tokens[start + 1 : end])
        comma = ", " if given else ""
        kinds = (f"{given}{comma}{self.atom()}", f"{self.atom()}{comma}{given}", "", self.atom())
        return "".join((*tokens[: start + 1], self.random.choice(kinds), *tokens[end:]))

    def other_field(self, text: str) -> str:
        tokens = TOKEN.findall(text)
        dots = [i for i, token in enumerate(tokens[:-1]) if token in (".", ".?")]
        if not dots:
            return text
        at = self.random.choice(dots)
        name, field = tokens[at + 1], self.random.choice(FIELDS)
        forms = (
            f".{field}",
            f".?{name}",
            f".{name}",
            f"['{name}']",
            f"[?'{name}']",
            f"[{self.atom()}]",
        )
        tokens[at : at + 2] = [self.random.choice(forms)]
        return "".join(tokens)

    def slipped(self, text: str) -> str:
        tokens = TOKEN.findall(text)
        at, other = (self.random.randrange(len(tokens) + 1) for _ in "12")
        kind = self.random.random()
        if kind < 0.35:
            del tokens[at : at + 1]
        elif kind < 0.5:
            tokens[at:at] = [" ", *tokens[at : at + 1]]
        elif kind < 0.8 or max(at, other) >= len(tokens):
            tokens.insert(at, self.random.choice(SLIPS))
        elif kind < 0.9:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        else:
            tokens[at] = tokens[at][: self.random.randrange(len(tokens[at]) + 1)]
        return "".join(tokens)

    def joined(self, text: str) -> str:
        return f"{text} {self.random.choice(OPERATORS)} {self.any()}"

    _CHANGES = (
        *(spliced,) * 6, *(wrapped_part,) * 3, *(other_literal,) * 4, *(other_function,) * 3,
        *(other_operator, other_field, slipped) * 2, other_arguments, joined,
    )  # fmt: skip

    def _replaced(self, text: str, change: Callable[[str], str]) -> str:
        """The text with one operand changed."""
        tokens = TOKEN.findall(text)
        places = operands(tokens)
        if not places:
            return text
        start, end = self.random.choice(places)
        tokens[start:end] = [change("".join(tokens[start:end]))]
        return "".join(tokens)

    def _changed(
        self, text: str, fits: Callable[[str], object], change: Callable[[str], str]
    ) -> str:
        return self._changed_at(text, lambda tokens, i: bool(fits(tokens[i])), change)

    def _changed_at(
        self, text: str, fits: Callable[[list[str], int], bool], change: Callable[[str], str]
    ) -> str:
        """The text with one of the tokens that fit changed."""
        tokens = TOKEN.findall(text)
        places = [i for i in range(len(tokens)) if fits(tokens, i)]
        if places:
            at = self.random.choice(places)
            tokens[at] = change(tokens[at])
        return "".join(tokens)


def _is_call(tokens: list[str], at: int) -> bool:
    return 0 < at < len(tokens) and tokens[at] == "(" and tokens[at - 1][0].isalpha()


def closing(tokens: list[str], start: int) -> int | None:
    """Where the bracket that opens there is closed."""
    depth = 0
    for at in range(start, len(tokens)):
        depth += (tokens[at] in OPEN) - (tokens[at] in CLOSE)
        if depth == 0:
            return at
    return None


def operands(tokens: list[str]) -> list[tuple[int, int]]:
    """Every literal, name and bracket, with none, some and all of the selections, calls and indexes after it."""
    found = []
    before = ""
    for start, token in enumerate(tokens):
        if token.isspace():
            continue
        follows = before[-1:].isalnum() or before[-1:] in ("_", *CLOSE, "'", '"')
        begins = (
            (token in ("(", "[") and not follows)
            or token == "{"
            or token[0].isalnum()
            or token[0] in "_'\""
        )
        if begins and before not in (".", ".?") and token != "in":
            found += [(start, end) for end in _ends(tokens, start)]
        before = token
    return found


def _ends(tokens: list[str], start: int) -> Iterator[int]:
    """Where an operand may end that begins there."""
    at: int | None = closing(tokens, start) if tokens[start] in OPEN else start
    while at is not None:
        end = at + 1
        yield end
        following = tokens[end] if end < len(tokens) else ""
        at = (
            end + 1
            if following in (".", ".?")
            else closing(tokens, end)
            if following in OPEN
            else None
        )


@functools.cache
def recorded() -> list[str]:
    """Expressions of policies and rows; those that compile more often."""
    texts: set[str] = set()
    # Not of policies/: who edits a policy would have other questions asked.
    for file in ROOT.glob("tools/bench/data/**/*.yaml"):
        for document in yaml.safe_load_all(file.read_text()):
            texts.update(_expressions(document))
    for file in (*OWN.glob("apiserver/*.jsonl.gz"), *ROOT.glob("tests/core/**/*.jsonl")):
        for row in rows(file):
            texts.update(_expressions(row))
    short = sorted(text for text in texts if 0 < len(text) < 1_000 and not MESSAGE.search(text))
    return [text for text in short for _ in range(3 if _compiles(text) else 1)]


def _compiles(text: str) -> bool:
    try:
        Environment.kubernetes().compile(text)
    except CelCompileError:
        return False
    return True


def _expressions(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            if name in _EXPRESSIONS and isinstance(item, str):
                yield item
            else:
                yield from _expressions(item)
    elif isinstance(value, list):
        for item in value:
            yield from _expressions(item)
