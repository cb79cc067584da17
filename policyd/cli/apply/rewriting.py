"""Write mutated manifests: the text of each file with the changes in their places, so that comments
stay. Evaluates no policy.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from policyd.errors import ConfigError, file_errors
from policyd.json_types import JSON, JSONObject
from policyd.policy.source.files import SourceFile, without_packing
from policyd.policy.source.json_text.values import is_json
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.places import Chunk, Origin
from policyd.policy.source.splitting import read_located
from policyd.policy.source.yaml_edit.chunks import edited_chunk, with_chunks
from policyd.policy.source.yaml_edit.edits import CannotEdit, with_breaks_of
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
    chunks = []
    for chunk, members in groupby(documents, lambda each: each.document.origin.chunk):
        listed = list(members)
        if any(each.changed for each in listed):
            chunks.append((chunk, _chunk(chunk, listed)))
    return with_chunks(text, chunks)


def _chunk(chunk: Chunk, members: Sequence[Rewritten]) -> str:
    """Return the text of a chunk with the changes of its documents."""
    try:
        return edited_chunk(chunk, [(each.document, each.after) for each in members])
    except CannotEdit:
        return with_breaks_of(chunk.text, _dumped(chunk, members))


def _dumped(chunk: Chunk, members: Sequence[Rewritten]) -> str:
    """Write the values of a chunk anew, those without changes included; Lists stay Lists."""
    found, _ = read_located(chunk.file, chunk.text.encode("utf-8", "surrogatepass"))
    values = {origin.root: value for value, origin in found}
    for each in members:
        origin = each.document.origin
        values[origin.root] = _with(values[origin.root], origin.within, each.after)
    if is_json(chunk.text) and len(values) == 1:
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


class RewrittenFiles:
    """The texts of all files that have objects, after mutation, in the order they were read in."""

    def __init__(self, files: Iterable[SourceFile], documents: Iterable[Rewritten]) -> None:
        by_file: dict[str, list[Rewritten]] = {}
        for each in documents:
            by_file.setdefault(each.document.file, []).append(each)
        texts = {f.name: f.data.decode("utf-8-sig") for f in files if f.name in by_file}
        self._before = texts
        self._after = {name: rewritten(texts[name], found) for name, found in by_file.items()}

    @property
    def unchanged(self) -> int:
        """The number of files that no mutation changed."""
        return sum(self._before[name] == text for name, text in self._after.items())

    def write_changed(self, directory: Path, paths: Sequence[Path]) -> Iterator[Path]:
        """Write the files that changed below a directory and yield their paths.

        Raises ConfigError if a file cannot be written or two have the same path.
        """
        roots = [path for path in paths if path.is_dir()]
        written: dict[Path, str] = {}
        for name, text in self._after.items():
            if text == self._before[name]:
                continue
            target = directory / _relative(name, roots)
            if target in written:
                raise ConfigError(f"{written[target]} and {name} would both be written to {target}")
            written[target] = name
            with file_errors(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(text.encode("utf-8", "surrogatepass"))
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
