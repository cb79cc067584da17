"""Resources of a whole Pod, which Kubernetes before 1.37 derives from its containers; newer
versions do so after admission.
"""

from collections.abc import Mapping
from typing import Any

from policyd.defaulting.rules.quantities import number, plus
from policyd.json_types import JSONObject

_HUGE = "hugepages-"
_Resources = dict[str, str]


def pod_resources(obj: JSONObject) -> None:
    """Complete partial resources."""
    spec: JSONObject = obj["spec"]
    resources: Any = spec.get("resources")
    if resources is None:
        return
    limits: _Resources = dict(resources.get("limits") or {})
    requests: _Resources = dict(resources.get("requests") or {})
    if limits or requests:
        for name, total in _totals(spec, "limits").items():
            if name.startswith(_HUGE) and name not in requests:
                limits.setdefault(name, total)
    if limits:
        resources["limits"] = limits
        for name, total in _totals(spec, "requests").items():
            if name in ("cpu", "memory"):
                requests.setdefault(name, total)
        for name, limit in limits.items():
            if name in ("cpu", "memory") or name.startswith(_HUGE):
                requests.setdefault(name, limit)
    if requests:
        resources["requests"] = requests


def _totals(spec: JSONObject, field: str) -> _Resources:
    """Add up the containers and sidecars; init containers need theirs one after another."""
    total: _Resources = {}
    for each in spec.get("containers") or ():
        _add(total, _of(each, field))
    sidecars: _Resources = {}
    most: _Resources = {}
    for each in spec.get("initContainers") or ():
        own = _of(each, field)
        if each.get("restartPolicy") == "Always":
            _add(total, own)
            _add(sidecars, own)
            needed = dict(sidecars)
        else:
            needed = dict(own)
            _add(needed, sidecars)
        _raise(most, needed)
    _raise(total, most)
    return total


def _of(container: JSONObject, field: str) -> Mapping[str, str]:
    found: Mapping[str, str] = container["resources"].get(field) or {}
    return found


def _add(total: _Resources, more: Mapping[str, str]) -> None:
    for name, quantity in more.items():
        total[name] = plus(total[name], quantity) if name in total else quantity


def _raise(most: _Resources, other: Mapping[str, str]) -> None:
    for name, quantity in other.items():
        if name not in most or number(quantity) > number(most[name]):
            most[name] = quantity
