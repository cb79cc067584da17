"""Give the documents of a file new values, where they are written."""

from collections.abc import Iterable, Sequence

from policyd._core.json.equality import equal
from policyd.cel.syntax.recursion import deep_recursion
from policyd.json_types import JSONObject
from policyd.policy.source.json_text.values import is_json
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.places import Chunk
from policyd.policy.source.splitting import NOT_AN_OBJECT, split
from policyd.policy.source.yaml_edit.edits import CannotEdit, TextEdit, applied, with_breaks_of
from policyd.policy.source.yaml_edit.values import PLAIN, Style, ValueEditor

_BOM = "\ufeff"


def edited_chunk(
    chunk: Chunk, documents: Sequence[tuple[Document, JSONObject]], style: Style = PLAIN
) -> str:
    """Return the text of a chunk with new values of its documents, of which none may be missing.

    Raises CannotEdit.
    """
    with deep_recursion():
        editor = ValueEditor(chunk.text, style)
        edits: list[TextEdit] = []
        for document, after in documents:
            node = document.origin.node()
            if node is None:
                raise CannotEdit("the file is not plain YAML")
            edits += editor.edits(node, document.raw, after)
        edits = [each._replace(text=with_breaks_of(chunk.text, each.text)) for each in edits]
        text = applied(chunk.text, edits)
        found, problems = split(chunk.file, text.encode("utf-8", "surrogatepass"))
        broken = any(problem.rule != NOT_AN_OBJECT for problem in problems)
        if broken or not equal([each.raw for each in found], [after for _, after in documents]):
            raise CannotEdit("this would change another place too, such as an alias")
    return text


def with_chunks(text: str, chunks: Iterable[tuple[Chunk, str]]) -> str:
    """Return the text of a file with new texts for some of its chunks."""
    starts = [len(text) - len(text.removeprefix(_BOM))]
    while (at := text.find("\n", starts[-1])) >= 0:
        starts.append(at + 1)
    edits = []
    for chunk, new in chunks:
        # Blanks stand for what precedes a JSON value on its line.
        blanks = len(chunk.text) - len(chunk.text.lstrip(" ")) if is_json(chunk.text) else 0
        start = starts[chunk.line]
        edits.append(TextEdit(start + blanks, start + len(chunk.text), new[blanks:]))
    return applied(text, edits)
