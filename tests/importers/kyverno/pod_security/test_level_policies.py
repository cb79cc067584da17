"""`podSecurity` rules become the policies of policies/pod-security, without what they exclude."""

import pytest

from policyd.importers.kyverno.pod_security.level_policies import CHECKS
from policyd.json_types import JSON, JSONObject
from policyd.policy.source.loader import load
from tests.importers.kyverno.classic import (
    CONTAINER,
    allows,
    cluster_policy,
    imported,
    pod_of,
    reason,
    rule_of,
    workload,
)
from tests.shared import ROOT
from tools.make_pod_security import TARGET, text

STRICT: JSONObject = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def standard(level: str = "restricted", *exclude: JSON, version: str = "latest") -> JSONObject:
    found = {"level": level, "version": version, "exclude": list(exclude)}
    return cluster_policy(rule_of({"podSecurity": found}))


def strict(image: str = "nginx", **changed: JSON) -> JSONObject:
    """A Pod that meets the level restricted except for what is changed."""
    context = {name: value for name, value in {**STRICT, **changed}.items() if value is not None}
    return pod_of(containers=[{**CONTAINER, "image": image, "securityContext": context}])


def test_the_policies_of_the_package_are_those_of_the_folder() -> None:
    assert TARGET.read_text() == text()


def test_every_check_has_a_control() -> None:
    documents = load([ROOT / "policies" / "pod-security" / "restricted"]).documents
    policies = [each.raw for each in documents if each.kind == "Policy"]
    names = {each["metadata"]["annotations"]["policyd.dev/pod-security-check"] for each in policies}
    assert names == {check for checks in CHECKS.values() for check in checks}


def test_levels() -> None:
    assert allows(standard(), strict())
    assert not allows(standard(), pod_of())
    assert allows(standard("baseline"), pod_of())
    assert not allows(standard("baseline"), pod_of(hostNetwork=True))
    assert not allows(standard(), workload())


def test_the_rule_is_every_policy() -> None:
    found = imported(standard("baseline"))
    assert found.rules["r"] == tuple(each.name for each in found.documents)
    assert "p-baseline-host-ports" in found.rules["autogen-r"]


def test_versions() -> None:
    escalating = strict(allowPrivilegeEscalation=None)
    assert not allows(standard(version="v1.8"), escalating)
    assert allows(standard(version="v1.7"), escalating)


@pytest.mark.parametrize(
    ("exclude", "obj", "allowed"),
    [
        ([{"controlName": "Capabilities", "images": ["redis*"]}], strict("redis:7", capabilities=None), True),
        ([{"controlName": "Capabilities", "images": ["redis*"]}], strict("nginx", capabilities=None), False),
        ([{"controlName": "Capabilities", "images": ["*"]}], strict("nginx", capabilities=None), True),
        ([{"controlName": "Seccomp"}, {"controlName": "Seccomp", "images": ["*"]}], strict(seccompProfile=None), True),
        ([{"controlName": "Host Namespaces"}], {**strict(), "spec": {**strict()["spec"], "hostNetwork": True}}, True),
        ([{"controlName": "Volume Types"}], {**strict(), "spec": {**strict()["spec"], "volumes": [{"name": "a", "nfs": {}}]}}, True),
        ([{"controlName": "Volume Types"}], {**strict(), "spec": {**strict()["spec"], "volumes": [{"name": "a", "hostPath": {}}]}}, False),
        ([{"controlName": "Running as Non-root user"}], {**strict(), "spec": {**strict()["spec"], "securityContext": {"runAsUser": 0}}}, True),
        ([{"controlName": "Running as Non-root user"}], strict(runAsUser=0), False),
    ],
)  # fmt: skip
def test_exclusions(exclude: list[JSON], obj: JSONObject, allowed: bool) -> None:
    assert not allows(standard(), obj)
    assert allows(standard("restricted", *exclude), obj) is allowed


@pytest.mark.parametrize(
    ("policy", "place"),
    [
        (standard("privileged"), "level"),
        (standard(version="1.8"), "version"),
        (standard("baseline", {"controlName": "Color"}), "exclude[0].controlName"),
        (standard("baseline", {"controlName": "Capabilities"}), "exclude[0]"),
        (standard("baseline", {"controlName": "Sysctls", "images": ["*"]}), "exclude[0]"),
        (standard("restricted", {"controlName": "Seccomp"}), "exclude[0]"),
        (
            standard("baseline", {"controlName": "SELinux", "restrictedField": "spec.a"}),
            "exclude[0].restrictedField",
        ),
    ],
)
def test_what_is_no_whole_control_is_refused(policy: JSONObject, place: str) -> None:
    assert reason(policy).startswith(f"spec.rules[0].validate.podSecurity.{place}:")
