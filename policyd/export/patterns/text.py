"""CEL as text: literals, boolean operators with as few brackets as possible, selections, paths."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from policyd.export.expressions.cel import AND, FALSE, MEMBER, OR, TERNARY, TRUE, Cel, relation

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_OPERAND = re.compile(r"[\w.\[\]]+", re.ASCII)
# These cannot be selected with a dot, or not by every version.
_RESERVED = re.compile(
    "true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|return"
    "|var|void|while"
)
_INDEX_SIZE = 7  # digits: an object has less than ten million items
_ESCAPES = {"\\": r"\\", "'": r"\'", "\n": r"\n", "\r": r"\r", "\t": r"\t"}


def every(*parts: Cel) -> Cel:
    """Combine with ``&&``."""
    return _joined(parts, TRUE, FALSE, " && ", AND)


def some(*parts: Cel) -> Cel:
    """Combine with ``||``."""
    return _joined(parts, FALSE, TRUE, " || ", OR)


def _joined(parts: Iterable[Cel], neutral: Cel, decisive: Cel, operator: str, level: int) -> Cel:
    needed = list(dict.fromkeys(part for part in parts if part != neutral))
    if not needed:
        return neutral
    if decisive in needed:
        return decisive
    if len(needed) == 1:
        return needed[0]
    return Cel(operator.join(part.at(level) for part in needed), level)


def negated(part: Cel) -> Cel:
    """Return the opposite."""
    if part in (TRUE, FALSE):
        return FALSE if part == TRUE else TRUE
    return Cel(f"!{part.at(MEMBER)}")


def choice(condition: Cel, yes: Cel, no: Cel) -> Cel:
    """Return ``condition ? yes : no``."""
    return Cel(f"{condition.at(OR)} ? {yes.at(OR)} : {no.at(OR)}", TERNARY)


def has_type(value: str, name: str) -> Cel:
    """Test the type of a value at run time."""
    return relation(f"type({value})", "==", name)


def string(value: str) -> str:
    """Return a string literal."""
    return "'" + "".join(_escaped(char) for char in value) + "'"


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return char if char.isprintable() else f"\\U{ord(char):08x}"


def operand(text: str) -> str:
    """Return the text of an expression whose fields are selected, in brackets if it needs them."""
    return text if _OPERAND.fullmatch(text) else f"({text})"


def selected(value: str, key: str) -> str:
    """Select a key of a map that has it."""
    return f"{value}.{key}" if _is_name(key) else f"{value}[{string(key)}]"


def present(value: str, key: str) -> Cel:
    """Test whether a map has a key."""
    if _is_name(key):
        return Cel(f"has({value}.{key})")
    return relation(string(key), "in", value)


def found(value: str, key: str) -> str:
    """Select a key of a map; null if it is absent."""
    question = f"{value}.?{key}" if _is_name(key) else f"{value}[?{string(key)}]"
    return f"{question}.orValue(dyn(null))"


def _is_name(key: str) -> bool:
    return _IDENTIFIER.fullmatch(key) is not None and _RESERVED.fullmatch(key) is None


class PathPart(Enum):
    """The kind of a part of a path."""

    FIXED = "a string"
    INDEX = "an expression that numbers an item"
    KEYS = "an expression with keys of the object"


@dataclass(frozen=True, slots=True)
class Path:
    """The path of a field in a message: fixed strings, and expressions for what varies."""

    parts: tuple[tuple[str, PathPart], ...] = ()

    @classmethod
    def fixed(cls, text: str) -> "Path":
        """Return a path that is known now."""
        return cls(((text, PathPart.FIXED),) if text else ())

    @classmethod
    def computed(cls, text: str) -> "Path":
        """Return the path that an expression gives."""
        return cls(((text, PathPart.KEYS),))

    def below(self, key: str) -> "Path":
        """Return the path of a key, as ``_core/pattern/report.pyx`` prints it."""
        if not key or not key.isascii() or not key.replace("_", "a").isalnum():
            return self.ending(f"[{key if key.isprintable() else json.dumps(key)}]")
        return self.ending(f".{key}" if self.parts else key)

    def item(self, index: str) -> "Path":
        """Return the path of the item that an expression numbers."""
        return Path((*self.ending("[").parts, (f"string({index})", PathPart.INDEX))).ending("]")

    def ending(self, text: str) -> "Path":
        """Return the path with a fixed string at its end."""
        if self.parts and self.parts[-1][1] is PathPart.FIXED:
            return Path((*self.parts[:-1], (self.parts[-1][0] + text, PathPart.FIXED)))
        return Path((*self.parts, (text, PathPart.FIXED))) if text else self

    @property
    def expression(self) -> str:
        """Return the expression of the path."""
        texts = [string(text) if kind is PathPart.FIXED else text for text, kind in self.parts]
        return " + ".join(texts) or "''"

    @property
    def start(self) -> str:
        """Return what the path begins with, as far as that is known."""
        return self.parts[0][0] if self.parts and self.parts[0][1] is PathPart.FIXED else ""

    @property
    def is_fixed(self) -> bool:
        """Whether the whole path is known."""
        return all(kind is PathPart.FIXED for _, kind in self.parts)

    @property
    def size(self) -> int | None:
        """Return the greatest length of the path; None: it has keys of any length."""
        if any(kind is PathPart.KEYS for _, kind in self.parts):
            return None
        return sum(
            _INDEX_SIZE if kind is PathPart.INDEX else len(text) for text, kind in self.parts
        )
