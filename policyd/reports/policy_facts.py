"""What reports say about policies beside their findings. Evaluates nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.kinds.match_targets import PolicyKey
from policyd.policy.source.classification import classification_of
from policyd.policy.source.loaded_documents import Document, Sources

_ROLLOUT = "Rollout"


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
    rollouts = {
        str(each.raw["spec"].get("policyName")): each.raw["spec"]
        for each in sources.documents
        if each.kind == _ROLLOUT and each.group == "policyd.dev"
    }
    return {key: _facts(key, found[key], rollouts.get(key[0])) for key in sorted(wanted)}


def stage_words(rollout: Mapping[str, Any] | None, now: datetime) -> str:
    """Return the stage of a rollout in words: where the policy is enforced."""
    if rollout is None:
        return ""
    until = rollout.get("until")
    if until and datetime.fromisoformat(str(until)) <= now:
        return "enforced everywhere"
    enforce = rollout.get("enforce") or {}
    percent = enforce.get("percent")
    words = [] if percent is None else [f"{percent} percent"]
    words += ["selected namespaces"] if enforce.get("namespaceSelector") is not None else []
    words += ["new violations"] if enforce.get("newOnly") else []
    return ", ".join(words) or "shadow"


def _facts(key: PolicyKey, document: Document, rollout: Mapping[str, Any] | None) -> PolicyFacts:
    spec = document.raw["spec"]
    return PolicyFacts(
        key,
        *classification_of(document),
        tuple(str(each.get("name") or "") for each in spec.get("validations") or ()),
        stage_words(spec.get("rollout") or rollout, datetime.now(UTC)),
    )
