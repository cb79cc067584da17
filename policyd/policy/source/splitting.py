"""Split the bytes of one source file into documents without models; Lists are unrolled."""

import codecs
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import PurePath
from typing import Any

from policyd.errors import Fix, Problem
from policyd.json_types import object_in
from policyd.policy.model.findings import FormProblem
from policyd.policy.source.budget import MAX_DEPTH, TOO_LARGE, OverBudget, SourceBudget
from policyd.policy.source.json_text import values as json_text
from policyd.policy.source.json_text.surrogates import lone_surrogate
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.places import NO_TEXT, Chunk, Origin
from policyd.policy.source.yaml_nodes import YamlError, compose, construct

_AFTER_SEPARATOR = ("", " ", "\t", "\r", "\n")
_SEPARATOR_LINE = re.compile(r"---[ \t\r]*\n")
# The first line with content: no comment, blank line or %YAML directive. Used with search, since
# one expression for all lines of a chunk takes 300 bytes a line.
_SOMETHING = re.compile(r"^(?![ \t\r]*(?:[#%]|---[ \t\r]*(?:#|$)|(?:\.\.\.)?$))", re.MULTILINE)
# The defaults of command-line options for a project; not a Kubernetes object.
PROJECT_FILE = "policyd.yaml"
MAX_LISTS = 10  # levels of Lists in Lists: each lengthens the path of every item
NOT_AN_OBJECT = "not-an-object"  # the rule of a document without apiVersion and kind


# The value of a document, with its chunk and the index of its root there.
_Value = tuple[Chunk, int, Any]


def split(
    name: str,
    data: bytes,
    root: str = "",
    budget: SourceBudget | None = None,
    *,
    built: bool = False,
) -> tuple[list[Document], list[Problem]]:
    """Return every document of a file below ``root``, and the problems of the file. A file that
    exceeds the budget has no documents. Problems in JSON that is ``built`` by a program name no
    line, since no file has it.
    """
    budget = budget or SourceBudget()
    found, problems = _values(name, data, budget)
    if built:
        nowhere = Chunk(name, "", NO_TEXT)
        found = [(nowhere, number, value) for _, number, value in found]
    documents, more = _documents(name, found, root, budget)
    return documents, problems + more


def read_values(
    name: str, data: bytes, budget: SourceBudget | None = None
) -> tuple[list[Any], list[Problem]]:
    """Return the plain values of a file, which need not be Kubernetes objects; skip empty ones."""
    located, problems = read_located(name, data, budget)
    return [value for value, _ in located], problems


def read_located(
    name: str, data: bytes, budget: SourceBudget | None = None
) -> tuple[list[tuple[Any, Origin]], list[Problem]]:
    """Return the same values, each with its place."""
    found, problems = _values(name, data, budget or SourceBudget())
    values = [(value, Origin(chunk, root)) for chunk, root, value in found if value is not None]
    return values, problems


def _values(name: str, data: bytes, budget: SourceBudget) -> tuple[list[_Value], list[Problem]]:
    found: list[_Value] = []
    problems: list[Problem] = []
    try:
        budget.add_file(len(data))
        text = data.decode("utf-8-sig")
        _read(Chunk(name, text, 0), found, problems, budget)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        wrong = "UTF-16 is not read" if wide else "not valid UTF-8"
        hint = "save the file as UTF-8" + (", in PowerShell: Out-File -Encoding utf8" * wide)
        return [], [Problem(wrong, name, line, 1, hint=hint, rule="syntax")]
    except OverBudget as error:
        return [], [*problems, over_budget(name, error)]
    return found, problems


def _read(whole: Chunk, found: list[_Value], problems: list[Problem], budget: SourceBudget) -> None:
    """Read a text as JSON, or each of its chunks as JSON or YAML."""
    try:
        values = _json_values(whole, budget)
    except YamlError as error:
        problems.append(_syntax_problem(whole, error))
        return
    except OverBudget as error:
        error.line = 1
        raise
    if values is not None:
        found += values
        return
    for chunk in _chunks(whole):
        try:
            found += _chunk_values(chunk, budget)
        except YamlError as error:
            problems.append(_syntax_problem(chunk, error))
        except OverBudget as error:
            error.line = (error.line or 1) + chunk.line
            raise


def _chunk_values(chunk: Chunk, budget: SourceBudget) -> list[_Value]:
    after = _after_separator(chunk)
    try:
        values = _json_values(after, budget)
    except YamlError as error:
        error.line += after.line - chunk.line
        raise
    if values is not None:
        return values
    budget.add_document()
    roots = compose(chunk.text, budget)
    return [(chunk, number, construct(root, budget)) for number, root in enumerate(roots)]


def _json_values(whole: Chunk, budget: SourceBudget) -> list[_Value] | None:
    """Return the concatenated values of a JSON text; None if it must be read as YAML, and so must
    what exceeds a limit: the reader of YAML finds the place.

    JSON is read as such because YAML lacks one of its escapes: the surrogate pair. Raises YamlError
    for half of one.
    """
    text = whole.text
    if not json_text.is_json(text):
        return None
    nodes, levels = json_text.size_of(text, MAX_DEPTH)
    if nodes > budget.nodes_left or levels >= MAX_DEPTH:
        return None
    found = json_text.values_in(text)
    if found is None:
        return None
    lone = lone_surrogate(text)
    if lone is not None:
        before = text[:lone]
        message = f"{text[lone : lone + 6]} is half of a surrogate pair, not a character"
        raise YamlError(message, before.count("\n") + 1, len(before) - before.rfind("\n"))
    for _ in found:
        budget.add_document()
    budget.add_nodes(nodes, len(text) + sum(each.indent for each in found))
    values: list[_Value] = []
    for each in found:
        # Blanks keep the columns of a value that does not begin its line.
        padded = " " * each.indent + text[each.start : each.end]
        values.append((Chunk(whole.file, padded, whole.line + each.line), 0, each.value))
    return values


def over_budget(name: str, error: OverBudget) -> Problem:
    """Return the problem of a file that exceeds the budget."""
    return Problem(str(error), name, error.line, error.column, hint=error.hint, rule=TOO_LARGE)


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
        fix=Fix(explanation.value, explanation.value) if explanation.value else None,
        document=sha256(chunk.text.encode("utf-8", "surrogatepass")).hexdigest(),
    )


def _after_separator(chunk: Chunk) -> Chunk:
    """Return the chunk without the line ``---`` that begins it."""
    separator = _SEPARATOR_LINE.match(chunk.text)
    if separator is None:
        return chunk
    return Chunk(chunk.file, chunk.text[separator.end() :], chunk.line + 1)


def _documents(
    name: str, found: list[_Value], directory: str, budget: SourceBudget
) -> tuple[list[Document], list[Problem]]:
    documents: list[Document] = []
    problems: list[Problem] = []
    for chunk, root, value in found:
        if value is None:
            continue  # an empty document between two separators
        nameless = isinstance(value, dict) and not {"apiVersion", "kind"} & value.keys()
        if nameless and PurePath(chunk.file).name == PROJECT_FILE:
            continue  # the project file lies in a directory that may be read as a whole
        try:
            for within, item, default in _unrolled(value, budget):
                raw = item if isinstance(item, dict) else {}
                if raw and default[1] and "kind" not in raw:
                    raw = {"apiVersion": default[0], "kind": default[1], **raw}
                document = _document(raw, Origin(chunk, root, within), len(documents), directory)
                if document.kind and document.api_version:
                    documents.append(document)
                else:
                    problems.append(_nameless(document, item))
        except OverBudget as error:
            error.line = chunk.line + 1
            return [], [over_budget(name, error)]
    return documents, problems


def _unrolled(value: Any, budget: SourceBudget) -> Iterator[tuple[str, Any, tuple[str, str]]]:
    """Yield the objects of a value: itself, or the items of a ``List`` (or ``ConfigMapList`` …).

    The items of a typed list may omit apiVersion and kind: the third element has the defaults.
    """
    lists: list[tuple[str, Iterator[tuple[int, Any]], tuple[str, str]]] = []
    within, item, default = "", value, ("", "")
    while True:
        kind = item.get("kind") if isinstance(item, dict) else None
        items = item.get("items") if isinstance(kind, str) else None
        if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
            own = (str(item.get("apiVersion", "")), kind[:-4]) if kind != "List" else ("", "")
            if len(lists) == MAX_LISTS:
                budget.refuse(f"a List in {MAX_LISTS} others", "write its items into one List")
            lists.append((within, enumerate(items), own if own[1] else default))
        else:
            yield within, item, default
        while lists:
            above, left, default = lists[-1]
            index, item = next(left, (-1, None))
            if index >= 0:
                break
            lists.pop()
        else:
            return
        within = f"{above}.items[{index}]".lstrip(".")
        budget.add_document()


def _document(raw: dict[str, Any], origin: Origin, index: int, root: str) -> Document:
    metadata = object_in(raw, "metadata")
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


LEAVE_OUT = "leave out files of other programs"
_HELM_VALUES = f"{LEAVE_OUT}, such as Helm values: give what helm template prints"
_KUBECTL = f"{LEAVE_OUT}; of a cluster, give objects as kubectl prints them with -o yaml"


def _nameless(document: Document, value: object) -> Problem:
    """Return the problem of a document that is not an object with kind and apiVersion."""
    if isinstance(value, dict):
        missing = "apiVersion" if document.kind else "kind"
        wrong = f"{missing} must be a string" if missing in value else f"{missing} is missing"
        if not value.keys() & {"apiVersion", "kind"}:
            wrong = "both are missing"
        message = f"Required value: a document needs apiVersion and kind; {wrong}"
    else:
        message = "a document must be an object with apiVersion and kind"
    words = isinstance(value, dict) and any(
        isinstance(value.get(field), bool) for field in ("apiVersion", "kind")
    )
    hint = _HELM_VALUES if isinstance(value, dict) else _KUBECTL
    if words:
        hint = "YAML reads y, n, yes, no, on and off as booleans: put it in quotes"
    elif isinstance(value, dict) and isinstance(value.get("kind"), str):
        hint = "write apiVersion: v1 for the core group, or GROUP/VERSION"
    elif isinstance(value, dict) and "apiVersion" in value:
        hint = "write kind: the name of its kind, such as Pod"
    return document.problem(FormProblem((), message, hint, rule=NOT_AN_OBJECT))
