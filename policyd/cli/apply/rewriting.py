"""Write mutated manifests: the text of each file with the changes in their places, so that comments
stay. Evaluates no policy.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from policyd.cli.apply.splicing import CannotSplice, Splice, Splicer, edited
from policyd.errors import ConfigError
from policyd.json_types import JSON, JSONObject
from policyd.policy.source.documents import Document
from policyd.policy.source.files import without_packing
from policyd.policy.source.places import Chunk, Origin
from policyd.policy.source.splitting import NOT_AN_OBJECT, read_located, split
from policyd.policy.source.yaml_output import dump
from policyd.policy.suite.expectations import same

_STDIN = "stdin.yaml"
_SEPARATOR = "---\n"


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A document and its value after mutation."""

    document: Document
    after: JSONObject

    @property
    def changed(self) -> bool:
        """Whether a mutation changed the value."""
        return not same(self.document.raw, self.after)


def rewritten(text: str, documents: Iterable[Rewritten]) -> str:
    """Return the text of a file with the changes of its documents, in their order.

    A document whose text cannot be edited is written anew, without its comments.
    """
    edits = []
    starts = _line_starts(text)
    for chunk, members in groupby(documents, lambda each: each.document.origin.chunk):
        listed = list(members)
        if any(each.changed for each in listed):
            new = _chunk(chunk, listed)
            # Blanks stand for what precedes a JSON value on its line.
            blanks = len(chunk.text) - len(chunk.text.lstrip(" ")) if _is_flow(chunk) else 0
            start = starts[chunk.line]
            edits.append(Splice(start + blanks, start + len(chunk.text), new[blanks:]))
    return edited(text, edits)


def _chunk(chunk: Chunk, members: Sequence[Rewritten]) -> str:
    """Return the text of a chunk with the changes of its documents."""
    try:
        text = _spliced(chunk, members)
    except CannotSplice:
        return _with_breaks_of(chunk, _dumped(chunk, members))
    found, problems = split(chunk.file, text.encode("utf-8", "surrogatepass"))
    broken = any(problem.rule != NOT_AN_OBJECT for problem in problems)
    if broken or not same([each.raw for each in found], [each.after for each in members]):
        return _with_breaks_of(chunk, _dumped(chunk, members))
    return text


def _with_breaks_of(chunk: Chunk, text: str) -> str:
    """Return new text with the line breaks of the chunk, which may be those of Windows."""
    if "\r\n" not in chunk.text:
        return text
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _spliced(chunk: Chunk, members: Sequence[Rewritten]) -> str:
    splicer = Splicer(chunk.text)
    edits: list[Splice] = []
    for each in members:
        node = each.document.origin.node()
        if node is None:
            raise CannotSplice
        edits += splicer.edits(node, each.document.raw, each.after)
    edits = [each._replace(text=_with_breaks_of(chunk, each.text)) for each in edits]
    return edited(chunk.text, edits)


def _dumped(chunk: Chunk, members: Sequence[Rewritten]) -> str:
    """Write the values of a chunk anew, those without changes included; Lists stay Lists."""
    found, _ = read_located(chunk.file, chunk.text.encode("utf-8", "surrogatepass"))
    values = {origin.root: value for value, origin in found}
    for each in members:
        origin = each.document.origin
        values[origin.root] = _with(values[origin.root], origin.within, each.after)
    if _is_flow(chunk) and len(values) == 1:
        blanks = len(chunk.text) - len(chunk.text.lstrip(" "))
        return " " * blanks + json.dumps(next(iter(values.values())), ensure_ascii=False, indent=2)
    return _head(chunk) + _SEPARATOR.join(map(dump, values.values()))


def _with(value: JSON, within: str, after: JSONObject) -> JSON:
    """Return the value of a document with the item of a List at ``within`` replaced."""
    indexes = [int(part.partition("]")[0]) for part in within.split("[")[1:]]
    if not indexes:
        return after
    parent = value
    for index in indexes[:-1]:
        parent = parent["items"][index]
    parent["items"][indexes[-1]] = after
    return value


def _head(chunk: Chunk) -> str:
    """Return the lines before the first value: the separator and comments."""
    root = Origin(chunk).node()
    head = "" if root is None else chunk.text[: root.start_mark.index]
    return head if head.endswith("\n") else ""


def _is_flow(chunk: Chunk) -> bool:
    return chunk.text.lstrip()[:1] in ("{", "[")


def _line_starts(text: str) -> list[int]:
    starts = [0]
    while (at := text.find("\n", starts[-1])) >= 0:
        starts.append(at + 1)
    return starts


class RewrittenFiles:
    """The texts of all files that have objects, after mutation, in the order they were read in."""

    def __init__(self, texts: Mapping[str, str], documents: Iterable[Rewritten]) -> None:
        self._before = texts
        by_file: dict[str, list[Rewritten]] = {}
        for each in documents:
            by_file.setdefault(each.document.file, []).append(each)
        self._after = {name: rewritten(texts[name], found) for name, found in by_file.items()}

    @property
    def unchanged(self) -> int:
        """The number of files that no mutation changed."""
        return sum(self._before[name] == text for name, text in self._after.items())

    def write_changed(self, folder: Path, paths: Sequence[Path]) -> Iterator[Path]:
        """Write the files that changed below a directory and yield their paths.

        Raises ConfigError if a file cannot be written or two have the same path.
        """
        roots = [path for path in paths if path.is_dir()]
        written: dict[Path, str] = {}
        for name, text in self._after.items():
            if text == self._before[name]:
                continue
            target = folder / _relative(name, roots)
            if target in written:
                raise ConfigError(f"{written[target]} and {name} would both be written to {target}")
            written[target] = name
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(text.encode("utf-8", "surrogatepass"))
            except OSError as error:
                raise ConfigError(f"{error.filename}: {error.strerror}") from None
            yield target

    def stream(self) -> bytes:
        """Return all texts as one stream of YAML documents."""
        parts: list[str] = []
        for text in self._after.values():
            if parts and not text.startswith("---"):
                parts.append(_SEPARATOR)
            parts.append(text if text.endswith("\n") or not text else text + "\n")
        return "".join(parts).encode("utf-8", "surrogatepass")


def _relative(name: str, roots: Sequence[Path]) -> Path:
    """Return the path relative to the input directory; the bare name of a file named directly."""
    if name == "-":
        return Path(_STDIN)
    path = Path(without_packing(name))
    for root in roots:
        if path.is_relative_to(root):
            return path.relative_to(root)
    return Path(path.name)
