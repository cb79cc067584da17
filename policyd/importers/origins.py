"""The annotations that say from which policy, and which of its rules, a Policy was imported: tests
of the source find their policies by them.
"""

from policyd.json_types import JSON, JSONObject
from policyd.policy.source.loaded_documents import Document

FROM = "policyd.dev/imported-from"
RULE = "policyd.dev/imported-rule"


def annotated(metadata: JSONObject, source: Document, rule: str) -> JSONObject:
    """Return metadata that names the source, and the rule if the source has rules."""
    annotations = {**(metadata.get("annotations") or {}), FROM: origin(source)}
    if rule:
        annotations[RULE] = rule
    return {**metadata, "annotations": annotations}


def origin(source: Document) -> str:
    """Return ``KIND/NAME`` of a policy, or ``KIND/NAMESPACE/NAME``."""
    return "/".join(each for each in (source.kind, source.namespace, source.name) if each)


def origin_of(policy: Document) -> tuple[str, str]:
    """Return what a policy was imported from, and the rule; empty if it does not say so."""
    metadata = policy.raw.get("metadata")
    given = metadata.get("annotations") if isinstance(metadata, dict) else None
    annotations: dict[str, JSON] = given if isinstance(given, dict) else {}
    return str(annotations.get(FROM, "")), str(annotations.get(RULE, ""))
