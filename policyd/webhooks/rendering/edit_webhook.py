"""The gate: the webhook that checks edits of the ConfigMaps with policies. Only its JSON."""

from policyd._core.match.labels import NAMESPACE_NAME
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.option_values import selector_terms
from policyd.webhooks.configuration_paths import EDIT_PATH
from policyd.webhooks.rendering.options import RenderOptions, client_config

GATE = "policies.policyd.dev"


def gate(options: RenderOptions) -> JSONObject:
    """Return the webhook for the ConfigMaps with policies in policyd's own namespace.

    It fails open: without policyd, edits that fix a problem must be possible, and the deletion of a
    namespace must complete. ConfigMaps of other namespaces are never sent, regardless of labels.
    """
    if not options.namespace:
        raise ConfigError("the webhook for ConfigMaps with policies needs policyd's own namespace")
    return {
        "name": GATE,
        "admissionReviewVersions": ["v1"],
        "clientConfig": client_config(options, EDIT_PATH),
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": options.timeout,
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE", "DELETE"],
                "resources": ["configmaps"],
                "scope": "Namespaced",
            }
        ],
        "namespaceSelector": {"matchLabels": {NAMESPACE_NAME: options.namespace}},
        "objectSelector": label_selector(options.policy_configmaps),
    }


def label_selector(text: str) -> JSONObject:
    """Return the LabelSelector of a selector in kubectl's syntax: ``a=b,c in (d,e),!f``."""
    try:
        terms = selector_terms(text)["matchExpressions"]
    except ValueError as error:
        raise ConfigError(f"{text!r} selects no ConfigMaps: expected {error}") from None
    labels: dict[str, str] = {}
    expressions: list[JSONObject] = []
    for term in terms:
        one = term["operator"] == "In" and len(term["values"]) == 1
        if one and term["key"] not in labels:
            labels[term["key"]] = term["values"][0]
        else:
            expressions.append(term)
    selector: JSONObject = {"matchLabels": labels} if labels else {}
    return selector | ({"matchExpressions": expressions} if expressions else {})
