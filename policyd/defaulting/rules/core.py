"""Defaults of the core group, without Pods and volumes."""

import base64
from typing import Any

from policyd._core.match.labels import NAMESPACE_NAME
from policyd.json_types import JSON, JSONObject

_CORE = "io.k8s.api.core.v1."
_EXTERNAL = ("NodePort", "LoadBalancer")
_CLIENT_IP_SECONDS = 10800


def service(obj: JSONObject) -> None:
    """Session affinity, traffic policies and target ports."""
    spec: JSONObject = obj["spec"]
    spec["sessionAffinity"] = spec.get("sessionAffinity") or "None"
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        config: Any = spec.get("sessionAffinityConfig") or {}
        if (config.get("clientIP") or {}).get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _CLIENT_IP_SECONDS}}
    form = spec["type"] = spec.get("type") or "ClusterIP"
    for port in spec.get("ports") or ():
        port["protocol"] = port.get("protocol") or "TCP"
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port") or 0
    external = form in _EXTERNAL or (form == "ClusterIP" and spec.get("externalIPs"))
    if external and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if form in (*_EXTERNAL, "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if form == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for each in obj["status"]["loadBalancer"].get("ingress") or ():
            if each.get("ip"):
                each.setdefault("ipMode", "VIP")


def secret(obj: JSONObject) -> None:
    """``stringData`` becomes part of ``data``."""
    texts = obj.pop("stringData", None)
    if texts:
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}


def config_map(obj: JSONObject) -> None:
    if obj.get("data") is None:
        obj["data"] = {}


def namespace(obj: JSONObject) -> None:
    """Sets the label with the name, even over another value."""
    metadata: JSONObject = obj["metadata"]
    if metadata.get("name"):
        labels = metadata.get("labels") or {}
        metadata["labels"] = {**labels, NAMESPACE_NAME: metadata["name"]}


def persistent_volume(obj: JSONObject) -> None:
    """Not for the same struct in a VolumeAttachment."""
    spec: JSONObject = obj["spec"]
    reclaimed = spec.get("persistentVolumeReclaimPolicy") or "Retain"
    spec["persistentVolumeReclaimPolicy"] = reclaimed
    spec.setdefault("volumeMode", "Filesystem")


def node_spec(obj: JSONObject) -> None:
    """The network and the list of networks agree."""
    first, listed = obj.get("podCIDR"), obj.get("podCIDRs")
    if first and (not listed or listed[0] != first):
        obj["podCIDRs"] = [first]
    elif listed:
        obj["podCIDR"] = listed[0]


def node_status(obj: JSONObject) -> None:
    if obj.get("allocatable") is None and obj.get("capacity") is not None:
        obj["allocatable"] = dict(obj["capacity"])


def limit_range_item(obj: JSONObject) -> None:
    """Limits default to the maximum, requests to the limits and then to the minimum."""
    if obj.get("type") == "Container":
        limits = obj["default"] = {**(obj.get("max") or {}), **(obj.get("default") or {})}
        requests: JSONObject = obj.get("defaultRequest") or {}
        obj["defaultRequest"] = {**(obj.get("min") or {}), **limits, **requests}


def replication_controller(obj: JSONObject) -> None:
    """Selector and labels are the template's."""
    labels: JSON = (obj["spec"].get("template") or {"metadata": {}})["metadata"].get("labels")
    if labels is not None:
        obj["spec"]["selector"] = obj["spec"].get("selector") or labels
        obj["metadata"]["labels"] = obj["metadata"].get("labels") or labels


FUNCTIONS = {
    _CORE + "Service": (service,),
    _CORE + "Secret": (secret,),
    _CORE + "ConfigMap": (config_map,),
    _CORE + "Namespace": (namespace,),
    _CORE + "PersistentVolume": (persistent_volume,),
    _CORE + "NodeSpec": (node_spec,),
    _CORE + "NodeStatus": (node_status,),
    _CORE + "LimitRangeItem": (limit_range_item,),
    _CORE + "ReplicationController": (replication_controller,),
}
