"""Renders webhook configurations from policies: one webhook for each of their failurePolicies.

    options = RenderOptions(service=ServiceAddress("policyd", "policyd"))
    for configuration in render(policies, options):
        ...

There are never two webhooks for one failurePolicy: each call evaluates all policies of its path, so
a second one would evaluate them twice. Its timeout is the options' timeout, or the longest timeout
of a policy plus MARGIN seconds, at most MAX_TIMEOUT.
"""

import math
from collections.abc import Sequence

from policyd._core.match.labels import NAMESPACE_NAME
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.ownership import LABELS
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook
from policyd.webhooks.configuration_paths import API_VERSION
from policyd.webhooks.needs.selectors import ALL, Allowed, LabelSelection, hull, selector
from policyd.webhooks.needs.targets import RequestTarget
from policyd.webhooks.needs.webhook_needs import Shared, WebhookNeed, needs_of
from policyd.webhooks.rendering.conditions import MOST, derived
from policyd.webhooks.rendering.edit_webhook import gate
from policyd.webhooks.rendering.merged_rules import rules_of
from policyd.webhooks.rendering.options import RenderOptions, client_config
from policyd.webhooks.rendering.policy_conditions import passed

KINDS: dict[Webhook, str] = {
    "mutate": "MutatingWebhookConfiguration",
    "validate": "ValidatingWebhookConfiguration",
}
NODE_LEASES = "kube-node-lease"  # the namespace of the heartbeats of nodes
MARGIN = 1  # seconds for the way to policyd and back
MAX_TIMEOUT = 30  # seconds; the limit of the API server
_LEASES = RequestTarget("UPDATE", "coordination.k8s.io", "*", "leases")


def render(policies: CompiledPolicySet, options: RenderOptions) -> list[JSONObject]:
    """Return the configurations that the policies need: none, one, or one of each kind.

    The same policies and options give the same configurations. Raises ConfigError for options that
    the API server would refuse.
    """
    _check(options)
    needs, shared = needs_of(policies), Shared.of(policies.equivalents)
    found: list[JSONObject] = []
    for webhook, kind in KINDS.items():
        webhooks = []
        for fail in (True, False):
            group = [n for n in needs if n.webhook == webhook and n.policy.fail is fail]
            if group:
                webhooks.append(_webhook(webhook, fail, group, shared, options))
        if webhook == "validate" and options.policy_configmaps:
            webhooks.append(gate(options))
        if webhooks:
            found.append(_configuration(kind, options.name, webhooks))
    return found


def _check(options: RenderOptions) -> None:
    if (options.service is None) == (not options.url):
        raise ConfigError("give either the Service of policyd or its URL")
    if not 1 <= options.timeout <= MAX_TIMEOUT:
        raise ConfigError(f"the timeout is {options.timeout} s; webhooks have 1 to {MAX_TIMEOUT} s")


def _configuration(kind: str, name: str, webhooks: list[JSONObject]) -> JSONObject:
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {"name": name, "labels": dict(LABELS)},
        "webhooks": webhooks,
    }


def _webhook(
    webhook: Webhook,
    fail: bool,
    needs: Sequence[WebhookNeed],
    shared: Shared,
    options: RenderOptions,
) -> JSONObject:
    end = "fail" if fail else "ignore"
    targets = [target for need in needs for target in need.targets]
    found: JSONObject = {
        "name": f"{webhook}-{end}.policyd.dev",
        "admissionReviewVersions": ["v1"],
        "clientConfig": client_config(options, f"/{webhook}/{end}"),
        "failurePolicy": "Fail" if fail else "Ignore",
        "matchPolicy": "Equivalent" if any(need.equivalent for need in needs) else "Exact",
        "sideEffects": "None",
        "timeoutSeconds": _timeout(needs, options),
    }
    if webhook == "mutate":
        again = any(need.policy.reinvoke for need in needs)
        found["reinvocationPolicy"] = "IfNeeded" if again else "Never"
    found["rules"] = rules_of(targets)
    found["namespaceSelector"] = selector(_namespaces(needs, options))
    found["objectSelector"] = selector(hull([need.objects for need in needs]))
    conditions = list(derived(needs, shared))[:MOST]
    own = list(passed(needs, shared))
    if len(conditions) + len(own) <= MOST:
        conditions += own
    if conditions:
        found["matchConditions"] = [
            {"name": each.name, "expression": each.expression} for each in conditions
        ]
    return found


def _timeout(needs: Sequence[WebhookNeed], options: RenderOptions) -> int:
    longest = max(need.policy.timeout_ns for need in needs) / 1e9
    wanted = math.ceil(longest) + MARGIN if longest else 0
    return min(MAX_TIMEOUT, max(options.timeout, wanted))


def excluded_namespaces(needs: Sequence[WebhookNeed], options: RenderOptions) -> set[str]:
    """Return the namespaces whose objects a webhook of these needs never receives."""
    excluded = {*filter(None, (*options.excluded_namespaces, options.namespace))}
    if any(target.meet(_LEASES, versions=False) for need in needs for target in need.targets):
        excluded.add(NODE_LEASES)  # or nodes would be lost while policyd does not answer
    return excluded


def _namespaces(needs: Sequence[WebhookNeed], options: RenderOptions) -> LabelSelection:
    """Return the namespaces that some policy selects, without the excluded ones."""
    excluded = excluded_namespaces(needs, options)
    found = dict(hull([need.namespaces for need in needs]))
    if excluded:
        others = Allowed(frozenset(excluded), others=True, absent=True)
        found[NAMESPACE_NAME] = found.get(NAMESPACE_NAME, ALL) & others
    return found
