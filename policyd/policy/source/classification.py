"""Category, severity and description of a policy, as it says. They change no decision."""

from typing import NamedTuple

from policyd.json_types import object_in
from policyd.policy.source.loaded_documents import Document

# Values that the APIs of reports accept, the worst first.
SEVERITIES = ("critical", "high", "medium", "low", "info")
# policyd's annotations, and Kyverno's, which policies of Kubernetes often have.
_PREFIXES = ("policyd.dev", "policies.kyverno.io")


class Classification(NamedTuple):
    """Each is "" if no annotation says it; ``severity`` is one of ``SEVERITIES``."""

    category: str
    severity: str


def classification_of(document: Document) -> Classification:
    """Return the category and severity of a policy."""
    severity = _annotation(document, "severity").lower()
    category = _annotation(document, "category")
    return Classification(category, severity if severity in SEVERITIES else "")


def description_of(document: Document) -> str:
    """Return the description of a policy: its own, or the one in its annotations."""
    own = document.spec.get("description")
    return str(own or "").strip() or _annotation(document, "description")


def _annotation(document: Document, name: str) -> str:
    annotations = object_in(document.raw, "metadata", "annotations")
    texts = (str(annotations.get(f"{prefix}/{name}") or "").strip() for prefix in _PREFIXES)
    return next(filter(None, texts), "")
