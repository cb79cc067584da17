"""Leave out of bindings the namespaces for whose objects no webhook is called: the API server must
not enforce a policy where the webhook would not. No I/O.

A namespaceSelector of a binding means what one of a webhook does: it never skips a cluster-scoped
object, except a Namespace, by its own labels.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from policyd.export.model import ExportedPart, ExportedPolicy
from policyd.json_types import JSONObject
from policyd.placement.placed_documents import is_binding
from policyd.placement.placement import PolicyPart
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.webhooks.needs.webhook_needs import WebhookNeed, needs_of
from policyd.webhooks.rendering.configurations import NAMESPACE_NAME, excluded_namespaces
from policyd.webhooks.rendering.options import RenderOptions


class ExcludedNamespaces:
    """The namespaces that webhooks for these policies leave out. Of the options only ``namespace``
    and ``excluded_namespaces`` count.
    """

    def __init__(self, policies: CompiledPolicySet, options: RenderOptions) -> None:
        self._options = options
        self._needs: dict[PolicyPart, list[WebhookNeed]] = {}
        for need in needs_of(policies):
            self._needs.setdefault((need.policy.name, need.webhook), []).append(need)

    def of(self, part: PolicyPart) -> frozenset[str]:
        """Return those of one part of a policy."""
        return frozenset(excluded_namespaces(self._needs.get(part, ()), self._options))

    def left_out(self, exports: Iterable[ExportedPolicy]) -> tuple[ExportedPolicy, ...]:
        """Return the exports with bindings that leave them out."""
        return tuple(
            replace(each, parts=tuple(self._part(each.name, part) for part in each.parts))
            for each in exports
        )

    def _part(self, policy: str, part: ExportedPart) -> ExportedPart:
        excluded = self.of((policy, part.webhook))
        documents = tuple(_leaving_out(each, excluded) for each in part.documents)
        return replace(part, documents=documents)


def _leaving_out(document: JSONObject, excluded: Collection[str]) -> JSONObject:
    if not excluded or not is_binding(document["kind"]):
        return document
    match = document["spec"].get("matchResources") or {}
    selector = match.get("namespaceSelector") or {}
    others = {"key": NAMESPACE_NAME, "operator": "NotIn", "values": sorted(excluded)}
    expressions = [*(selector.get("matchExpressions") or ()), others]
    selector = {**selector, "matchExpressions": expressions}
    match = {**match, "namespaceSelector": selector}
    return {**document, "spec": {**document["spec"], "matchResources": match}}
