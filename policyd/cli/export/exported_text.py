"""The text of exported documents: a stream for standard output, or files. Fields have the order of
the documentation of the API. Writes nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from policyd.cli.export.exported_files import path_of
from policyd.cli.export.report import ReportedPolicy
from policyd.cli.results import headline
from policyd.cli.shared.layout.document_layout import DocumentLayout, comment
from policyd.export.model import ExportedPart
from policyd.export.static import DIRECTORIES
from policyd.json_types import JSONObject
from policyd.versions import KubernetesVersion

_SEPARATOR = "---\n"
# The fields that come first in an object, by the field that holds it; empty: the document.
_FIRST: Mapping[str, Sequence[str]] = {
    "": ("apiVersion", "kind", "metadata", "spec"),
    "metadata": ("name", "labels", "annotations"),
    "spec": (
        "policyName",
        "paramKind",
        "matchConstraints",
        "matchConditions",
        "variables",
        "failurePolicy",
        "reinvocationPolicy",
        "validations",
        "mutations",
        "auditAnnotations",
        "paramRef",
        "matchResources",
        "validationActions",
    ),
}


def stream(policies: Sequence[ReportedPolicy], version: KubernetesVersion, *, reasons: bool) -> str:
    """Return all documents; with ``reasons``, comments list what is not among them."""
    missing = "".join(each.result.missing for each in policies if reasons and not each.whole)
    texts = [_documents(each, each.policy.parts, version) for each in policies]
    return missing + _SEPARATOR.join(filter(None, texts))


def files(
    policies: Sequence[ReportedPolicy], version: KubernetesVersion, *, static: bool
) -> tuple[dict[Path, str], dict[Path, list[ReportedPolicy]]]:
    """Return the text of each file, and the policies in it, by path.

    There is a file for each policy; a ValidatingAdmissionPolicy and a MutatingAdmissionPolicy of
    one name share theirs. Static manifests have a directory for each admission plugin.
    """
    texts: dict[Path, str] = {}
    within: dict[Path, list[ReportedPolicy]] = {}
    for each in policies:
        for path, parts in _paths(each, static=static):
            text = _documents(each, parts, version)
            texts[path] = f"{texts[path]}{_SEPARATOR}{text}" if path in texts else text
            within.setdefault(path, []).append(each)
    return texts, within


def _paths(
    policy: ReportedPolicy, *, static: bool
) -> Iterator[tuple[Path, Sequence[ExportedPart]]]:
    name, parts = policy.policy.name, [each for each in policy.policy.parts if each.documents]
    if static:
        for part in parts:
            yield path_of(name, DIRECTORIES[part.webhook]), [part]
    elif parts:
        yield path_of(name), parts


def _documents(
    policy: ReportedPolicy, parts: Sequence[ExportedPart], version: KubernetesVersion
) -> str:
    """Return the documents of some parts below a comment about them; empty if there are none."""
    documents = [document for part in parts for document in part.documents]
    if not documents:
        return ""
    remarks = [each for part in parts for each in policy.remarks(part)]
    head = f"{headline(policy.source)}, for Kubernetes {version}"
    return comment("\n".join((head, *remarks))) + _SEPARATOR.join(map(document_text, documents))


def document_text(document: JSONObject) -> str:
    """Return one document as YAML, without ``---``."""
    ordered = _ordered(document, "")
    for field in ("metadata", "spec"):
        if isinstance(ordered.get(field), dict):
            ordered[field] = _ordered(ordered[field], field)
    return DocumentLayout().text(ordered)


def _ordered(value: JSONObject, field: str) -> JSONObject:
    return {**{each: value[each] for each in _FIRST[field] if each in value}, **value}
