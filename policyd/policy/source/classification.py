"""Category, severity and description of a policy, as it says. They change no decision."""

from typing import NamedTuple

from policyd.policy.source.loaded_documents import Document

# What the APIs of reports accept, the worst first.
SEVERITIES = ("critical", "high", "medium", "low", "info")
# Those of policyd, and those of Kyverno, which policies of Kubernetes often have.
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
    """Return the description of a policy: its own, or that of its annotations."""
    spec = document.raw.get("spec")
    own = spec.get("description") if isinstance(spec, dict) else None
    return str(own or "").strip() or _annotation(document, "description")


def _annotation(document: Document, name: str) -> str:
    metadata = document.raw.get("metadata")
    given = metadata.get("annotations") if isinstance(metadata, dict) else None
    annotations = given if isinstance(given, dict) else {}
    texts = (str(annotations.get(f"{prefix}/{name}") or "").strip() for prefix in _PREFIXES)
    return next(filter(None, texts), "")
