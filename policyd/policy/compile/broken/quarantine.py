"""Compile broken policies: requests that they may match follow their failurePolicy."""

from collections.abc import Iterable
from typing import get_args

from policyd._core.counting.counters import PolicyCounters
from policyd.errors import Problem
from policyd.json_types import JSONObject
from policyd.policy.compile.broken.readable import readable_constraints
from policyd.policy.compile.compiled import CompiledPolicy, PolicyKind
from policyd.policy.compile.match_rules import NOTHING, controller_rules, match_rules
from policyd.policy.model.suite import Webhook
from policyd.policy.source.loaded_documents import Document

_KINDS: dict[str, PolicyKind] = {kind: kind for kind in get_args(PolicyKind)}
_WEBHOOKS: dict[str, tuple[Webhook, ...]] = {
    "ValidatingAdmissionPolicy": ("validate",),
    "MutatingAdmissionPolicy": ("mutate",),
}
_VALIDATES = ("validations", "auditAnnotations")


def quarantined(
    document: Document, counters: PolicyCounters, problems: Iterable[Problem], *, bound: bool
) -> CompiledPolicy | None:
    """Return a policy that matches what the document may be meant to match, and has no other part.

    None if the document has no readable name or matchConstraints. A policy that is not ``bound``
    matches nothing, as it would if it were not broken.
    """
    constraints = readable_constraints(document.raw)
    if not document.name or constraints is None:
        return None
    if not bound:
        constraints = NOTHING
    spec = document.raw.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    controllers = spec.get("podControllers") not in (None, False)
    return CompiledPolicy(
        kind=_KINDS[document.kind],
        name=document.name,
        source=document.file,
        fail=document.failure_policy != "Ignore",
        rules=match_rules(constraints),
        controllers=controller_rules(constraints) if controllers else None,
        counters=counters,
        problem="; ".join(map(_shown, problems)) or "not usable",
        broken_at=_WEBHOOKS.get(document.kind) or _of_policy(spec),
    )


def _of_policy(spec: JSONObject) -> tuple[Webhook, ...]:
    """Return the webhooks of a Policy: also the mutating one, unless it surely only validates."""
    validates = "mutations" not in spec and any(field in spec for field in _VALIDATES)
    return ("validate",) if validates else ("mutate", "validate")


def _shown(problem: Problem) -> str:
    return f"{problem.path}: {problem.message}" if problem.path else problem.message
