"""The defaults of webhook configurations, as the API server adds them. Validates nothing."""

from copy import deepcopy

from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.webhooks.validation.decoding import decode
from policyd.webhooks.validation.go_types import MUTATING


def with_defaults(configuration: JSONObject) -> JSONObject:
    """Return a configuration as the API server stores it: with defaults, without nulls, empty lists
    and unknown fields. Raises ConfigError if a field has a wrong type.
    """
    decoded = decode(configuration)
    if decoded.problem is not None and not decoded.readable:
        raise ConfigError(str(decoded.problem))
    return defaulted(decoded.configuration)


def defaulted(configuration: JSONObject) -> JSONObject:
    """Add the defaults to a decoded configuration."""
    result = deepcopy(configuration)
    for webhook in result.get("webhooks", ()):
        webhook.setdefault("clientConfig", {})
        webhook.setdefault("failurePolicy", "Fail")
        webhook.setdefault("matchPolicy", "Equivalent")
        webhook.setdefault("namespaceSelector", {})
        webhook.setdefault("objectSelector", {})
        webhook.setdefault("timeoutSeconds", 10)
        if result["kind"] == MUTATING:
            webhook.setdefault("reinvocationPolicy", "Never")
        for rule in webhook.get("rules", ()):
            rule.setdefault("scope", "*")
        if "service" in webhook["clientConfig"]:
            webhook["clientConfig"]["service"].setdefault("port", 443)
    return result
