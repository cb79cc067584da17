"""What reports say about policies beside their findings. Evaluates nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.live.reach import PolicyKey
from policyd.policy.source.documents import Document, Sources

CATEGORY = "policyd.dev/category"
SEVERITY = "policyd.dev/severity"
# What the APIs of reports accept.
SEVERITIES = frozenset(("critical", "high", "medium", "low", "info"))


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """A policy: its name and kind, its annotations, and the names of its validations.

    ``severity`` is "" if the annotation has none that reports know. ``rollout`` is the stage of its
    rollout, "" without one.
    """

    key: PolicyKey
    category: str = ""
    severity: str = ""
    validations: tuple[str, ...] = ()
    rollout: str = ""

    def rule(self, index: int) -> str:
        """Return the name of a validation, or its place if it has none."""
        named = self.validations[index] if index < len(self.validations) else ""
        return named or f"validations[{index}]"


def facts_of(
    sources: Sources, policies: Iterable[CompiledPolicy]
) -> Mapping[PolicyKey, PolicyFacts]:
    """Return the facts of these policies, by their keys."""
    wanted = {each.sort_key for each in policies}
    found = {(each.name, each.kind): each for each in sources.documents if each.is_policy}
    return {key: _facts(key, found[key]) for key in sorted(wanted)}


def _facts(key: PolicyKey, document: Document) -> PolicyFacts:
    metadata = document.raw.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    severity = str(annotations.get(SEVERITY) or "").lower()
    validations = document.raw["spec"].get("validations") or ()
    return PolicyFacts(
        key,
        str(annotations.get(CATEGORY) or ""),
        severity if severity in SEVERITIES else "",
        tuple(str(each.get("name") or "") for each in validations),
    )
