"""Change values in the text of a YAML or JSON file and keep the rest as it is: comments, order,
quotes. Writes no file.

A change is verified: the new text must say what the old one says, but for the changes.
"""

import copy
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import yaml

from policyd.json_types import FieldPath
from policyd.policy.source.documents import Document
from policyd.policy.source.places import Chunk
from policyd.policy.source.splitting import read_located
from policyd.policy.source.yaml_nodes import YamlError, compose
from policyd.policy.suite.rendering import entry, inline

_ALIAS = "comes from an alias; write it out"


class SpliceError(ValueError):
    """The text cannot be changed at this place; the message is the reason."""


class _Absent:
    """The value of a key to remove."""


ABSENT = _Absent()


class Change(NamedTuple):
    """A new value for a key of a mapping of the document, or ABSENT to remove the key."""

    path: FieldPath
    value: Any


class _Splice(NamedTuple):
    start: int
    end: int
    text: str


def spliced(text: str, document: Document, changes: Sequence[Change]) -> str:
    """Return the text of a document's file with the changes; raises SpliceError."""
    editor = _Editor(text, document)
    splices = sorted((editor.splice(each) for each in changes), key=lambda each: each.start)
    result, at = "", 0
    for each in splices:
        if each.start < at:
            raise SpliceError("the changes overlap")
        result += text[at : each.start] + each.text
        at = each.end
    result += text[at:]
    if "\r\n" in text:
        result = result.replace("\r\n", "\n").replace("\n", "\r\n")
    _verify(text, result, document, changes)
    return result


class _Editor:
    """Finds the places of one document in its file's text."""

    def __init__(self, text: str, document: Document) -> None:
        self._text = text
        self._chunk: Chunk = document.origin.chunk
        self._lines = [0]
        for line in text.split("\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)
        try:
            root = compose(self._chunk.text)[document.origin.root]
        except (YamlError, IndexError):
            raise SpliceError("the file is not plain YAML") from None
        self._root = self._step(root, document.origin.parts_within)

    def splice(self, change: Change) -> _Splice:
        """Return the replacement of text that makes a change."""
        *above, last = change.path
        mapping = self._step(self._root, above)
        if not isinstance(mapping, yaml.MappingNode):
            raise SpliceError(f"{last}: not a mapping")
        key = str(last)
        pairs = [pair for pair in mapping.value if isinstance(pair[0], yaml.ScalarNode)]
        found = next((pair for pair in pairs if pair[0].value == key), None)
        if change.value is ABSENT:
            if found is None:
                raise SpliceError(f"{key}: not found")
            return self._removal(mapping, found[0], found[1])
        if found is None:
            return self._addition(mapping, key, change.value)
        return self._replacement(mapping, found[0], found[1], change.value)

    def _step(self, node: yaml.Node, path: Sequence[str | int]) -> yaml.Node:
        for part in path:
            found = next((each for each in _children(node) if each[0] == part), None)
            if found is None or found[2]:
                raise SpliceError(f"{part}: {_ALIAS}")
            node = found[1]
        return node

    def _addition(self, mapping: yaml.MappingNode, key: str, value: Any) -> _Splice:
        if not mapping.value:
            at = self._offset(mapping.start_mark) + 1
            return _Splice(at, at, self._in_flow(mapping, key, value))
        end = self._end_of_children(mapping)
        if mapping.flow_style:
            return _Splice(end, end, f", {self._in_flow(mapping, key, value)}")
        indent = mapping.value[0][0].start_mark.column
        end = self._end_of_line(end)
        return _Splice(end, end, f"\n{' ' * indent}{entry(key, value, indent)}")

    def _replacement(
        self, mapping: yaml.MappingNode, key: yaml.Node, old: yaml.Node, value: Any
    ) -> _Splice:
        if _is_alias(key, old):
            raise SpliceError(f"{key.value}: {_ALIAS}")
        start, end = self._offset(old.start_mark), self._end(old)
        if mapping.flow_style:
            shown = inline(value, as_json=self._is_json(mapping))
            return _Splice(start, end, shown if start < end else f" {shown}")
        indent = key.start_mark.column
        name = self._text[self._offset(key.start_mark) : self._offset(key.end_mark)]
        line = entry(str(key.value), value, indent)
        new = line[len(inline(str(key.value))) + 1 :]
        if _is_inline(old) and start < end and "\n" not in new:
            return _Splice(start, end, new.lstrip())
        after = self._offset(key.start_mark) + len(name)
        colon = self._text.index(":", after) + 1
        return _Splice(colon, max(end, colon), new)

    def _removal(self, mapping: yaml.MappingNode, key: yaml.Node, value: yaml.Node) -> _Splice:
        start = self._offset(key.start_mark)
        if _is_alias(key, value):
            raise SpliceError(f"{key.value}: {_ALIAS}")
        end = self._end(value)
        if mapping.flow_style:
            rest = self._text[end:]
            gap = len(rest) - len(rest.lstrip())
            if rest[gap : gap + 1] == ",":
                end += gap + 1
                return _Splice(start, end + (self._text[end : end + 1] == " "), "")
            before = self._text[:start].rstrip()
            return _Splice(len(before.removesuffix(",")), end, "")
        first = self._text.rfind("\n", 0, start) + 1
        if self._text[first:start].strip():
            raise SpliceError(f"{key.value}: does not begin its line")
        return _Splice(first, (self._text.find("\n", end) + 1) or len(self._text), "")

    def _in_flow(self, mapping: yaml.MappingNode, key: str, value: Any) -> str:
        as_json = self._is_json(mapping)
        return f"{inline(key, as_json=as_json)}: {inline(value, as_json=as_json)}"

    def _is_json(self, mapping: yaml.MappingNode) -> bool:
        """Whether the keys of a mapping, or of the whole document, are in double quotes."""
        holder = mapping if mapping.value else self._root
        return str(holder.value[0][0].style) == '"'

    def _end(self, node: yaml.Node) -> int:
        """Return the offset after the last character of a value."""
        end = self._offset(node.end_mark)
        if isinstance(node, yaml.ScalarNode):
            if node.style in ("|", ">"):
                return len(self._text[:end].rstrip())
            return end
        if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
            return end
        return self._end_of_children(node)

    def _end_of_children(self, node: yaml.CollectionNode) -> int:
        """Return the offset after the last value of a mapping or list."""
        _, last, is_alias = list(_children(node))[-1]
        if not is_alias:
            return self._end(last)
        end = self._offset(node.end_mark)
        if node.flow_style:
            return len(self._text[: end - 1].rstrip().removesuffix(","))
        while True:  # a block ends where the next one begins: after blank lines and comments
            head = self._text[:end].rstrip()
            line = head.rfind("\n") + 1
            if not head[line:].lstrip().startswith("#"):
                return len(head)
            end = line

    def _end_of_line(self, offset: int) -> int:
        found = self._text.find("\n", offset)
        end = len(self._text) if found < 0 else found
        return end - (self._text[end - 1 : end] == "\r")

    def _offset(self, mark: yaml.Mark) -> int:
        return int(self._lines[mark.line + self._chunk.line] + mark.column)


def _children(node: yaml.Node) -> Iterator[tuple[str | int, yaml.Node, bool]]:
    """Yield key or index, value, and whether the value is an alias, whose text is elsewhere."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield str(key.value), value, _is_alias(key, value)
    elif isinstance(node, yaml.SequenceNode):
        before = node.start_mark.index
        for index, item in enumerate(node.value):
            yield index, item, item.start_mark.index < before
            before = max(before, item.end_mark.index)


def _is_alias(key: yaml.Node, value: yaml.Node) -> bool:
    """Whether a value begins before its key: an anchor comes before its aliases."""
    return bool(value.start_mark.index < key.start_mark.index)


def _is_inline(node: yaml.Node) -> bool:
    if isinstance(node, yaml.ScalarNode):
        return node.style not in ("|", ">")
    return isinstance(node, yaml.CollectionNode) and bool(node.flow_style)


def _verify(old: str, new: str, document: Document, changes: Sequence[Change]) -> None:
    """Raise SpliceError unless the new text differs from the old one by the changes only."""
    before, _ = read_located(document.file, old.encode("utf-8", "surrogatepass"))
    after, problems = read_located(document.file, new.encode("utf-8", "surrogatepass"))
    if problems:
        raise SpliceError(str(problems[0]))
    wanted = copy.deepcopy([value for value, _ in before])
    here = (document.origin.chunk.line, document.origin.root)
    places = [(origin.chunk.line, origin.root) for _, origin in before]
    place: Any = wanted[places.index(here)]
    for part in document.origin.parts_within:
        place = place[part]
    for path, value in changes:
        holder = place
        for part in path[:-1]:
            holder = holder[part]
        if value is ABSENT:
            del holder[path[-1]]
        else:
            holder[path[-1]] = value
    if wanted != [value for value, _ in after]:
        raise SpliceError("this would change another place too, such as an alias")
