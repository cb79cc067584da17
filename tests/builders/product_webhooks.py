"""Webhook configurations in the style of well-known products, and of those who write odd ones. No
tests here.

Each webhook is called at ``URL/CONFIGURATION/WEBHOOK``, so that a server can tell them apart.
"""

from collections.abc import Iterator
from pathlib import Path

import yaml

from policyd.json_types import JSONObject

# By kind and name: their webhooks by name.
CONFIGURATIONS: dict[str, dict[str, dict[str, JSONObject]]] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text()
)


def configurations(url: str, authority: str) -> Iterator[JSONObject]:
    """Yield them all; their webhooks are at ``url``."""
    for kind, listed in CONFIGURATIONS.items():
        for name, hooks in listed.items():
            yield {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"{kind}WebhookConfiguration",
                "metadata": {"name": name},
                "webhooks": [
                    {
                        "name": hook,
                        "admissionReviewVersions": ["v1"],
                        "sideEffects": "None",
                        "timeoutSeconds": 10,
                        "clientConfig": {"url": f"{url}/{name}/{hook}", "caBundle": authority},
                        **fields,
                    }
                    for hook, fields in hooks.items()
                ],
            }
