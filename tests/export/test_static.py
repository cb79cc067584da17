"""Manifests for the disk of a control plane: what KEP-5793 forbids is a reason, and what reaches
more requests there than elsewhere is excluded.
"""

from typing import Any

import pytest

from policyd.errors import ConfigError
from policyd.export.model import ExportedPart, ExportedPolicy, Reason
from policyd.export.static import static, static_name
from policyd.json_types import JSONObject
from policyd.policy.model.names import STATIC_SUFFIX
from policyd.versions import NEWEST, KubernetesVersion
from tests.builders.policies import ADMISSION, EVERYTHING, PODS, VALIDATION, rule

VAP, MAP = "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"
POLICIES = ("validatingadmissionpolicies", "mutatingadmissionpolicies")
BINDINGS = ("validatingadmissionpolicybindings", "mutatingadmissionpolicybindings")


def document(kind: str, name: str, spec: JSONObject, **fields: Any) -> JSONObject:
    return {
        "apiVersion": ADMISSION,
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
        **fields,
    }


def vap_of(name: str = "limits", *rules: JSONObject, kind: str = VAP, **spec: Any) -> JSONObject:
    match = {"resourceRules": list(rules or [PODS])}
    return document(kind, name, {"matchConstraints": match, "validations": [VALIDATION], **spec})


def binding(name: str = "limits", bound: str = "", kind: str = VAP, **spec: Any) -> JSONObject:
    return document(f"{kind}Binding", name, {"policyName": bound or name, **spec})


def of(name: str, *parts: ExportedPart) -> ExportedPolicy:
    return ExportedPolicy("Policy", name, f"{name}.yaml", 1, parts)


def made(*documents: JSONObject, remarks: tuple[Reason, ...] = ()) -> ExportedPart:
    exported = of("limits", ExportedPart("validate", documents, remarks=remarks))
    (only,) = static([exported], NEWEST)[0].parts
    return only


def reasons(*documents: JSONObject) -> dict[str, str]:
    part = made(*documents)
    assert bool(part.reasons) != bool(part.documents)
    return {each.path: each.message for each in part.reasons}


def test_names_end_as_those_of_static_manifests_do() -> None:
    first, second = made(vap_of(), binding("bound", "limits")).documents
    assert first["metadata"] == {"name": "limits.static.k8s.io"}
    assert second["metadata"] == {"name": "bound.static.k8s.io"}
    assert second["spec"]["policyName"] == "limits.static.k8s.io"
    assert first["spec"] == vap_of()["spec"]


def test_a_name_that_ends_so_already_stays() -> None:
    assert static_name(static_name("limits")) == static_name("limits")
    name = f"limits{STATIC_SUFFIX}"
    assert made(vap_of(name), binding(name)).documents == (vap_of(name), binding(name))


def test_the_source_is_not_changed() -> None:
    given = vap_of("limits", EVERYTHING)
    made(given, binding())
    assert (given, binding()) == (vap_of("limits", EVERYTHING), binding("limits"))


def test_labels_annotations_and_remarks_stay() -> None:
    metadata = {"name": "limits", "labels": {"a": "b"}, "annotations": {"policyd.dev/policy": "x"}}
    remark = Reason("spec.exceptions", "no audit annotation")
    part = made({**vap_of(), "metadata": metadata}, remarks=(remark,))
    assert part.documents[0]["metadata"] == {**metadata, "name": "limits.static.k8s.io"}
    assert part.remarks == (remark,)


FORBIDDEN = {
    "paramKind": (vap_of(paramKind={"apiVersion": "v1", "kind": "ConfigMap"}), "spec.paramKind"),
    "paramRef": (binding(paramRef={"name": "a"}), "spec.paramRef"),
    "another version": ({**vap_of(), "apiVersion": f"{ADMISSION}beta1"}, "apiVersion"),
    "a long name": (vap_of("a" * 240), "metadata.name"),
    "a namespace": (
        {**vap_of(), "metadata": {"name": "a", "namespace": "b"}},
        "metadata.namespace",
    ),
}


@pytest.mark.parametrize(("found", "path"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_a_static_manifest_cannot_have(found: JSONObject, path: str) -> None:
    assert list(reasons(found)) == [path]


def test_every_reason_is_given_and_former_ones_stay() -> None:
    given = vap_of("a" * 240, paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    assert list(reasons(given, binding(paramRef={"name": "a"}))) == [
        "metadata.name",
        "spec.paramKind",
        "spec.paramRef",
    ]
    former = ExportedPart("validate", reasons=(Reason("spec.timeoutSeconds", "no"),))
    assert static([of("limits", former)], NEWEST)[0].parts == (former,)


def test_absent_is_null() -> None:
    assert reasons(vap_of(paramKind=None), binding(paramRef=None)) == {}


def test_the_longest_name() -> None:
    longest = "a" * (253 - len(STATIC_SUFFIX))
    assert reasons(vap_of(longest), binding(longest)) == {}
    assert list(reasons(vap_of(f"{longest}a"))) == ["metadata.name"]


def test_two_policies_of_one_name_are_not_exported() -> None:
    parts = [
        ExportedPart("validate", (vap_of(name), binding(name)))
        for name in ("limits", f"limits{STATIC_SUFFIX}", "other")
    ]
    found = static([of(str(index), part) for index, part in enumerate(parts)], NEWEST)
    assert [each.exported for each in found] == [False, False, True]
    assert {reason.path for each in found for reason in each.parts[0].reasons} == {"metadata.name"}


def test_policies_of_two_kinds_may_share_a_name() -> None:
    parts = (
        ExportedPart("validate", (vap_of(), binding())),
        ExportedPart("mutate", (vap_of(kind=MAP), binding(kind=MAP))),
    )
    (found,) = static([of("limits", *parts)], NEWEST)
    assert found.exported


WILDCARDS = {
    "all of everything": EVERYTHING,
    "all of the group": rule("*", group="admissionregistration.k8s.io"),
    "every subresource": rule("*/*", group="*"),
    "every status": rule("*/status", group="*"),
}


@pytest.mark.parametrize("wide", WILDCARDS.values(), ids=WILDCARDS)
def test_wildcards_reach_no_more_than_elsewhere(wide: JSONObject) -> None:
    (found,) = made(vap_of("limits", PODS, wide)).documents
    (excluded,) = found["spec"]["matchConstraints"]["excludeResourceRules"]
    assert excluded["apiGroups"] == ["admissionregistration.k8s.io"]
    listed = {each for name in (*POLICIES, *BINDINGS) for each in (name, f"{name}/*")}
    assert {*excluded["resources"]} == listed


def test_excludes_of_the_author_stay() -> None:
    given = vap_of("limits", EVERYTHING)
    given["spec"]["matchConstraints"]["excludeResourceRules"] = [PODS]
    (found,) = made(given).documents
    assert found["spec"]["matchConstraints"]["excludeResourceRules"][0] == PODS
    assert len(found["spec"]["matchConstraints"]["excludeResourceRules"]) == 2


@pytest.mark.parametrize("narrow", [PODS, rule("*", group="apps")])
def test_other_groups_are_excluded_nowhere(narrow: JSONObject) -> None:
    assert made(vap_of("limits", narrow)).documents[0]["spec"] == vap_of("limits", narrow)["spec"]


def test_admission_policies_that_a_rule_names_are_reached_with_a_remark() -> None:
    named = rule(POLICIES[0], group="admissionregistration.k8s.io")
    part = made(vap_of("limits", named, EVERYTHING))
    (excluded,) = part.documents[0]["spec"]["matchConstraints"]["excludeResourceRules"]
    assert POLICIES[0] not in excluded["resources"]
    assert f"{POLICIES[0]}/*" not in excluded["resources"]
    assert BINDINGS[0] in excluded["resources"]
    (remark,) = part.remarks
    assert remark.path == "spec.matchConstraints.resourceRules"
    assert POLICIES[0] in remark.message
    assert (
        "excludeResourceRules"
        not in made(vap_of("a", named)).documents[0]["spec"]["matchConstraints"]
    )


@pytest.mark.parametrize("minor", [30, 35])
def test_versions_without_static_manifests(minor: int) -> None:
    with pytest.raises(ConfigError, match=r"it came with 1\.36"):
        static([], KubernetesVersion(1, minor))
