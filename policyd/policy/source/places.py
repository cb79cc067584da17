"""The place of a field in its file, computed on demand: few documents have problems."""

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import yaml

from policyd.json_types import FieldPath
from policyd.policy.source.json_text.surrogates import without_surrogates
from policyd.policy.source.yaml_nodes import (
    YamlError,
    compose,
    is_plain_string,
    key_text,
    scalar,
)
from policyd.policy.source.yaml_text.scalar_places import after_properties, character_place
from policyd.policy.source.yaml_text.tags import TaggedValue, may_have_tags, tagged_values
from policyd.source_excerpt import marked

NO_TEXT = -1


@dataclass(frozen=True, slots=True)
class PlainScalar:
    """A scalar without quotes: its path, its characters, and the value that YAML gives it.

    ``is_key``: it is the name of a field, the last step of the path, as it is written.
    """

    path: FieldPath
    text: str
    value: object
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """The text of one YAML document (or one JSON file); ``line`` is its first line, from 0, or
    NO_TEXT for a document built by a program, which has no places, and an empty text.
    """

    file: str
    text: str
    line: int

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the lines of the text; split once for several problems."""
        return _lines(self.text)

    def excerpt(self, line: int, column: int) -> str:
        """Return a line of the file with a caret under the column (both count from 1)."""
        lines = self.lines
        if not 0 < line - self.line <= len(lines) or column < 1:
            return ""
        shown = lines[line - self.line - 1].rstrip("\r")
        if column > len(shown) + 1 or not shown.strip():
            return ""
        return marked(shown, column, margin="    ", fill=" ")


@dataclass(frozen=True, slots=True)
class Origin:
    """The place of a document: its chunk, the index of its root there, and its path in a List."""

    chunk: Chunk = Chunk("", "", 0)
    root: int = 0
    within: str = ""

    def find(self, path: str, *, at_key: bool) -> tuple[int, int]:
        """Return line and column, from 1, of the value at ``path``, or of its nearest parent.

        ``at_key``: of the field name instead. 0 and 0 if there is no text.
        """
        if self.chunk.line == NO_TEXT:
            return 0, 0
        key, node = self._step(path)
        if node is None:
            return self.chunk.line + 1, 1
        found = key if at_key and key is not None else node
        line, column = _start(found, self.chunk)
        return line + self.chunk.line, column

    def field(self, path: str) -> tuple[int, int]:
        """Return line and column, from 1, of a field: of its value if that is a scalar, else of its
        name or ``-``. If the text has no such field, of its nearest parent. 0 and 0 if there is no
        text.

        The value of an alias or a merge has the place where it is written. An alias itself has
        the place of its name; without one, its list's.
        """
        if self.chunk.line == NO_TEXT:
            return 0, 0
        roots = _nodes(self.chunk) or _nodes(
            replace(self.chunk, text=without_surrogates(self.chunk.text))
        )
        if self.root >= len(roots):
            return self.chunk.line + 1, 1
        node = roots[self.root]
        line, column = _start(node, self.chunk)
        for part in path_parts(f"{self.within}.{path}" if self.within else path):
            step = _child(node, part)
            if step is None:
                break
            key, held = step
            # Else it is an alias: what it stands for is written before.
            end = _ends(node)[int(part)] if key is held else key.end_mark.index
            written = held.start_mark.index >= end
            if key is not held:
                has_value = written and isinstance(held, yaml.ScalarNode) and held.value != ""
                line, column = _start(held if has_value else key, self.chunk)
            elif written:
                line, column = _start(held, self.chunk)
            node = held
        return line + self.chunk.line, column

    def find_in(self, path: str, line: int, column: int) -> tuple[int, int]:
        """Convert a place in the string at ``path`` to a place in the file (all count from 1).

        Folding and indentation change only blanks, so the place is found by counting the other
        characters. The end of the string is the place after its last character.
        """
        node = self._step(path)[1]
        start_line, start_column = self.find(path, at_key=False)
        lines = node.value.split("\n") if isinstance(node, yaml.ScalarNode) else []
        if not isinstance(node, yaml.ScalarNode) or not 0 < line <= len(lines):
            return start_line, start_column
        before = "".join([*lines[: line - 1], lines[line - 1][: column - 1]])
        wanted = sum(not each.isspace() for each in before)
        first = start_line - self.chunk.line - 1, start_column - 1
        row, at = character_place(self.chunk.lines, node, first, wanted)
        return row + self.chunk.line + 1, at + 1

    def cut(self, path: str) -> str:
        """Return the remedy for a string without quotes that YAML ends before its line does."""
        node = self._step(path)[1]
        if not isinstance(node, yaml.ScalarNode) or node.style or node.end_mark is None:
            return ""
        rest = self.chunk.lines[node.end_mark.line][node.end_mark.column :]
        if rest[:1].isspace() and rest.lstrip().startswith("#"):
            return "YAML takes ' #' and what follows as a comment: put the value in quotes"
        if rest.startswith(","):
            return "YAML ends the value at ',' between { and }: put the value in quotes"
        return ""

    def escapes(self, path: str) -> bool:
        """Whether a string is written in double quotes, where each backslash is written twice."""
        node = self._step(path)[1]
        return isinstance(node, yaml.ScalarNode) and node.style == '"'

    def tagged(self) -> Iterator[tuple[TaggedValue, str, int, int]]:
        """Yield each value that YAML takes as a tag, as it is written, with its line and column."""
        if not may_have_tags(self.chunk.text):
            return
        node = self._step("")[1]
        lines = self.chunk.lines
        for each in tagged_values(node, lines) if node is not None else ():
            mark = each.node.start_mark
            yield each, each.written(lines), mark.line + self.chunk.line + 1, mark.column + 1

    def plain_scalars(self, path: FieldPath) -> Iterator[PlainScalar]:
        """Yield the scalars without quotes at and below a field, each node once."""
        node = self.node(path)
        yield from _plain_below(node, path, set()) if node is not None else ()

    def node(self, path: FieldPath = ()) -> yaml.Node | None:
        """Return the node at a path of the document, with marks in ``chunk.text``; None if there is
        none.
        """
        roots = _nodes(self.chunk)
        node: yaml.Node | None = roots[self.root] if self.root < len(roots) else None
        for part in (*path_parts(self.within), *map(str, path)):
            step = _child(node, part) if node is not None else None
            node = step[1] if step is not None else None
        return node

    def written(self, path: FieldPath) -> FieldPath:
        """Return a path with its keys as they are written: YAML reads ``y`` as true."""
        if all(isinstance(part, int) or is_plain_string(part) for part in path):
            return path
        node = self.node()
        found: list[str | int] = []
        for part in path:
            step = _child(node, str(part)) if node is not None else None
            key, node = step if step is not None else (None, None)
            is_key = isinstance(part, str) and isinstance(key, yaml.ScalarNode)
            found.append(key.value if is_key and key is not None else part)
        return tuple(found)

    def _step(self, path: str) -> tuple[yaml.Node | None, yaml.Node | None]:
        """Return key (None: no such field) and node at ``path``, or the nearest parent node."""
        roots = _nodes(self.chunk)
        if self.root >= len(roots):
            return None, None
        key, node = None, roots[self.root]
        for part in path_parts(f"{self.within}.{path}" if self.within else path):
            step = _child(node, part)
            if step is None:
                return None, node
            key, node = step
        return key, node


def _plain_below(node: yaml.Node, path: FieldPath, seen: set[int]) -> Iterator[PlainScalar]:
    if id(node) in seen:
        return  # an alias
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        if node.tag == "?":
            yield PlainScalar(path, node.value, scalar(node)[1])
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _plain_below(item, (*path, index), seen)
    else:
        for key, value in node.value:
            at = (*path, key.value)
            if key.tag == "?":
                yield PlainScalar(at, key.value, scalar(key)[1], is_key=True)
            yield from _plain_below(value, at, seen)


@functools.lru_cache(maxsize=8)
def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.split("\n"))


@functools.lru_cache(maxsize=8)
def _nodes(chunk: Chunk) -> tuple[yaml.Node, ...]:
    """Return the node trees of a chunk, parsed again on demand: few documents need them."""
    try:
        return tuple(compose(chunk.text))
    except YamlError:
        return ()  # JSON that is not YAML, such as an escaped surrogate pair


def path_parts(path: str) -> list[str]:
    """Split a path: ``spec.rules[0]`` has the parts spec, rules and 0.

    A part in brackets may contain pairs of brackets: it can be a path itself.
    """
    parts: list[str] = []
    name, at, last = "", 0, path.rfind("]")
    while at < len(path):
        char = path[at]
        if char in ".[]" and name:
            parts.append(name)
            name = ""
        if char == "[" and at < last:
            end = _closing(path, at)
            parts.append(path[at + 1 : end])
            at = end
        elif char not in ".[]":
            name += char
        at += 1
    return [*parts, name] if name else parts


def _closing(path: str, at: int) -> int:
    """Return the index of the bracket that closes the one at ``at``."""
    depth = 0
    for index in range(at, len(path)):
        depth += {"[": 1, "]": -1}.get(path[index], 0)
        if depth == 0:
            return index
    return path.index("]", at)


def _child(node: yaml.Node, part: str) -> tuple[yaml.Node, yaml.Node] | None:
    """Return key and value node of a field, twice the item of a list, or None if not found."""
    if isinstance(node, yaml.SequenceNode):
        if part.isdigit() and int(part) < len(node.value):
            return node.value[int(part)], node.value[int(part)]
        return None
    if isinstance(node, yaml.MappingNode):
        fields, merged = _fields(node)
        if part in fields:
            return fields[part]
        for value in reversed(merged):
            sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
            for source in sources:
                found = _child(source, part)
                if found is not None:
                    return found
    return None


@functools.lru_cache(maxsize=64)
def _ends(node: yaml.SequenceNode) -> list[int]:
    """Return, for each item of a list, where the text of those before it ends."""
    written = (item.end_mark.index for item in node.value)
    return list(itertools.accumulate(written, max, initial=node.start_mark.index))


@functools.lru_cache(maxsize=64)
def _fields(
    node: yaml.MappingNode,
) -> tuple[dict[str, tuple[yaml.Node, yaml.Node]], list[yaml.Node]]:
    """Return the fields of a mapping by their names, as key and value node, and what it merges. A
    name that YAML reads as a boolean or number has two: as it is written, and as it is read.
    """
    fields: dict[str, tuple[yaml.Node, yaml.Node]] = {}
    merged = []
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode):
            fields.setdefault(key.value, (key, value))
            read = scalar(key)[1] if key.tag == "?" else key.value
            if isinstance(read, bool | int | float):
                fields.setdefault(key_text(key, read), (key, value))
            if key.value == "<<" and scalar(key)[0].endswith(":merge"):
                merged.append(value)
    return fields, merged


def _start(node: yaml.Node, chunk: Chunk) -> tuple[int, int]:
    """Return line and column, from 1, of the first character of a node's value."""
    line, column = node.start_mark.line, node.start_mark.column
    if not isinstance(node, yaml.ScalarNode):
        return line + 1, column + 1
    if node.style in ("|", ">"):
        rows = chunk.lines[line + 1 : node.end_mark.line]
        first = next((each for each in rows if each.strip()), "")
        return line + 2, len(first) - len(first.lstrip(" ")) + 1
    end = node.end_mark.column if node.end_mark.line == line else None
    column = after_properties(chunk.lines[line][:end], column)
    return line + 1, column + (2 if node.style in ("'", '"') else 1)
