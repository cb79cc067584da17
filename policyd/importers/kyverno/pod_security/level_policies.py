"""A `podSecurity` rule as the policies of its level, without what it excludes."""

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from policyd.importers.jmespath.cel import negated
from policyd.importers.jmespath.globs import among
from policyd.importers.model import Refused
from policyd.json_types import JSON, JSONObject

# The controls of the Pod Security Standards by Kyverno's names, and the checks of each (kyverno
# pkg/pss/utils/mapping.go).
CHECKS = {
    "Capabilities": ("capabilities_baseline", "capabilities_restricted"),
    "Seccomp": ("seccompProfile_baseline", "seccompProfile_restricted"),
    "Privileged Containers": ("privileged",),
    "Host Ports": ("hostPorts",),
    "/proc Mount Type": ("procMount", "procMount_restricted"),
    "Host Probes / Lifecycle Hooks": ("hostProbesAndHostLifecycle",),
    "HostProcess": ("windowsHostProcess",),
    "SELinux": ("seLinuxOptions",),
    "Host Namespaces": ("hostNamespaces",),
    "HostPath Volumes": ("hostPathVolumes",),
    "Sysctls": ("sysctls",),
    "AppArmor": ("appArmorProfile",),
    "Privilege Escalation": ("allowPrivilegeEscalation",),
    "Running as Non-root": ("runAsNonRoot",),
    "Running as Non-root user": ("runAsUser",),
    "Volume Types": ("restrictedVolumes",),
}
# Controls about the Pod only, and about its containers only; all others are about both.
OF_PODS = frozenset({"Host Namespaces", "HostPath Volumes", "Sysctls", "Volume Types"})
OF_CONTAINERS = frozenset(
    {
        "Capabilities",
        "Privileged Containers",
        "Host Ports",
        "/proc Mount Type",
        "Privilege Escalation",
        "Host Probes / Lifecycle Hooks",
    }
)
# Checks of the level restricted that are stricter than one of baseline: only they count.
REPLACED = {
    "capabilities_restricted": "capabilities_baseline",
    "procMount_restricted": "procMount",
    "seccompProfile_restricted": "seccompProfile_baseline",
    "restrictedVolumes": "hostPathVolumes",
}


_ANNOTATION = "policyd.dev/pod-security-check"
_FIELDS = ("description", "params", "matchConditions", "variables", "validations")
_VERSION = re.compile(r"v1\.\d{1,3}")
_POD = "[object.?spec.orValue({})] + variables.containers"


@dataclass(frozen=True, slots=True)
class _Exclusion:
    """The exemptions: the fields of the Pod itself, and containers by their images."""

    path: str
    pod: bool = False
    images: tuple[str, ...] = ()

    def joined(self, other: "_Exclusion") -> "_Exclusion":
        return _Exclusion(other.path, self.pod or other.pod, (*self.images, *other.images))


def checks(validate: JSONObject, path: str) -> dict[str, JSONObject]:
    """Return the checks of a rule's level and version, by the names of policyd's policies: specs
    without matchConstraints and actions. ``path`` is the path of ``validate``.

    Raises Refused for exclusions of single fields or values.
    """
    rule, at = validate["podSecurity"], f"{path}.podSecurity"
    level, version = rule.get("level"), str(rule.get("version") or "latest")
    if level not in ("baseline", "restricted"):
        raise Refused(f"{at}.level", "the level is baseline or restricted")
    if version != "latest" and _VERSION.fullmatch(version) is None:
        raise Refused(f"{at}.version", f"{version} is no version: latest, or one such as v1.25")
    excluded = _exclusions(rule.get("exclude") or [], f"{at}.exclude")
    found: dict[str, JSONObject] = {}
    for check, policy in _of_level(level, excluded):
        spec = _spec(policy["spec"], version)
        exclusion = excluded.get(check)
        if exclusion is None or _exclude(spec, check, exclusion):
            found[policy["metadata"]["name"]] = spec
    return found


def _of_level(level: str, excluded: Mapping[str, _Exclusion]) -> Iterator[tuple[str, JSONObject]]:
    policies = {
        each["policy"]["metadata"]["annotations"][_ANNOTATION]: each["policy"]
        for each in _standards()
        if level == "restricted" or each["level"] == "baseline"
    }
    replaced = {
        weaker
        for name, weaker in REPLACED.items()
        if name in policies and excluded.get(name) == excluded.get(weaker)
    }
    yield from ((name, policy) for name, policy in policies.items() if name not in replaced)


@functools.cache
def _standards() -> list[dict[str, Any]]:
    file = resources.files("policyd.importers.kyverno.pod_security") / "standards.json"
    found: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _spec(spec: JSONObject, version: str) -> JSONObject:
    kept: JSONObject = {name: spec[name] for name in _FIELDS if name in spec}
    return {**kept, "params": {"version": version}} if "params" in kept else kept


def _exclusions(entries: list[JSON], path: str) -> dict[str, _Exclusion]:
    found: dict[str, _Exclusion] = {}
    for index, each in enumerate(entries):
        at = f"{path}[{index}]"
        for name in each:
            if name not in ("controlName", "images"):
                raise Refused(f"{at}.{name}", "a control is excluded as a whole, or for images")
        control = str(each.get("controlName"))
        if control not in CHECKS:
            raise Refused(f"{at}.controlName", f"{control} is no control of the standards")
        images = tuple(each.get("images") or ())
        if bool(images) != (control in OF_CONTAINERS) and control in OF_CONTAINERS | OF_PODS:
            level = "Pod" if control in OF_PODS else "containers: name images"
            raise Refused(at, f"{control} is about the {level}")
        one = _Exclusion(at, not images, images)
        for check in CHECKS[control]:
            found[check] = found[check].joined(one) if check in found else one
    return found


def _exclude(spec: JSONObject, check: str, exclusion: _Exclusion) -> bool:
    """Take what is excluded out of the spec of a check; return whether anything is left of it."""
    control = next(name for name, listed in CHECKS.items() if check in listed)
    pod = exclusion.pod or control in OF_CONTAINERS
    if pod and ("*" in exclusion.images or control in OF_PODS):
        return False
    variables = [dict(each) for each in spec["variables"]]
    for each in variables:
        if each["name"] == "containers" and exclusion.images:
            test = negated(among("c.?image.orValue('')", exclusion.images))
            each["expression"] = f"({each['expression']})\n.filter(c, {test.text})"
    if exclusion.pod:
        setters = [each for each in variables if each["expression"] == _POD]
        if not setters:
            raise Refused(
                exclusion.path,
                "what a container inherits from its Pod cannot be excluded without the container: "
                "exclude it for images, too",
            )
        setters[0]["expression"] = "variables.containers"
    spec["variables"] = variables
    return True
