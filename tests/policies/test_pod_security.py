"""The Pod Security policies decide like the checks of Kubernetes whose names they carry."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from policyd import PolicySet
from tests import shared
from tests.shared import ROOT

FOLDER = ROOT / "policies" / "pod-security"
CHECK = "policyd.dev/pod-security-check"

# The test of the newest version of each check, by the check's id. Tests of older versions ask for
# what those versions decided and do not apply.
NEWEST = {
    "allowPrivilegeEscalation": "allowPrivilegeEscalation_1_25",
    "appArmorProfile": "appArmorProfile_1_0",
    "capabilities_baseline": "capabilitiesBaseline_1_0",
    "capabilities_restricted": "capabilitiesRestricted_1_25",
    "hostNamespaces": "hostNamespaces_1_0",
    "hostPathVolumes": "hostPathVolumes_1_0",
    "hostPorts": "hostPorts_1_0",
    "hostProbesAndHostLifecycle": "hostProbesAndHostLifecycleV1Dot34",
    "privileged": "privileged_1_0",
    "procMount": "procMount1_35baseline",
    "procMount_restricted": "procMount_1_0",
    "restrictedVolumes": "restrictedVolumes_1_0",
    "runAsNonRoot": "runAsNonRoot1_35",
    "runAsUser": "runAsUser1_35",
    "seLinuxOptions": "seLinuxOptions1_31",
    "seccompProfile_baseline": "seccompProfileBaseline_1_19",
    "seccompProfile_restricted": "seccompProfileRestricted_1_25",
    "sysctls": "sysctlsV1Dot37",
    "windowsHostProcess": "windowsHostProcess_1_0",
}
# Baseline checks that a restricted one replaces.
OVERRIDDEN = {"capabilities_baseline", "hostPathVolumes", "procMount", "seccompProfile_baseline"}
# The reviews of pods recorded from an API server, by name: these break baseline, …
BASELINE_VIOLATIONS = {
    "ps-bad-apparmor",
    "ps-bad-apparmor-note",
    "ps-bad-cap",
    "ps-bad-cap-all",
    "ps-bad-hostns",
    "ps-bad-hostpath",
    "ps-bad-hostpid",
    "ps-bad-hostport",
    "ps-bad-hostprocess",
    "ps-bad-init",
    "ps-bad-privileged",
    "ps-bad-probe-host",
    "ps-bad-seccomp",
    "ps-bad-selinux-type",
    "ps-bad-selinux-user",
    "ps-bad-sysctl",
}
# … the other ps-bad-* only restricted, and the others neither.

# The part of a detail of Kubernetes that lists containers.
CONTAINERS = re.compile(r'containers? ((?:"[^"]*"(?:, )?)+)')

Deciders = dict[str, PolicySet]


@pytest.fixture(name="checks", scope="module")
def _checks() -> Deciders:
    """One set for each check."""
    found = {}
    for file in sorted(FOLDER.rglob("policy.yaml")):
        annotations = yaml.safe_load(file.read_text(encoding="utf-8"))["metadata"]["annotations"]
        found[annotations[CHECK]] = PolicySet.load([file])
    return found


@pytest.fixture(name="levels", scope="module")
def _levels() -> Deciders:
    return {
        "baseline": PolicySet.load([FOLDER / "baseline"]),
        "restricted": PolicySet.load([FOLDER]),
    }


def level(check: str) -> str:
    for file in FOLDER.rglob("policy.yaml"):
        if f"{CHECK}: {check}\n" in file.read_text(encoding="utf-8"):
            return file.parent.parent.name
    raise LookupError(check)


def review(pod: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    """The AdmissionReview that creates a pod (or updates it, with an old one)."""
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    request = {
        "uid": "0",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": "web",
        "namespace": "default",
        "operation": "UPDATE" if old else "CREATE",
        "userInfo": {"username": "someone"},
        "object": pod,
        "oldObject": old,
        "dryRun": False,
        "options": None,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def complete(pod: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, **pod}


def answer(policies: PolicySet, pod: dict[str, Any]) -> dict[str, Any]:
    response: dict[str, Any] = policies.review(review(complete(pod)))["response"]
    return response


def test_every_check_has_its_policy(checks: Deciders) -> None:
    assert checks.keys() == NEWEST.keys()


def test_the_checks_of_kubernetes_decide_alike(checks: Deciders) -> None:
    rows = shared.conformance("pod-security/check-tests.jsonl")
    by_function = {function: check for check, function in NEWEST.items()}
    applicable = [row for row in rows if row["check_func"] in by_function]
    wrong = [
        (row["check_func"], row["name"], row["detail"])
        for row in applicable
        if answer(checks[by_function[row["check_func"]]], row["pod"])["allowed"] != row["allowed"]
    ]
    print(f"{len(applicable) - len(wrong)} passed of {len(applicable)}")
    assert wrong == []
    assert {row["check_func"] for row in applicable} == set(NEWEST.values())


def test_denials_name_every_container_that_kubernetes_names(checks: Deciders) -> None:
    by_function = {function: check for check, function in NEWEST.items()}
    for row in shared.conformance("pod-security/check-tests.jsonl"):
        check = by_function.get(row["check_func"])
        if not check or row["allowed"]:
            continue
        status = answer(checks[check], row["pod"])["status"]
        told = " ".join(cause["message"] for cause in status["details"]["causes"])
        assert "no such" not in told
        named = re.findall(r'"([^"]+)"', " ".join(CONTAINERS.findall(row["detail"])))
        words = re.split(r"[ ,:]+", told)
        assert [name for name in named if name not in words] == [], told


def newest_fixtures() -> Iterator[dict[str, Any]]:
    rows = shared.conformance("pod-security/baseline-fixtures.jsonl")
    newest = max(row["minor"] for row in rows)
    return (row for row in rows if row["minor"] == newest)


def test_fixtures_of_the_baseline_level_decide_alike(checks: Deciders, levels: Deciders) -> None:
    by_control = {check.lower(): check for check in checks}
    count = 0
    for row in newest_fixtures():
        expected = row["expect"] == "pass"
        assert answer(levels["baseline"], row["object"])["allowed"] is expected, row["file"]
        if row["control"] in by_control:
            check = checks[by_control[row["control"]]]
            assert answer(check, row["object"])["allowed"] is expected, row["file"]
        count += 1
    print(f"{count} passed of {count}")
    assert count


def test_recorded_pods_are_judged_by_level(levels: Deciders) -> None:
    """Reviews as an API server sent them: defaults filled in, managed fields, extra metadata."""
    count = 0
    for row in shared.reviews():
        name = row["review"]["request"].get("name", "")
        if row["path"] != "validate" or not name.startswith(("ps-ok", "ps-bad")):
            continue
        kept = {each: levels[each].review(row["review"])["response"]["allowed"] for each in levels}
        assert kept == {
            "baseline": name not in BASELINE_VIOLATIONS,
            "restricted": name.startswith("ps-ok"),
        }, name
        count += 1
    print(f"{count} passed of {count}")
    assert count


def test_replaced_checks_are_the_weaker_ones(checks: Deciders) -> None:
    """With both folders loaded, a pod is admitted exactly when the restricted level admits it."""
    rows = [row["pod"] for row in shared.conformance("pod-security/check-tests.jsonl")]
    rows += [row["object"] for row in newest_fixtures()]
    stricter = {
        "capabilities_baseline": "capabilities_restricted",
        "hostPathVolumes": "restrictedVolumes",
        "procMount": "procMount_restricted",
        "seccompProfile_baseline": "seccompProfile_restricted",
    }
    assert stricter.keys() == OVERRIDDEN
    for weak, strict in stricter.items():
        for pod in rows:
            if answer(checks[strict], pod)["allowed"]:
                assert answer(checks[weak], pod)["allowed"], (weak, pod)


EDGES: list[dict[str, Any]] = [
    {},
    {"spec": {}},
    {"spec": None, "metadata": None},
    {"spec": {"containers": None, "initContainers": None, "volumes": None, "hostNetwork": None}},
    {"spec": {"containers": [{"securityContext": None, "ports": None, "lifecycle": None}]}},
    {"spec": {"containers": [], "securityContext": {"sysctls": None, "seLinuxOptions": None}}},
]


@pytest.mark.parametrize("pod", EDGES)
def test_no_expression_ends_with_an_error(checks: Deciders, pod: dict[str, Any]) -> None:
    """What is missing or null breaks only rules that ask for it, and is no error anywhere."""
    asking = {"allowPrivilegeEscalation", "capabilities_restricted", "runAsNonRoot"}
    asking.add("seccompProfile_restricted")
    for check, policies in checks.items():
        response = answer(policies, pod)
        if check not in asking or not (pod.get("spec") or {}).get("containers"):
            assert response["allowed"], (check, response)
        else:
            assert "no such" not in response["status"]["message"]


def test_levels_are_folders() -> None:
    assert {level(check) for check in NEWEST} == {"baseline", "restricted"}
    assert len(list(Path(FOLDER, "baseline").iterdir())) == 12
    assert len(list(Path(FOLDER, "restricted").iterdir())) == 7
