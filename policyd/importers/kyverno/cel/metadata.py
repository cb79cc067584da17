"""``metadata`` of an imported policy: its name, and what its labels and annotations become."""

from collections.abc import Mapping

from policyd.json_types import JSONObject
from policyd.policy.source.loaded_documents import Document

_DESCRIPTION = "policies.kyverno.io/description"
_RENAMED: Mapping[str, str] = {
    "policies.kyverno.io/category": "policyd.dev/category",
    "policies.kyverno.io/severity": "policyd.dev/severity",
}
# About the object of the source, or for Kyverno's reports and documentation.
_DROPPED = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "kyverno.io/kyverno-version",
    "kyverno.io/kubernetes-version",
    "policies.kyverno.io/minversion",
    "pod-policies.kyverno.io/autogen-controllers",
)


def metadata_of(document: Document, name: str) -> JSONObject:
    """Return name, labels and annotations, with the description left to ``spec``."""
    given = document.raw["metadata"]
    annotations = {
        _RENAMED.get(key, key): value.strip()
        for key, value in given.get("annotations", {}).items()
        if key != _DESCRIPTION and key not in _DROPPED
    }
    found: JSONObject = {"name": name}
    if given.get("labels"):
        found["labels"] = dict(given["labels"])
    if annotations:
        found["annotations"] = annotations
    return found


def description_of(document: Document) -> str:
    """Return the description that Kyverno's policies have as an annotation, on one line."""
    given = document.raw["metadata"].get("annotations", {})
    return " ".join(given.get(_DESCRIPTION, "").split())
