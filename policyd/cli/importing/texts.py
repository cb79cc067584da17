"""The YAML of imported policies and their suites, as a person would have written it. Writes no
file.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from policyd.cli.importing.report import ReportedImport
from policyd.cli.results import found_text
from policyd.cli.shared.layout.document_layout import DocumentLayout, comment
from policyd.importers.model import ImportedDocument
from policyd.importers.naming import relative_file
from policyd.json_types import FieldPath, JSONObject
from policyd.policy.source.splitting import read_values

SEPARATOR = "---\n"


class NotWritten(AssertionError):
    """The text of a document is not read as the document: a bug of the layout."""


def policy_text(one: ReportedImport) -> str:
    """Return the policies that one source policy became, below a comment with the remarks and with
    the reasons for rules that are left out.
    """
    file = relative_file(one.imported.source)
    head = f"Imported from {one.imported.source.label}{f', {file}' if file else ''}"
    found = (*one.imported.reasons, *one.imported.remarks)
    remarks = [f"remark: {found_text(each)}" for each in found]
    texts = [document_text(each) for each in one.imported.documents]
    return comment("\n".join((head, *remarks))) + SEPARATOR.join(texts)


def stream(imports: Sequence[ReportedImport], *, reasons: bool) -> str:
    """Return all documents; with ``reasons``, comments list what is not among them."""
    missing = "".join(
        each.result.missing for each in imports if reasons and not each.imported.documents
    )
    texts = [policy_text(each) for each in imports if each.imported.documents]
    return missing + SEPARATOR.join(texts)


def document_text(document: ImportedDocument) -> str:
    """Return one document as YAML, without ``---``."""
    text = _lines(document.raw, document.comments)
    _require(text, document.raw)
    return text


def suite_text(suite: JSONObject) -> str:
    """Return a suite as YAML: a blank line before each case but the first."""
    rest = {key: value for key, value in suite.items() if key != "cases"}
    cases = [_lines({"cases": [each]}) for each in suite["cases"]]
    text = _lines(rest) + "cases:\n"
    text += "\n".join(each.removeprefix("cases:\n") for each in cases)
    _require(text, suite)
    return text


def _lines(value: JSONObject, comments: Mapping[FieldPath, str] = MappingProxyType({})) -> str:
    return DocumentLayout(comments, compact=True).text(value)


def _require(text: str, document: JSONObject) -> None:
    """Raise NotWritten unless the text is read as this document."""
    found, problems = read_values("<output>", text.encode("utf-8", "surrogatepass"))
    if problems or found != [document]:
        raise NotWritten(f"{document.get('metadata')} cannot be written as YAML: {problems}")
