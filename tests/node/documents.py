"""The documents that the scenarios give to the cluster. No tests here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from policyd.json_types import JSONObject

# File names and texts, as in the data of a ConfigMap.
POLICIES = {"shop.yaml": Path(__file__).with_name("policies").joinpath("shop.yaml").read_text()}
SHOP = "shop"


def container(**changed: Any) -> JSONObject:
    """A container that sleeps until it is told to end."""
    return {
        "name": "c",
        "image": "busybox:node",
        "command": ["sh", "-c", "trap exit TERM; sleep 3600 & wait"],
        **changed,
    }


def plain_pod(
    name: str, namespace: str = "default", labels: dict[str, str] | None = None, **spec: Any
) -> JSONObject:
    """A Pod that every policy admits, unless ``spec`` changes that."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {**(labels or {})}},
        "spec": {"containers": [container()], **spec},
    }


def shop_pod(name: str, **spec: Any) -> JSONObject:
    """A Pod of the namespace shop with the label that its policies want."""
    return plain_pod(name, SHOP, {"team": "checkout"}, **spec)


def data(
    name: str,
    values: Mapping[str, str],
    namespace: str = SHOP,
    labels: dict[str, str] | None = None,
) -> JSONObject:
    """A ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": {**(labels or {})}},
        "data": {**values},
    }


def forbidden(*images: str) -> str:
    """The text of a policy that forbids images in Pods."""
    return f"""\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {{name: forbidden-images}}
spec:
  matchConstraints:
    resourceRules:
    - {{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}}
  validations:
  - expression: "object.spec.containers.all(c, !(c.image in {list(images)}))"
    message: the image is forbidden
"""


def web(replicas: int = 1) -> JSONObject:
    """A Deployment of the namespace shop."""
    labels = {"app": "web", "team": "checkout"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": SHOP},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {**labels}}, "spec": {"containers": [container()]}},
        },
    }


def widgets() -> JSONObject:
    """The definition of a kind with two versions, of which one is stored."""
    size = {"type": "object", "properties": {"size": {"type": "integer"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": size}}}
    versions = [
        {"name": name, "served": True, "storage": name == "v2", "schema": schema}
        for name in ("v1", "v2")
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": versions,
        },
    }


def widget(version: str, size: int) -> JSONObject:
    return {
        "apiVersion": f"example.com/{version}",
        "kind": "Widget",
        "metadata": {"name": f"size-{size}", "namespace": SHOP},
        "spec": {"size": size},
    }
