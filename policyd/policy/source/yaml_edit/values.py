"""Where the text of a document has to change so that it has another value. Nothing is verified
here: anchors, tags and rare styles can defeat these edits.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import yaml

from policyd._core.json.equality import equal
from policyd.json_types import JSON, JSONObject
from policyd.policy.source.json_text.values import is_json
from policyd.policy.source.yaml_edit.edits import CannotEdit, FromAlias, TextEdit
from policyd.policy.source.yaml_output import dump

_Entry = tuple[yaml.Node, yaml.Node]
_FORM = "the text has a form that cannot be edited"


class Style(NamedTuple):
    """How new values are written: on one line, or as lines with an indentation, without the last
    line break.
    """

    flow: Callable[[JSON], str]
    lines: Callable[[JSON, int], str]


class ValueEditor:
    """The edits that change a document in ``text``, which has the marks of its nodes."""

    def __init__(self, text: str, style: Style) -> None:
        self._text = text
        self._json = is_json(text)
        self._style = style

    def edits(self, node: yaml.Node, before: JSON, after: JSON) -> Iterator[TextEdit]:
        """Yield the edits of the value at ``node``. Raises CannotEdit."""
        if equal(before, after):
            return
        if isinstance(node, yaml.MappingNode) and isinstance(before, dict):
            if isinstance(after, dict) and after and node.value:
                yield from self._mapping(node, before, after)
                return
        elif isinstance(node, yaml.SequenceNode) and isinstance(before, list):
            if isinstance(after, list) and after and node.value:
                yield from self._sequence(node, before, after)
                return
        elif not _is_inline(node) or isinstance(after, dict | list):
            raise CannotEdit(_FORM)
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            raise CannotEdit(_FORM)
        yield TextEdit(node.start_mark.index, _end(self._text, node), self._inline(after, node))

    # Mappings

    def _mapping(
        self, node: yaml.MappingNode, before: JSONObject, after: JSONObject
    ) -> Iterator[TextEdit]:
        entries = {key.value: (key, value) for key, value in node.value}
        gone = [name for name in before if name not in after]
        if any(name not in entries for name in gone):
            raise CannotEdit(_FORM)  # it was merged into the mapping
        changed = {
            name: value
            for name, value in after.items()
            if name in before and not equal(before[name], value)
        }
        for name in (*gone, *changed):
            if name in entries and _is_alias(*entries[name]):
                raise FromAlias(name)
        for name, value in changed.items():
            if name not in entries:
                raise CannotEdit(_FORM)
            yield from self._entry(node, entries[name], before[name], value)
        yield from self._removed(node, [entries[name] for name in gone])
        added = {name: value for name, value in after.items() if name not in before}
        if added:
            yield self._added(node, added, len(gone) == len(node.value))

    def _entry(
        self, node: yaml.MappingNode, entry: _Entry, before: JSON, after: JSON
    ) -> Iterator[TextEdit]:
        """Yield the edits of a value, or one that replaces key and value as a whole."""
        key, value = entry
        try:
            yield from list(self.edits(value, before, after))
        except FromAlias:
            raise
        except CannotEdit:
            start, end = value.start_mark.index, _end(self._text, value)
            if node.flow_style:
                yield TextEdit(
                    start, end, (" " if start == end else "") + self._inline(after, value)
                )
                return
            start = key.start_mark.index
            text = self._style.lines({key.value: after}, key.start_mark.column)
            yield TextEdit(start, end, text.lstrip(" "))

    def _removed(self, node: yaml.MappingNode, gone: Sequence[_Entry]) -> Iterator[TextEdit]:
        """Yield an edit for each entry: of a block its lines, of a flow it and one comma."""
        if len(gone) == len(node.value) and gone:
            raise CannotEdit(_FORM)
        for key, value in gone:
            position = next(at for at, each in enumerate(node.value) if each[0] is key)
            start, end = key.start_mark.index, _end(self._text, value)
            if position + 1 < len(node.value):
                following = node.value[position + 1][0].start_mark.index
                if node.flow_style or not self._begins_line(start):
                    yield TextEdit(start, following, "")
                    continue
            elif node.flow_style:
                raise CannotEdit(_FORM)
            if not self._begins_line(start):
                raise CannotEdit(_FORM)
            yield TextEdit(self._line_start(start), self._next_line(end), "")

    def _added(self, node: yaml.MappingNode, added: JSONObject, alone: bool) -> TextEdit:
        """Return the edit that adds entries after the last one."""
        if alone:
            raise CannotEdit(_FORM)
        first = node.value[0][0]
        end = _end_of_children(self._text, node)
        if not node.flow_style:
            return self._lines_after(end, self._style.lines(added, first.start_mark.column))
        parts = []
        for name, value in added.items():
            lines = self._json and self._begins_line(first.start_mark.index)
            before = "\n" + " " * first.start_mark.column if lines else " "
            text = self._flow_item(value, first.start_mark.column if lines else None)
            parts.append(f",{before}{self._flow_item(name, None)}: {text}")
        return TextEdit(end, end, "".join(parts))

    # Sequences

    def _sequence(
        self, node: yaml.SequenceNode, before: list[JSON], after: list[JSON]
    ) -> Iterator[TextEdit]:
        """Yield the edits of a list; items with names are the same items if their names are."""
        (old, new), named = _keys(before, after)
        aliases = [index for index, each in enumerate(_children(node)) if each[1]]
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        for what, start, end, to_start, to_end in matcher.get_opcodes():
            if what in ("replace", "delete") and any(start <= at < end for at in aliases):
                raise FromAlias(f"[{start}]")
            # An item with another name is another item: it is removed and the new one inserted.
            both = 0 if named and what == "replace" else min(end - start, to_end - to_start)
            for at in range(both):
                yield from self._item(node, start + at, before[start + at], after[to_start + at])
            yield from self._without(node, range(start + both, end))
            added = after[to_start + both : to_end]
            if added:
                yield self._inserted(node, start + both, added)

    def _item(
        self, node: yaml.SequenceNode, index: int, before: JSON, after: JSON
    ) -> Iterator[TextEdit]:
        item: yaml.Node = node.value[index]
        try:
            yield from list(self.edits(item, before, after))
        except FromAlias:
            raise
        except CannotEdit:
            if node.flow_style:
                text = self._inline(after, item)
            else:
                text = self._style.lines(after, item.start_mark.column).lstrip(" ")
            yield TextEdit(item.start_mark.index, _end(self._text, item), text)

    def _without(self, node: yaml.SequenceNode, indexes: range) -> Iterator[TextEdit]:
        for index in indexes:
            item = node.value[index]
            end = _end(self._text, item)
            if node.flow_style:
                if index + 1 >= len(node.value):
                    raise CannotEdit(_FORM)
                following = node.value[index + 1].start_mark.index
                yield TextEdit(item.start_mark.index, following, "")
                continue
            dash = self._dash(node, index)
            yield TextEdit(self._line_start(dash), self._next_line(end), "")

    def _inserted(self, node: yaml.SequenceNode, index: int, added: list[JSON]) -> TextEdit:
        """Return the edit that inserts items before the one at ``index``."""
        if node.flow_style:
            column = None
            if self._json and self._begins_line(node.value[0].start_mark.index):
                column = node.value[0].start_mark.column
            between = "," + (" " if column is None else "\n" + " " * column)
            text = between.join(self._flow_item(each, column) for each in added)
            if index < len(node.value):
                at = node.value[index].start_mark.index
                return TextEdit(at, at, text + between)
            at = _end_of_children(self._text, node)
            return TextEdit(at, at, between + text)
        lines = self._style.lines(added, node.start_mark.column)
        if index == len(node.value):
            return self._lines_after(_end_of_children(self._text, node), lines)
        if index:
            return self._lines_after(_end(self._text, node.value[index - 1]), lines)
        at = self._line_start(self._dash(node, 0))
        return TextEdit(at, at, lines + "\n")

    def _flow_item(self, value: JSON, column: int | None) -> str:
        """Return a value in brackets; ``column``: JSON that has a line for each."""
        if not self._json:
            return self._style.flow(value)
        text = json.dumps(value, ensure_ascii=False, indent=None if column is None else 2)
        return text if column is None else text.replace("\n", "\n" + " " * column)

    def _dash(self, node: yaml.SequenceNode, index: int) -> int:
        """Return the place of the dash of an item, which must begin its line."""
        start = node.value[index].start_mark.index
        line = self._text.rfind("\n", 0, start) + 1
        dash = line + node.start_mark.column
        if self._text[dash : dash + 1] != "-" or not self._begins_line(dash):
            raise CannotEdit(_FORM)
        return dash

    # Text

    def _inline(self, value: JSON, node: yaml.Node) -> str:
        """Return a value on one line, in the quotes of the node that it replaces."""
        quoted = isinstance(node, yaml.ScalarNode) and node.style == '"' and isinstance(value, str)
        if self._json or quoted:
            return json.dumps(value, ensure_ascii=False)
        return self._style.flow(value)

    def _lines_after(self, end: int, lines: str) -> TextEdit:
        """Return the edit that adds lines after the line of ``end``, with its comment."""
        at = self._next_line(end)
        if at == end or self._text[at - 1] != "\n":
            return TextEdit(at, at, "\n" + lines)
        return TextEdit(at, at, lines + "\n")

    def _next_line(self, end: int) -> int:
        """Return the start of the next line; only a comment may follow on this one."""
        at = self._text.find("\n", end)
        at = len(self._text) if at < 0 else at + 1
        rest = self._text[end:at].strip()
        if rest and not rest.startswith("#"):
            raise CannotEdit(_FORM)
        return at

    def _line_start(self, at: int) -> int:
        return self._text.rfind("\n", 0, at) + 1

    def _begins_line(self, at: int) -> bool:
        return not self._text[self._line_start(at) : at].strip(" ")


def _is_inline(node: yaml.Node) -> bool:
    """Whether a node is a scalar with characters on one line, neither a block nor empty."""
    start, end = node.start_mark, node.end_mark
    return isinstance(node, yaml.ScalarNode) and start.line == end.line and start.index < end.index


def _end(text: str, node: yaml.Node) -> int:
    """Return the end of the last character of a node: libyaml counts what follows a block."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        return _end_of_children(text, node)
    start, end = int(node.start_mark.index), int(node.end_mark.index)
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        return start + len(text[start:end].rstrip())
    return end


def _end_of_children(text: str, node: yaml.CollectionNode) -> int:
    """Return the end of the last value of a mapping or list, which must not be empty."""
    last, is_alias = list(_children(node))[-1]
    if not is_alias:
        return _end(text, last)
    end = int(node.end_mark.index)
    if node.flow_style:
        return len(text[: end - 1].rstrip().removesuffix(","))
    while True:  # a block ends where the next one begins: after blank lines and comments
        head = text[:end].rstrip()
        line = head.rfind("\n") + 1
        if not head[line:].lstrip().startswith("#"):
            return len(head)
        end = line


def _children(node: yaml.CollectionNode) -> Iterator[tuple[yaml.Node, bool]]:
    """Yield each value, and whether it is an alias, whose text is elsewhere: before."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield value, _is_alias(key, value)
        return
    before = node.start_mark.index
    for item in node.value:
        yield item, item.start_mark.index < before
        before = max(before, item.end_mark.index)


def _is_alias(key: yaml.Node, value: yaml.Node) -> bool:
    return bool(value.start_mark.index < key.start_mark.index)


def _keys(before: list[JSON], after: list[JSON]) -> tuple[tuple[list[str], list[str]], bool]:
    """Return what identifies the items of two lists, and whether it is their names."""
    items = [*before, *after]
    if all(isinstance(each, dict) and isinstance(each.get("name"), str) for each in items):
        names = ([each["name"] for each in before], [each["name"] for each in after])
        if all(len(set(each)) == len(each) for each in names):
            return names, True
    return ([_canonical(each) for each in before], [_canonical(each) for each in after]), False


def _canonical(value: JSON) -> str:
    return json.dumps(value, sort_keys=True)


def _lines(value: JSON, column: int) -> str:
    """Write a value with each line that is not blank indented."""
    indent = " " * column
    lines = dump(value).removesuffix("\n").split("\n")
    return "\n".join(indent + line if line.strip() else line for line in lines)


PLAIN = Style(lambda value: dump([value], flow=True).rstrip("\n")[1:-1], _lines)
