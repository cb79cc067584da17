"""Lay out exported documents: fields in the order of the API's documentation. Changes no value."""

from collections.abc import Mapping, Sequence

from policyd.cli.shared.layout.document_layout import DocumentLayout
from policyd.json_types import JSONObject

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


def document_text(document: JSONObject) -> str:
    """Return one document as YAML, without ``---``."""
    ordered = _ordered(document, "")
    for field in ("metadata", "spec"):
        if isinstance(ordered.get(field), dict):
            ordered[field] = _ordered(ordered[field], field)
    return "".join(f"{line}\n" for line in DocumentLayout().lines(ordered))


def _ordered(value: JSONObject, field: str) -> JSONObject:
    return {**{each: value[each] for each in _FIRST[field] if each in value}, **value}
