"""The pieces of source that is not CEL, and the mistakes that are found in them."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from policyd.cel.syntax.lexer import BAD_STRING, EOF, KEYWORDS, Token, pieces

_NUMBERS = frozenset(("NUM_INT", "NUM_UINT", "NUM_FLOAT"))
_CONSTANTS = KEYWORDS - {"in"}
NAMES_AND_VALUES = _NUMBERS | _CONSTANTS | {"IDENTIFIER", "STRING", "BYTES", BAD_STRING}
_ENDS = NAMES_AND_VALUES | {"ESC_IDENTIFIER", ")", "]", "}"}
_OPEN = {"(": ")", "[": "]", "{": "}"}
_LONGEST = 100  # pieces of a path: no longer one is shown
_CLOSE = {close: open_ for open_, close in _OPEN.items()}


class Mistake(NamedTuple):
    """What is wrong at an offset, in plain words, and the remedy. Up to ``end`` nothing else is
    worth reporting. If there is one correction only, ``old`` at the offset becomes ``new``.
    """

    pos: int
    summary: str
    hint: str
    end: int = 0
    old: str = ""
    new: str = ""


def replaced(pos: int, summary: str, old: str, new: str, why: str = "") -> Mistake:
    """Return the mistake of a sign or word that another sign or word certainly replaces."""
    return Mistake(pos, summary, f"write {new}{why}", 0, old, new)


class SourcePieces:
    """The pieces of a source; indexes beyond it give the end of the source."""

    def __init__(self, text: str) -> None:
        self.source = text
        self._pieces = pieces(text)
        self._partners, self._depths = _brackets(self._pieces)
        self.last_colon = max(
            (n for n, each in enumerate(self._pieces) if each.text == ":"), default=-1
        )

    def __len__(self) -> int:
        return len(self._pieces) - 1

    def __getitem__(self, index: int) -> Token:
        """Return a piece; before the first one and after the last, the end of the source."""
        return self._pieces[index] if 0 <= index < len(self._pieces) else self._pieces[-1]

    def text(self, index: int) -> str:
        """Return the text of a piece; empty at the end of the source."""
        return self[index].text

    def glued(self, index: int) -> bool:
        """Whether nothing is between a piece and the one before it."""
        before = self[index - 1]
        return 0 < index < len(self) and before.pos + len(before.text) == self[index].pos

    def are(self, index: int, *texts: str) -> bool:
        """Whether these pieces begin at an index, without blanks between them."""
        return all(
            self.text(index + number) == text and (number == 0 or self.glued(index + number))
            for number, text in enumerate(texts)
        )

    def ends_value(self, index: int) -> bool:
        """Whether a value can end with a piece."""
        return index >= 0 and self[index].kind in _ENDS

    def begins_value(self, index: int) -> bool:
        """Whether a piece begins a value and cannot continue one."""
        return self[index].kind in NAMES_AND_VALUES

    def named(self, index: int) -> bool:
        """Whether a piece is a name, and not a field's or method's."""
        return self[index].kind == "IDENTIFIER" and self.text(index - 1) not in (".", "?")

    def path_before(self, index: int) -> str:
        """Return the path, such as ``object.spec.containers``, that ends before a piece."""
        return self.between(self.start_before(index), index)

    def start_before(self, index: int) -> int:
        """Return the first piece of the path that ends before a piece."""
        start = index
        while (
            start > max(0, index - _LONGEST)
            and self[start - 1].kind != EOF
            and (start == index or self.glued(start))
        ):
            piece = self[start - 1]
            if piece.text in ("]", ")"):
                opening = self.partner(start - 1)
                if opening is None:
                    break
                start = opening
            elif piece.kind in ("IDENTIFIER", "ESC_IDENTIFIER") or piece.text in (".", "?"):
                if piece.kind == "IDENTIFIER" and start < index and self.text(start) not in ".[(?":
                    break
                start -= 1
            else:
                break
        return start

    def path_after(self, index: int) -> str:
        """Return the ``.name[0]`` that begins with a piece."""
        end = index
        while self.text(end) == "." and self[end + 1].kind == "IDENTIFIER":
            end += 2
        return self.between(index, end)

    def value_after(self, index: int) -> str:
        """Return the path that begins with a piece, with its calls and indexes."""
        end = index
        while end < index + _LONGEST:
            close = self.partner(end) if self.text(end) in ("(", "[") else None
            if self.text(end) == "." and self[end + 1].kind == "IDENTIFIER":
                end += 2
            elif close is not None and close > end and self.glued(end):
                end = close + 1
            else:
                break
        return self.between(index, end)

    def between(self, start: int, end: int) -> str:
        """Return the source from one piece to another, the latter excluded."""
        if start >= end:
            return ""
        last = self[end - 1]
        return self.source[self[start].pos : last.pos + len(last.text)]

    def partner(self, index: int) -> int | None:
        """Return the index of the bracket that closes a bracket, or that it closes."""
        return self._partners.get(index)

    def depth(self, index: int) -> int:
        """Return how many brackets are open before a piece."""
        return self._depths[min(index, len(self))]

    def end_of_part(self, index: int) -> int:
        """Return the index of the bracket that ends the part that a piece is in."""
        depth = self.depth(index)
        return next((n for n in range(index, len(self)) if self.depth(n + 1) < depth), len(self))


def _brackets(tokens: Sequence[Token]) -> tuple[dict[int, int], list[int]]:
    """Return the partner of each bracket that has one, and the open brackets before each piece."""
    partners: dict[int, int] = {}
    depths, open_ = [], list[int]()
    for number, token in enumerate(tokens):
        depths.append(len(open_))
        if token.text in _OPEN:
            open_.append(number)
        elif token.text in _CLOSE and open_:
            partners[number] = open_.pop()
            partners[partners[number]] = number
    return partners, depths


# A rule looks at the pieces from one index on.
Rule = Callable[[SourcePieces, int], Mistake | None]
# Rules by the text or the kind of the piece that they begin with.
MistakeRules = Mapping[str, tuple[Rule, ...]]


def short(text: str, instead: str, limit: int = 40) -> str:
    """Return a piece of source on one line; ``instead`` if it is empty or too long for a hint."""
    text = " ".join(text.split())
    return text if text and len(text) <= limit else instead


def bracket_mistake(s: SourcePieces) -> Mistake | None:
    """Return the first bracket that is not closed, or closes nothing."""
    begun: Token | None = None
    for number in range(len(s)):
        piece, other = s[number], s.partner(number)
        if piece.text in _OPEN and other is None:
            begun = piece
        elif piece.text in _CLOSE and other is None:
            what = f"this {piece.text} closes nothing"
            return Mistake(piece.pos, what, "remove it, or open it before")
        elif piece.text in _CLOSE and other is not None and s.text(other) != _CLOSE[piece.text]:
            opened = s.text(other)
            what = f"{piece.text} cannot close {opened}"
            return Mistake(piece.pos, what, f"write {_OPEN[opened]} before it")
    if begun is None:
        return None
    hint = f"write the missing {_OPEN[begun.text]}"
    return Mistake(begun.pos, f"this {begun.text} is never closed", hint)
