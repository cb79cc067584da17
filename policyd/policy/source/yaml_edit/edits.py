"""Edits of a text, and why one is refused."""

from collections.abc import Sequence
from typing import NamedTuple


class CannotEdit(ValueError):
    """The text has a form that no edit can keep; the message is the reason."""


class FromAlias(CannotEdit):
    """The value is written elsewhere, at its anchor."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name}: comes from an alias; write it out")


class TextEdit(NamedTuple):
    """Replace the characters from ``start`` to ``end`` by ``text``."""

    start: int
    end: int
    text: str


def with_breaks_of(text: str, new: str) -> str:
    """Return new text with the line breaks of a text, which may be Windows'."""
    return new.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in text else new


def applied(text: str, edits: Sequence[TextEdit]) -> str:
    """Return the text with all edits. Raises CannotEdit if they overlap.

    Edits at one place stay in their order: inner values come first.
    """
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda each: (each.start, each.end)):
        if not at <= edit.start <= edit.end:
            raise CannotEdit("the edits overlap")
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*parts, text[at:]])
