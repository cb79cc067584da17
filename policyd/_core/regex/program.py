"""Compiles regular expressions to instructions, from which ``dfa`` creates its states.

The input is the RE2 syntax that ``regex.syntax`` returns, a small language: flags are resolved and
the syntax is valid. The sets of a program have ASCII characters; ``spans`` looks up others when a
string has some. Groups do not capture. Like RE2 and Go, an ``EITHER`` prefers the first of its two
instructions. Patterns that are too large or nested too deeply have no program.
"""

import functools
import re
from dataclasses import dataclass
from typing import TypeAlias

from re2 import _re2

from policyd._core.regex.dfa import Dfa, Op

MAX_PATTERN = 2048  # characters
MAX_DEPTH = 64
MAX_INSTRUCTIONS = 512

ANYWHERE = _re2.RE2.Anchor.UNANCHORED
POINTS = 128
ALL = bytes(range(POINTS))
NEWLINE = 1 << ord("\n")
WORD = sum(1 << point for point in ALL if chr(point).isalnum()) | 1 << ord("_")

TOKEN = re.compile(
    r"""
      (?P<open> \(\?(?P<fold>i?): )
    | (?P<close> \) )
    | (?P<bar> \| )
    | (?P<repeat> (?: [*+?] | \{ (?P<low>\d++) (?P<more>,?) (?P<high>\d*+) \} ) \?? )
    | (?P<assertion> \(\?m:[$^]\) | \\[AzbB] )
    | (?P<one> \(\?s:\.\)
        | \[\^? (?: \[:\^?\w+:\] | \\[xpP]\{\w+\} | - | \\\w )+ \]
        | \\x\{\w+\} | \\. | . )
    """,
    re.VERBOSE | re.DOTALL,
)


ASSERTIONS = {
    r"\A": Op.TEXT_START,
    r"\z": Op.TEXT_END,
    "(?m:^)": Op.LINE_START,
    "(?m:$)": Op.LINE_END,
    r"\b": Op.BOUNDARY,
    r"\B": Op.NO_BOUNDARY,
}
# The characters that an assertion distinguishes, in addition to the sets of the program.
LOOKED_AT = {
    Op.LINE_START: NEWLINE,
    Op.LINE_END: NEWLINE,
    Op.BOUNDARY: WORD,
    Op.NO_BOUNDARY: WORD,
}


@dataclass(frozen=True, slots=True)
class One:
    """One character of a set: bit n is ASCII character n. ``text`` is the set in RE2 syntax."""

    characters: int
    text: str


@dataclass(frozen=True, slots=True)
class Assertion:
    op: Op


@dataclass(frozen=True, slots=True)
class Repetition:
    """``high`` None: no bound. ``lazy``: prefers as few as possible."""

    node: "RegexNode"
    low: int
    high: int | None
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternatives, each a sequence; also a group, and a whole pattern."""

    branches: list[list["RegexNode"]]


RegexNode: TypeAlias = One | Assertion | Repetition | Choice


class TooLarge(Exception):
    """The pattern is too large for a program."""


def machine(text: str) -> Dfa | None:
    """The DFA of a pattern from ``regex.syntax``; None if the pattern is too large."""
    try:
        return Assembler().assemble(tree(text))
    except TooLarge:
        return None


def tree(text: str) -> Choice:
    if len(text) > MAX_PATTERN:
        raise TooLarge
    groups = [Choice([[]])]
    folding = [False]
    for token in TOKEN.finditer(text):
        last = groups[-1].branches[-1]
        if token["open"]:
            groups.append(Choice([[]]))
            folding.append(folding[-1] or token["fold"] == "i")
            if len(groups) > MAX_DEPTH:
                raise TooLarge
        elif token["close"]:
            folding.pop()
            groups[-2].branches[-1].append(groups.pop())
        elif token["bar"]:
            groups[-1].branches.append([])
        elif token["repeat"]:
            lazy = len(token["repeat"]) > 1 and token["repeat"].endswith("?")
            last.append(Repetition(last.pop(), *bounds(token), lazy))
        elif token["assertion"]:
            last.append(Assertion(ASSERTIONS[token["assertion"]]))
        else:
            text = f"(?i:{token['one']})" if folding[-1] else token["one"]
            last.append(One(characters(token["one"], folding[-1]), text))
    return groups[0]


def bounds(token: re.Match[str]) -> tuple[int, int | None]:
    if token["low"] is None:
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[token["repeat"][0]]
    low = int(token["low"])
    if not token["more"]:
        return low, low
    return low, int(token["high"]) if token["high"] else None


def characters(text: str, fold: bool) -> int:
    """The ASCII characters that a class or literal matches."""
    if not fold and (text.isalnum() or (text[0] == "\\" and not text[1].isalnum())):
        return 1 << ord(text[-1]) if text.isascii() else 0
    return matched(f"(?i:{text})" if fold else text)


@functools.lru_cache(256)
def matched(text: str) -> int:
    """The ASCII characters that match in RE2, which handles case folding and class names."""
    return sum((1 << end) - (1 << start) for start, end in spans(text, ALL))


def spans(text: str, characters: bytes) -> list[tuple[int, int]]:
    """The runs of characters that a set has, in a UTF-8 text that has each character once: start
    and end of each run.
    """
    match = _re2.RE2(f"(?:{text})+".encode(), _re2.RE2.Options()).Match
    found = []
    at = 0
    # No match is the span (-1, -1), or no span at all.
    while (run := match(ANYWHERE, characters, at, len(characters))) and run[0][0] >= 0:
        found.append((run[0][0], run[0][1]))
        at = run[0][1]
    return found


def kinds(told_apart: set[int]) -> bytes:
    """The kind of each ASCII character: characters in the same sets have the same kind."""
    parts = [(1 << POINTS) - 1]
    for members in told_apart:
        parts = [part for old in parts for part in (old & members, old & ~members) if part]
    return bytes(
        next(kind for kind, part in enumerate(parts) if part >> point & 1)
        for point in range(POINTS)
    )


class Assembler:
    """Creates instructions from the end of the pattern to its start, so that the next is known."""

    def __init__(self) -> None:
        self.instructions: list[tuple[int, int, int]] = []
        self.sets: dict[One, int] = {}
        self.looked_at: set[int] = set()

    def assemble(self, whole: Choice) -> Dfa:
        start = self.node(whole, self.add(Op.MATCH, 0))
        sets = [each.characters for each in self.sets]
        texts = tuple([each.text for each in self.sets])
        return Dfa(self.instructions, start, sets, kinds({*sets, *self.looked_at}), texts)

    def add(self, op: Op, after: int, other: int = 0) -> int:
        if len(self.instructions) == MAX_INSTRUCTIONS:
            raise TooLarge
        self.instructions.append((op, after, other))
        return len(self.instructions) - 1

    def node(self, node: RegexNode, after: int) -> int:
        """The first instruction of ``node``, which continues at ``after``."""
        match node:
            case One():
                return self.add(Op.ONE, after, self.sets.setdefault(node, len(self.sets)))
            case Assertion(op):
                self.looked_at.add(LOOKED_AT.get(op, 0))
                return self.add(op, after)
            case Repetition():
                return self.repetition(node, after)
            case Choice(branches):
                starts = [self.sequence(branch, after) for branch in branches]
                return functools.reduce(lambda one, other: self.add(Op.EITHER, one, other), starts)

    def sequence(self, nodes: list[RegexNode], after: int) -> int:
        for node in reversed(nodes):
            after = self.node(node, after)
        return after

    def repetition(self, node: Repetition, after: int) -> int:
        """``x{2,4}`` is ``xx(x(x)?)?``; ``x{2,}`` is ``xxx*``."""
        if node.high is None:
            start = self.loop(node, after)
        else:
            start = after
            for _ in range(node.high - node.low):
                begun = self.node(node.node, start)
                if begun == start:
                    break
                start = self.either(begun, after, node.lazy)
        for _ in range(node.low):
            begun = self.node(node.node, start)
            if begun == start:  # an empty match, any number of times
                break
            start = begun
        return start

    def loop(self, node: Repetition, after: int) -> int:
        head = self.add(Op.EITHER, after, after)
        body = self.node(node.node, head)
        self.instructions[head] = (Op.EITHER, *((after, body) if node.lazy else (body, after)))
        # With an empty body, ``x*`` is ``(x+)?`` in RE2 and Go: the first alternatives of x are
        # tried before the loop is left.
        return self.either(body, after, node.lazy) if may_be_empty(node.node) else head

    def either(self, preferred: int, other: int, swapped: bool) -> int:
        if swapped:
            preferred, other = other, preferred
        return self.add(Op.EITHER, preferred, other)


def may_be_empty(node: RegexNode) -> bool:
    match node:
        case One():
            return False
        case Assertion():
            return True
        case Repetition(inner, low):
            return low == 0 or may_be_empty(inner)
        case Choice(branches):
            return any(all(map(may_be_empty, branch)) for branch in branches)
