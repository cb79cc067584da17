"""The webhook side of a run: configurations limited to its namespaces, and the policies to serve.

Starts no server and writes nothing.
"""

from collections.abc import Iterable, Iterator

from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.webhooks.rendering.configurations import KINDS, render
from policyd.webhooks.rendering.options import RenderOptions
from policyd.webhooks.validation.configurations import problems
from tools.crossover.limiting import limited, namespace_selector, namespaced_rules
from tools.crossover.planning import (
    LABEL,
    MARKER_CONDITIONS,
    MARKER_RULE,
    WEBHOOKS,
    CrossoverPlan,
    marker_match,
)

# What a Policy does at each webhook.
_FIELDS: dict[Webhook, tuple[str, ...]] = {
    "validate": ("validations", "auditAnnotations"),
    "mutate": ("mutations", "reinvocationPolicy"),
}
_BINDING = "Binding"


def served_documents(sources: Sources, plan: CrossoverPlan) -> list[JSONObject]:
    """Return the policies that are measured, limited to the namespaces of the run in which policyd
    is called, with the documents that they read, and without the parts that are not measured.
    """
    called = [each for each in plan.arrangements if each.engine == "webhook"]
    namespaces = [each.namespace for each in called]
    chosen = {each.webhook: frozenset(each.policies) for each in called if each.webhook}
    found: list[JSONObject] = [*plan.namespaces]
    for document in sources.documents:
        if document.kind in ("PolicyTest", "Rollout"):
            continue  # what is measured is enforced everywhere
        raw = _measured(document, chosen) if document.is_policy else document.raw
        held = limited(raw, namespaces) if raw is not None else None
        if held is not None:
            found.append(held)
    return found


def webhook_configurations(
    policies: CompiledPolicySet, plan: CrossoverPlan, options: RenderOptions
) -> list[JSONObject]:
    """Return the configurations with which policyd is called for the policies of
    ``served_documents``, in the namespaces of the run and nowhere else.

    A call that fails is an error of the request (failurePolicy Fail), or it would not be noticed.
    """
    found = []
    for each in render(policies, options):
        for webhook in WEBHOOKS:
            arrangement = plan.of(webhook)
            if arrangement is not None and each["kind"] == KINDS[webhook]:
                held = [*_held(each["webhooks"], arrangement.namespace)]
                metadata = {"name": plan.name, "labels": {LABEL: plan.run}}
                found.append({**each, "metadata": metadata, "webhooks": held})
    wrong = [f"{each['kind']}: {problem}" for each in found for problem in problems(each)]
    if wrong:
        raise ConfigError("the API server would refuse this:\n  " + "\n  ".join(wrong))
    return found


def _measured(document: Document, chosen: dict[Webhook, frozenset[str]]) -> JSONObject | None:
    """Return a policy or binding with what is measured of it; None if that is nothing."""
    raw = document.raw
    if document.kind == "Policy":
        parts = [webhook for webhook in WEBHOOKS if document.name in chosen.get(webhook, ())]
        dropped = [f for webhook in WEBHOOKS if webhook not in parts for f in _FIELDS[webhook]]
        spec = {key: value for key, value in raw["spec"].items() if key not in dropped}
        return {**raw, "spec": spec} if parts else None
    webhook: Webhook = "validate" if document.kind.startswith("Validating") else "mutate"
    bound = document.kind.endswith(_BINDING)
    name = raw["spec"]["policyName"] if bound else document.name
    return raw if name in chosen.get(webhook, ()) else None


def _held(webhooks: Iterable[JSONObject], namespace: str) -> Iterator[JSONObject]:
    for each in webhooks:
        yield {
            **each,
            "failurePolicy": "Fail",
            "rules": namespaced_rules(each["rules"]),
            "namespaceSelector": namespace_selector([namespace]),
        }
    # Refuses the marker object without a call: its matchCondition fails.
    yield {
        **{key: each[key] for key in ("admissionReviewVersions", "clientConfig", "sideEffects")},
        "name": "marker.crossover.policyd.dev",
        "failurePolicy": "Fail",
        "rules": [MARKER_RULE],
        "matchConditions": list(MARKER_CONDITIONS),
        **marker_match(namespace),
    }
