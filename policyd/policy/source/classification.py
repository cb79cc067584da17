"""Category and severity of a policy, as its annotations say. They change no decision."""

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
    metadata = document.raw.get("metadata")
    given = metadata.get("annotations") if isinstance(metadata, dict) else None
    annotations = given if isinstance(given, dict) else {}

    def first(name: str) -> str:
        texts = (str(annotations.get(f"{prefix}/{name}") or "").strip() for prefix in _PREFIXES)
        return next(filter(None, texts), "")

    severity = first("severity").lower()
    return Classification(first("category"), severity if severity in SEVERITIES else "")
