"""Lay out documents as people write them: long strings folded, short lists and mappings on one
line, comments above the fields that they are about. Changes no value and no order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from textwrap import TextWrapper

from policyd.cli.shared.layout.scalars import (
    WIDTH,
    flow_list,
    flow_map,
    is_flat,
    key_text,
    scalar_lines,
)
from policyd.json_types import JSON, FieldPath, JSONObject

_COMMENTS = partial(TextWrapper, break_long_words=False, break_on_hyphens=False)
_SHORT = 80  # columns of a mapping on one line
_FEW = 4  # fields of one
# What is read field by field, however short it is.
_ROOMY = frozenset({"apiGroups", "expression", "message", "messageExpression", "apiVersion"})


@dataclass(frozen=True, slots=True)
class DocumentLayout:
    """``comments`` stand above fields, by their paths. ``compact``: short mappings without mappings
    in them are written on one line, but not the fields of the document itself.
    """

    comments: Mapping[FieldPath, str] = field(default_factory=dict)
    compact: bool = False

    def lines(self, document: JSONObject) -> Iterator[str]:
        """Yield the lines of a document, without ``---``."""
        yield from self._comment((), 0)
        yield from self._fields(document, 0, ())

    def _fields(self, value: JSONObject, indent: int, path: FieldPath) -> Iterator[str]:
        """Yield the lines of an object that has fields."""
        for key, each in value.items():
            at = (*path, key)
            yield from self._comment(at, indent)
            head = f"{' ' * indent}{key_text(key)}:"
            if isinstance(each, dict | list) and each:
                short = self._short(head, each, at)
                if short:
                    yield short
                elif isinstance(each, dict):
                    yield head
                    yield from self._fields(each, indent + 2, at)
                else:
                    yield head
                    yield from self._items(each, indent, at)
            else:
                yield from scalar_lines(head, each, indent + 2)

    def _items(self, value: Sequence[JSON], indent: int, path: FieldPath) -> Iterator[str]:
        """Yield the lines of a list that has items."""
        for index, each in enumerate(value):
            at = (*path, index)
            yield from self._comment(at, indent)
            head = f"{' ' * indent}-"
            if isinstance(each, dict | list) and each:
                short = self._short(head, each, at) if isinstance(each, dict) else ""
                if short:
                    yield short
                    continue
                yield from self._item(head, each, indent + 2, at)
            else:
                yield from scalar_lines(head, each, indent + 2)

    def _item(self, head: str, value: JSON, within: int, path: FieldPath) -> Iterator[str]:
        """Yield the lines of an object or list in a list. A comment about its first field stands
        above the item.
        """
        is_object = isinstance(value, dict)
        lines = self._fields(value, within, path) if is_object else self._items(value, within, path)
        for line in lines:
            if line.lstrip(" ").startswith("#"):
                yield line[2:]
                continue
            yield f"{head} {line[within:]}"
            break
        yield from lines

    def _short(self, head: str, value: JSON, path: FieldPath) -> str:
        """Return an object or a list on one line; empty if it is not written so."""
        if any(each[: len(path)] == path and len(each) > len(path) for each in self.comments):
            return ""
        if isinstance(value, list):
            line = f"{head} {flow_list(value)}" if is_flat(value) else ""
            return line if len(line) <= WIDTH else ""
        if not self.compact or len(path) < 2 or len(value) > _FEW or _ROOMY & value.keys():
            return ""
        if path[0] == "metadata" or not all(map(is_flat, value.values())):
            return ""
        if any(isinstance(each, str) and "\n" in each for each in value.values()):
            return ""
        line = f"{head} {flow_map(value)}"
        return line if len(line) <= _SHORT and line.isprintable() else ""

    def _comment(self, path: FieldPath, indent: int) -> Iterator[str]:
        text = self.comments.get(path)
        if text:
            yield from comment_lines(text, indent)


def comment(text: str) -> str:
    """Return lines of a comment, wrapped; what could end it is replaced."""
    return "".join(f"{line}\n" for line in comment_lines(text))


def comment_lines(text: str, indent: int = 0) -> Iterator[str]:
    """Yield lines of a comment with this indentation."""
    margin = " " * indent
    for line in text.splitlines():
        shown = "".join(each if each.isprintable() else "�" for each in line)
        inner = " " * (len(shown) - len(shown.lstrip(" ")))
        wrapper = _COMMENTS(width=WIDTH - 2 - indent, subsequent_indent=f"{inner}  ")
        for each in wrapper.wrap(shown):
            yield f"{margin}# {each}"
