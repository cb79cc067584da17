"""Render policies for the tests of this folder. No tests here."""

from typing import Any

from policyd.json_types import JSONObject
from policyd.webhooks.rendering.configurations import render
from policyd.webhooks.rendering.options import RenderOptions, ServiceAddress
from tests.policy_sets import compiled

OPTIONS = RenderOptions(service=ServiceAddress("policyd", "policyd"), namespace="policyd")


def rendered(*documents: JSONObject, **options: Any) -> dict[str, JSONObject]:
    """Return the webhooks by name."""
    given = RenderOptions(**{"service": OPTIONS.service, "namespace": "policyd", **options})
    return {
        webhook["name"]: webhook
        for configuration in render(compiled(*documents), given)
        for webhook in configuration["webhooks"]
    }


def only(*documents: JSONObject, **options: Any) -> JSONObject:
    """Return the only webhook."""
    (webhook,) = rendered(*documents, **options).values()
    return webhook


def short(webhook: JSONObject) -> list[str]:
    """Return the rules in one line each."""
    return [
        f"{'|'.join(each['operations'])} {'|'.join(each['resources'])}"
        f".{'|'.join(each['apiGroups'])}/{'|'.join(each['apiVersions'])}"
        + ("" if each["scope"] == "*" else f" {each['scope']}")
        for each in webhook["rules"]
    ]
