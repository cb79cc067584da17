"""The Pod Security policies decide like the checks of Kubernetes whose names they carry."""

import re
from typing import Any

import pytest
import yaml

from policyd import PolicySet
from policyd.policy.suite.reviews import build_review
from tests import shared
from tests.policies.pod_security import (
    CHECK,
    CHECKS,
    FOLDER,
    FUNCTIONS,
    LATEST,
    NEWEST_MINOR,
    UNRECORDED,
    Deciders,
    Pinned,
    answer,
    complete,
)

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


@pytest.fixture(name="pinned", scope="module")
def _pinned(tmp_path_factory: pytest.TempPathFactory) -> Pinned:
    return Pinned(tmp_path_factory.mktemp("versions"))


@pytest.fixture(name="checks", scope="module")
def _checks(pinned: Pinned) -> Deciders:
    """One set for each check."""
    return {check: pinned.check(check) for check in sorted(CHECKS)}


@pytest.fixture(name="levels", scope="module")
def _levels() -> Deciders:
    return {each: PolicySet.load([FOLDER / each]) for each in ("baseline", "restricted")}


def test_every_check_has_its_policy_that_tells_its_versions() -> None:
    annotated = [
        yaml.safe_load(file.read_text(encoding="utf-8"))["metadata"]["annotations"]
        for file in FOLDER.rglob("policy.yaml")
    ]
    told = {each[CHECK]: each["policyd.dev/pod-security-versions"] for each in annotated}
    assert len(annotated) == len(CHECKS)
    assert told == {
        check: ", ".join(f"v1.{first}" for _, each, first, _ in FUNCTIONS if each == check)
        for check in CHECKS
    }


def versions(first: int, last: int | None) -> list[str]:
    """The versions to try for a function: its first, its last, and what it is today."""
    ends = {first, NEWEST_MINOR if last is None else last}
    return [f"v1.{minor}" for minor in sorted(ends)] + ([LATEST] if last is None else [])


def test_the_checks_of_kubernetes_decide_alike_in_every_version(pinned: Pinned) -> None:
    rows = shared.conformance("pod-security/check-tests.jsonl")
    wrong = []
    count = 0
    for function, check, first, last in FUNCTIONS:
        for row in (each for each in rows if each["check_func"] == function):
            for version in versions(first, last):
                count += 1
                if answer(pinned.check(check, version), row["pod"])["allowed"] != row["allowed"]:
                    wrong.append((check, version, row["name"], row["detail"]))
    print(f"{count - len(wrong)} passed of {count}")
    assert wrong == []
    recorded = {row["check_func"] for row in rows}
    assert recorded == {each[0] for each in FUNCTIONS} - UNRECORDED


def test_denials_name_every_container_that_kubernetes_names(pinned: Pinned) -> None:
    rows = shared.conformance("pod-security/check-tests.jsonl")
    for function, check, first, _ in FUNCTIONS:
        for row in (each for each in rows if each["check_func"] == function):
            if row["allowed"]:
                continue
            status = answer(pinned.check(check, f"v1.{first}"), row["pod"])["status"]
            told = " ".join(cause["message"] for cause in status["details"]["causes"])
            assert "no such" not in told
            named = re.findall(r'"([^"]+)"', " ".join(CONTAINERS.findall(row["detail"])))
            words = re.split(r"[ ,:]+", told)
            assert [name for name in named if name not in words] == [], told


def test_fixtures_of_the_baseline_level_decide_alike_in_every_version(pinned: Pinned) -> None:
    by_control = {check.lower(): check for check in CHECKS}
    rows = shared.conformance("pod-security/baseline-fixtures.jsonl")
    assert max(row["minor"] for row in rows) == NEWEST_MINOR
    for row in rows:
        expected = row["expect"] == "pass"
        for version in [row["version"]] + ([LATEST] if row["minor"] == NEWEST_MINOR else []):
            level = pinned.level("baseline", version)
            assert answer(level, row["object"])["allowed"] is expected, row["file"]
            if row["control"] in by_control:
                check = pinned.check(by_control[row["control"]], version)
                assert answer(check, row["object"])["allowed"] is expected, row["file"]
    print(f"{len(rows)} passed of {len(rows)}")


# Of the versions that no recorded row is about: what is judged differently from one to the next.
CHANGES: list[tuple[str, dict[str, Any], int, bool, bool]] = [
    (
        "hostProbesAndHostLifecycle",
        {"livenessProbe": {"tcpSocket": {"host": "a"}}},
        34,
        True,
        False,
    ),
    ("allowPrivilegeEscalation", {}, 8, True, False),
    ("capabilities_restricted", {}, 22, True, False),
    ("runAsUser", {"securityContext": {"runAsUser": 0}}, 23, True, False),
    ("seccompProfile_restricted", {}, 19, True, False),
    ("procMount_restricted", {"securityContext": {"procMount": "Unmasked"}}, 35, True, False),
    (
        "seLinuxOptions",
        {"securityContext": {"seLinuxOptions": {"type": "container_engine_t"}}},
        31,
        False,
        True,
    ),
]


@pytest.mark.parametrize("change", CHANGES, ids=[each[0] for each in CHANGES])
def test_a_version_changes_what_is_judged(
    pinned: Pinned, change: tuple[str, dict[str, Any], int, bool, bool]
) -> None:
    check, container, minor, before, after = change
    pod = {"spec": {"containers": [{"name": "web", **container}]}}
    assert answer(pinned.check(check, f"v1.{minor - 1}"), pod)["allowed"] is before
    assert answer(pinned.check(check, f"v1.{minor}"), pod)["allowed"] is after
    assert answer(pinned.check(check), pod)["allowed"] is after


@pytest.mark.parametrize("check", ["procMount", "runAsNonRoot", "runAsUser"])
def test_user_namespaces_relax_since_1_35(pinned: Pinned, check: str) -> None:
    context = {"procMount": "Unmasked", "runAsUser": 0, "runAsNonRoot": False}
    pod = {
        "spec": {"hostUsers": False, "containers": [{"name": "web", "securityContext": context}]}
    }
    assert not answer(pinned.check(check, "v1.34"), pod)["allowed"]
    assert answer(pinned.check(check, "v1.35"), pod)["allowed"]


def test_versions_that_nobody_knows(pinned: Pinned) -> None:
    """One to come is the newest; what is no version denies what would ask for it."""
    bad = {"spec": {"containers": [{"name": "web", "securityContext": {"procMount": "other"}}]}}
    assert not answer(pinned.check("procMount_restricted", "v1.99"), bad)["allowed"]
    answered = answer(pinned.check("procMount_restricted", "newest"), bad)
    assert not answered["allowed"]
    assert '"minor" fails' in answered["status"]["message"]


def test_an_update_of_annotations_is_judged_where_they_are_the_profiles(pinned: Pinned) -> None:
    annotations = {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}
    pod: dict[str, Any] = {"spec": {"containers": []}}
    before, after = complete(pod), complete({**pod, "metadata": {"annotations": annotations}})
    asked = build_review(after, old_object=before)
    found = {
        version: pinned.check("seccompProfile_baseline", version).review(asked)["response"]
        for version in ("v1.18", "v1.19", LATEST)
    }
    assert {each: found[each]["allowed"] for each in found} == {
        "v1.18": False,
        "v1.19": True,
        LATEST: True,
    }


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
    rows += [row["object"] for row in shared.conformance("pod-security/baseline-fixtures.jsonl")]
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


def test_levels_are_folders(levels: Deciders) -> None:
    """Each is loaded by one path, and restricted has the baseline without a second copy."""
    assert len(levels["baseline"].names) == 12
    assert len(levels["restricted"].names) == 19
    assert (FOLDER / "restricted" / "baseline").is_symlink()
