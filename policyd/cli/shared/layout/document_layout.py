"""Lay out documents as people write them: long strings folded, short lists and mappings on one
line, comments above the fields that they are about. Changes no value and no order.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from textwrap import TextWrapper

from policyd.json_types import JSON, FieldPath, JSONObject
from policyd.policy.source.yaml_output import dump

_COMMENTS = partial(TextWrapper, break_long_words=False, break_on_hyphens=False)
_SHORT = 80  # columns of a mapping on one line
_FEW = 4  # fields of one
# What is read field by field, however short it is.
_ROOMY = frozenset({"apiGroups", "expression", "message", "messageExpression", "apiVersion"})
WIDTH = 100
_LEAST = 40  # columns for a folded string, however deep it is
_SINGLE_BLANK = re.compile(r"(?<! ) (?! )")
_OPERATORS = frozenset({"&&", "||", "?", ":"})
_PLAIN_KEY = re.compile(r"[A-Za-z][\w./-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class DocumentLayout:
    """``comments`` stand above fields, by their paths. ``compact``: short mappings without mappings
    in them are written on one line, but not the fields of the document itself.
    """

    comments: Mapping[FieldPath, str] = field(default_factory=dict)
    compact: bool = False

    def text(self, document: JSONObject) -> str:
        """Return the text of a document, without ``---``."""
        lines = (*self._comment((), 0), *self._fields(document, 0, ()))
        return "".join(f"{line}\n" for line in lines)

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


def scalar_lines(head: str, value: JSON, indent: int) -> Iterator[str]:
    """Yield the lines of a value without fields or items; ``indent``: of all but the first."""
    if isinstance(value, str) and len(head) + 1 + len(value) > WIDTH:
        folded = _folded(value, max(_LEAST, WIDTH - indent))
        if folded:
            yield f"{head} >-"
            yield from (f"{' ' * indent}{line}" for line in folded)
            return
    first, *others = dump({"k": value}).removesuffix("\n").split("\n")
    yield f"{head} {_requoted(first.removeprefix('k: '), value)}"
    # The lines of a block are indented by 2.
    yield from (f"{' ' * (indent - 2)}{line}" if line else "" for line in others)


def flow_list(value: Sequence[JSON]) -> str:
    """Return a list of scalars on one line."""
    return f"[{', '.join(map(_in_flow, value))}]"


def flow_map(value: JSONObject) -> str:
    """Return a mapping of scalars and lists of scalars on one line."""
    return (
        "{" + ", ".join(f"{key_text(key)}: {_in_flow(each)}" for key, each in value.items()) + "}"
    )


def is_flat(value: JSON) -> bool:
    """Whether it is a list of scalars, or a scalar."""
    inner = value if isinstance(value, list) else [value]
    return not any(isinstance(each, dict | list) for each in inner)


@cache
def key_text(key: str) -> str:
    """Return the name of a field, in quotes if it needs them."""
    if _PLAIN_KEY.fullmatch(key) and dump(key) == f"{key}\n":
        return key
    escaped = (
        each if each.isprintable() and each not in '"\\' else f"\\U{ord(each):08X}" for each in key
    )
    return f'"{"".join(escaped)}"'


def _in_flow(value: JSON) -> str:
    if isinstance(value, list):
        return flow_list(value)
    return _requoted(dump([value], flow=True)[1:-2], value)


def _folded(text: str, width: int) -> list[str]:
    """Return the lines of a folded block, which end after an operator of CEL where one is near;
    none if the string cannot be one.

    A reader puts one blank between them, so lines break only where there is exactly one.
    """
    if not text.isprintable() or text != text.strip(" "):
        return []
    lines: list[str] = []
    words = _SINGLE_BLANK.split(text)
    while words:
        count, used = 1, len(words[0])
        while count < len(words) and used + 1 + len(words[count]) <= width:
            used += 1 + len(words[count])
            count += 1
        if count < len(words):
            ends = [index for index in range(1, count + 1) if words[index - 1] in _OPERATORS]
            count = ends[-1] if ends else count
        lines.append(" ".join(words[:count]))
        words = words[count:]
    return lines if len(lines) > 1 else []


def _requoted(text: str, value: JSON) -> str:
    """Return the text of a scalar in double quotes instead of single ones where none is escaped."""
    if text.startswith("'") and value.isprintable() and not {'"', "\\"} & {*value}:
        return f'"{value}"'
    return text
