"""Kubernetes objects: Pods, Deployments, ConfigMaps, and the definition of a custom resource."""

from collections.abc import Mapping

from policyd.json_types import JSON, JSONObject

PRIVILEGED: JSONObject = {"securityContext": {"privileged": True}}


def metadata(
    name: str,
    namespace: str | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> JSONObject:
    """The object's metadata; fields with the value None are left out."""
    fields = {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}
    return {key: value for key, value in fields.items() if value is not None}


def container(name: str = "app", image: str = "app:1", **fields: JSON) -> JSONObject:
    """One item of ``containers``."""
    return {"name": name, "image": image, **fields}


def pod(
    *containers: JSONObject,
    name: str = "web",
    namespace: str | None = "shop",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: JSON,
) -> JSONObject:
    """A Pod, with one container by default."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(name, namespace, labels, annotations),
        "spec": {"containers": list(containers or [container()]), **spec},
    }


def deployment(
    *containers: JSONObject, name: str = "web", namespace: str | None = "shop", **spec: JSON
) -> JSONObject:
    """A Deployment of such Pods, labelled ``app`` with its name."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod(*containers, **spec)["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(name, namespace),
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }


def config_map(
    name: str = "settings", namespace: str | None = "shop", data: Mapping[str, str] | None = None
) -> JSONObject:
    """A ConfigMap."""
    head = {"apiVersion": "v1", "kind": "ConfigMap"}
    return {**head, "metadata": metadata(name, namespace), "data": dict(data or {})}


def definition(kind: str, group: str, schema: JSONObject, **spec: JSON) -> JSONObject:
    """A CustomResourceDefinition with one version, ``v1``; the plural is the kind with an ``s``."""
    plural = f"{kind.lower()}s"
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [version],
            **spec,
        },
    }


def widget_definition(group: str = "e2e.policyd.dev") -> JSONObject:
    """The CustomResourceDefinition of Widgets: a colour, and parts merged by name."""
    string = {"type": "string"}
    part = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": string, "size": {"type": "integer"}},
    }
    parts = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": part,
    }
    schema = {"type": "object", "properties": {"colour": string, "parts": parts}}
    return definition("Widget", group, schema)


def gadget_definition() -> JSONObject:
    """The CustomResourceDefinition of Gadgets, with fields of open schema; ``v0`` is not served."""
    opened = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "x-kubernetes-preserve-unknown-fields": True,
    }
    fields = {
        "size": {"type": "integer"},
        "port": {"x-kubernetes-int-or-string": True},
        "open": opened,
        "template": {"type": "object", "x-kubernetes-embedded-resource": True},
    }
    made = definition("Gadget", "example.com", {"type": "object", "properties": fields})
    made["spec"]["versions"].append({"name": "v0", "served": False})
    return made
