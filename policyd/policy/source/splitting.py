"""Split the bytes of one source file into documents without models; Lists are unrolled."""

import json
import re
from collections.abc import Iterator
from hashlib import sha256
from math import isfinite
from pathlib import PurePath
from typing import Any

from policyd.errors import Problem
from policyd.policy.model.findings import FormProblem
from policyd.policy.source.documents import Document
from policyd.policy.source.places import NO_TEXT, Chunk, Origin
from policyd.policy.source.surrogates import lone_surrogate
from policyd.policy.source.yaml_nodes import MAX_DEPTH, YamlError, compose, construct

_AFTER_SEPARATOR = ("", " ", "\t", "\r", "\n")
_SEPARATOR_LINE = re.compile(r"---[ \t\r]*\n")
# The first line with content: no comment, blank line or %YAML directive. Used with search, since
# one expression for all lines of a chunk takes 300 bytes a line.
_SOMETHING = re.compile(r"^(?![ \t\r]*(?:[#%]|---[ \t\r]*(?:#|$)|(?:\.\.\.)?$))", re.MULTILINE)
_VALUE = re.compile(r"\S")
# The defaults of command-line options for a project; not a Kubernetes object.
PROJECT_FILE = "policyd.yaml"
NOT_AN_OBJECT = "not-an-object"  # the rule of a document without apiVersion and kind
_INT64 = range(-(1 << 63), 1 << 63)


def split(name: str, data: bytes, root: str = "") -> tuple[list[Document], list[Problem]]:
    """Return every document of a file below ``root``, and the problems of the file."""
    found, problems = _values(name, data)
    documents, more = _documents(found, root)
    return documents, problems + more


def split_built(name: str, data: bytes, root: str = "") -> tuple[list[Document], list[Problem]]:
    """Split JSON built by a program: its problems name no line, since no file has it."""
    found, problems = _values(name, data)
    nowhere = Chunk(name, "", NO_TEXT)
    documents, more = _documents([(nowhere, number, value) for _, number, value in found], root)
    return documents, problems + more


def read_values(name: str, data: bytes) -> tuple[list[Any], list[Problem]]:
    """Return the plain values of a file, which need not be Kubernetes objects; skip empty ones."""
    found, problems = _values(name, data)
    return [value for _, _, value in found if value is not None], problems


def read_located(name: str, data: bytes) -> tuple[list[tuple[Any, Origin]], list[Problem]]:
    """Return the same values, each with its place."""
    found, problems = _values(name, data)
    values = [(value, Origin(chunk, root)) for chunk, root, value in found if value is not None]
    return values, problems


def _values(name: str, data: bytes) -> tuple[list[tuple[Chunk, int, Any]], list[Problem]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return [], [Problem("not valid UTF-8", file=name, line=line, column=1, rule="syntax")]
    whole = Chunk(name, text, 0)
    problems: list[Problem] = []
    found: list[tuple[Chunk, int, Any]] = []
    try:
        values = _json_values(whole)
    except YamlError as error:
        return [], [_syntax_problem(whole, error)]
    if values is not None:
        return values, []
    for chunk in _chunks(whole):
        inner = _after_separator(chunk)
        try:
            values = _json_values(inner)
        except YamlError as error:
            problems.append(_syntax_problem(inner, error))
            continue
        if values is not None:
            found += values
            continue
        try:
            roots = compose(chunk.text)
            found += [(chunk, number, construct(root)) for number, root in enumerate(roots)]
        except YamlError as error:
            problems.append(_syntax_problem(chunk, error))
    return found, problems


def _chunks(whole: Chunk) -> Iterator[Chunk]:
    """Yield one chunk for each ``---``, so that a syntax error affects only its document."""
    starts = [0, *_separators(whole.text)]
    line = 0
    for start, end in zip(starts, [*starts[1:], len(whole.text)], strict=True):
        text = whole.text[start:end]
        if _SOMETHING.search(text):
            yield Chunk(whole.file, text, line)
        line += text.count("\n")


def _separators(text: str) -> Iterator[int]:
    """Yield the places of the lines ``---``. A search for a string is faster than a pattern."""
    place = 0
    while True:
        if text.startswith("---", place) and text[place + 3 : place + 4] in _AFTER_SEPARATOR:
            yield place
        place = text.find("\n---", place) + 1
        if not place:
            return


def _syntax_problem(chunk: Chunk, error: YamlError) -> Problem:
    line = error.line + chunk.line
    explanation = error.explanation.numbered(chunk.line)
    return Problem(
        error.message,
        file=chunk.file,
        line=line,
        column=error.column,
        hint=explanation.hint,
        excerpt=chunk.excerpt(line, error.column),
        rule="syntax",
        summary=explanation.summary,
        document=sha256(chunk.text.encode("utf-8", "surrogatepass")).hexdigest(),
    )


class _Duplicate(ValueError):
    """A JSON object has a key twice."""


def _after_separator(chunk: Chunk) -> Chunk:
    """Return the chunk without the line ``---`` that begins it."""
    separator = _SEPARATOR_LINE.match(chunk.text)
    if separator is None:
        return chunk
    return Chunk(chunk.file, chunk.text[separator.end() :], chunk.line + 1)


def _json_values(whole: Chunk) -> list[tuple[Chunk, int, Any]] | None:
    """Return the concatenated values of a JSON text; None if it must be read as YAML.

    JSON is read as such because YAML lacks one of its escapes: the surrogate pair. Raises YamlError
    for half of one.
    """
    if whole.text.lstrip()[:1] not in ("{", "["):
        return None
    decoder = json.JSONDecoder(
        object_pairs_hook=_unique, parse_int=_integer, parse_float=_real, parse_constant=_real
    )
    text = whole.text
    values: list[tuple[Chunk, int, Any]] = []
    position, line = 0, whole.line
    try:
        while start := _VALUE.search(text, position):
            line += text.count("\n", position, start.start())
            value, end = decoder.raw_decode(text, start.start())
            # Pad with blanks to keep the columns of a value that does not begin its line.
            indent = start.start() - (text.rfind("\n", 0, start.start()) + 1)
            chunk = Chunk(whole.file, " " * indent + text[start.start() : end], line)
            values.append((chunk, 0, value))
            line += text.count("\n", start.start(), end)
            position = end
    except (ValueError, RecursionError):
        return None
    if not all(_depth_ok(value) for _, _, value in values):
        return None
    lone = lone_surrogate(text)
    if lone is not None:
        before = text[:lone]
        message = f"{text[lone : lone + 6]} is half of a surrogate pair, not a character"
        raise YamlError(message, before.count("\n") + 1, len(before) - before.rfind("\n"))
    return values


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _Duplicate
    return result


def _integer(digits: str) -> int | float:
    """Parse an integer; one beyond 64 signed bits is a double, as in the API server."""
    if len(digits) > 20:
        return _real(digits)
    value = int(digits)
    return value if value in _INT64 else float(value)


def _real(digits: str) -> float:
    """Parse a float; NaN and too large numbers are not JSON: YAML reads them as strings."""
    real = float(digits)
    if not isfinite(real):
        raise ValueError("not a number")
    return real


def _depth_ok(value: Any) -> bool:
    """Whether a value has at most MAX_DEPTH levels; iterative, without recursion."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            return False
        level = [
            item
            for each in level
            if isinstance(each, dict | list)
            for item in (each.values() if isinstance(each, dict) else each)
        ]
    return True


def _documents(
    found: list[tuple[Chunk, int, Any]], folder: str
) -> tuple[list[Document], list[Problem]]:
    documents: list[Document] = []
    problems: list[Problem] = []
    for chunk, root, value in found:
        if value is None:
            continue  # an empty document between two separators
        if _is_project(chunk.file, value):
            continue
        for within, item, default in _unrolled(value):
            raw = item if isinstance(item, dict) else {}
            if raw and default[1] and "kind" not in raw:
                raw = {"apiVersion": default[0], "kind": default[1], **raw}
            document = _document(raw, Origin(chunk, root, within), len(documents), folder)
            if document.kind and document.api_version:
                documents.append(document)
            else:
                problems.append(_nameless(document, item))
    return documents, problems


def _is_project(file: str, value: Any) -> bool:
    """Whether this is the project file, which lies in a folder that may be read as a whole."""
    named = PurePath(file).name == PROJECT_FILE
    return named and isinstance(value, dict) and not {"apiVersion", "kind"} & value.keys()


def _unrolled(value: Any, within: str = "") -> Iterator[tuple[str, Any, tuple[str, str]]]:
    """Yield the objects of a value: itself, or the items of a ``List`` (or ``ConfigMapList`` …).

    The items of a typed list may omit apiVersion and kind: the third element has the defaults.
    """
    kind = value.get("kind") if isinstance(value, dict) else None
    items = value.get("items") if isinstance(kind, str) else None
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(items, list)):
        yield within, value, ("", "")
        return
    default = (str(value.get("apiVersion", "")), kind[:-4]) if kind != "List" else ("", "")
    for index, item in enumerate(items):
        for at, each, inner in _unrolled(item, f"{within}.items[{index}]".lstrip(".")):
            yield at, each, inner if inner[1] else default


def _document(raw: dict[str, Any], origin: Origin, index: int, root: str) -> Document:
    metadata = raw.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return Document(
        kind=_text(raw.get("kind")),
        api_version=_text(raw.get("apiVersion")),
        name=_text(metadata.get("name")),
        namespace=_text(metadata.get("namespace")),
        file=origin.chunk.file,
        index=index,
        raw=raw,
        origin=origin,
        root=root,
    )


def _text(value: object) -> str:
    """Return a string, or empty for another type, which the model or ``_nameless`` reports."""
    return value if isinstance(value, str) else ""


def _nameless(document: Document, value: object) -> Problem:
    """Return the problem of a document that is not an object with kind and apiVersion."""
    if isinstance(value, dict):
        missing = "apiVersion" if document.kind else "kind"
        wrong = "must be a string" if missing in value else "is missing"
        message = f"Required value: a document needs apiVersion and kind; {missing} {wrong}"
    else:
        message = "a document must be an object with apiVersion and kind"
    words = isinstance(value, dict) and any(
        isinstance(value.get(field), bool) for field in ("apiVersion", "kind")
    )
    hint = "YAML reads y, n, yes, no, on and off as booleans: put it in quotes" if words else ""
    return document.problem(FormProblem((), message, hint, rule=NOT_AN_OBJECT))
