"""PolicyExceptions: every problem is reported."""

import json

import pytest

from policyd.json_types import JSON, JSONObject
from policyd.policy.model.editor_schema import schema_of
from policyd.policy.source.files import SourceFile
from policyd.policy.source.loader import load_files
from policyd.versions import NEWEST
from tests.builders.objects import config_map
from tests.builders.policies import policy, policy_exception, vap
from tests.policy_sets import wrongs

EMPTY = "Required value: an empty list exempts nothing; remove the field or add a value"
FULL: JSONObject = {
    "resources": [
        {
            "kinds": ["Deployment", "apps/StatefulSet", "core/*"],
            "namespaces": ["billing-*"],
            "names": ["legacy-?"],
            "objectSelector": {"matchLabels": {"a": "b"}},
            "operations": ["CREATE", "*"],
        }
    ],
    "subjects": [
        {"kind": "ServiceAccount", "namespace": "billing", "name": "deployer"},
        {"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"},
        {"kind": "Group", "name": "devs"},
    ],
    "until": "2027-03-31",
}


def of(**spec: JSON) -> list[str]:
    return wrongs(policy_exception("e", {"name": "p*", "validations": [0, "a"]}, **spec))


def in_resources(**entry: JSON) -> list[str]:
    return [each.removeprefix("spec.resources[0]") for each in of(resources=[entry])]


def in_subjects(**entry: JSON) -> list[str]:
    return [each.removeprefix("spec.subjects[0]") for each in of(subjects=[entry])]


def test_all_fields_are_accepted() -> None:
    assert of(**FULL) == []


ROWS: list[tuple[list[str], list[str]]] = [
    (of(reason=" "), ["spec.reason: Required value: why the exception exists; it is logged with"
                      " each use"]),
    (of(resources=[], subjects=[]), [f"spec.resources: {EMPTY}", f"spec.subjects: {EMPTY}"]),
    (of(until="31.3.2027"), [
        'spec.until: Invalid value: "31.3.2027": must be a date like 2027-03-31']),
    (of(until="2027-02-29"), [
        'spec.until: Invalid value: "2027-02-29": must be a date like 2027-03-31']),
    (of(namespaces=["a"]), ['spec.namespaces: unknown field "namespaces"']),
    (of(policies=[]), [
        "spec.policies: Required value: the policies that the exception is about"]),
    (of(policies=[{"validations": []}]), [
        "spec.policies[0].name: Required value: the name of a policy, or a pattern such as"
        " require-*", f"spec.policies[0].validations: {EMPTY}"]),
    (of(policies=[{"name": "p", "validations": [-1, True, 1.5]}]), [
        f"spec.policies[0].validations[{i}]: Invalid value: {value}: must be the name of a"
        " validation, or its index from 0" for i, value in enumerate(("-1", "true", "1.5"))]),
    (of(policies=[{"name": "p", "validations": ["a", "", "a"]}]), [
        "spec.policies[0].validations[1]: Required value: the name of a validation, or its index",
        'spec.policies[0].validations[2]: Duplicate value: "a"']),
    (in_resources(), [
        ": Required value: one of kinds, namespaces, names, operations, objectSelector"]),
    (in_resources(kinds=[], names=[""]), [f".kinds: {EMPTY}", ".names[0]: Required value"]),
    (in_resources(kinds=["v1/Pod", "apps/v1/Deployment", "apps/", "/Pod"]), [
        f'.kinds[{i}]: Invalid value: "{kind}": must be a kind, or a group and a kind'
        for i, kind in enumerate(("v1/Pod", "apps/v1/Deployment", "apps/", "/Pod"))]),
    (in_resources(operations=["create"]), [
        '.operations[0]: Unsupported value: "create": supported values: "*", "CONNECT", "CREATE",'
        ' "DELETE", "UPDATE"']),
    (in_subjects(), [".kind: Required value: User, Group or ServiceAccount",
                     ".name: Required value"]),
    (in_subjects(kind="User", name="a*", namespace="x"), [
        '.name: Invalid value: "a*": subjects have no wildcards, as in RBAC',
        '.namespace: Invalid value: "x": a User has no namespace']),
    (in_subjects(kind="ServiceAccount", name="a", apiGroup="rbac.authorization.k8s.io"), [
        ".namespace: Required value: the namespace of the ServiceAccount",
        '.apiGroup: Unsupported value: "rbac.authorization.k8s.io": supported values: ""']),
]  # fmt: skip


@pytest.mark.parametrize(("found", "wanted"), ROWS)
def test_problems(found: list[str], wanted: list[str]) -> None:
    assert sorted(found) == sorted(wanted)


def test_an_exception_of_the_files_belongs_to_no_namespace() -> None:
    made = policy_exception("e", "p")
    made["metadata"]["namespace"] = "team"
    assert wrongs(made) == [
        "metadata.namespace: Forbidden: a PolicyException of the policy files belongs to no"
        " namespace"
    ]


def confined(*documents: JSONObject) -> list[str]:
    """The problems of documents that are read from the namespace team."""
    text = "\n".join(map(json.dumps, documents)).encode()
    sources = load_files([SourceFile("e", "e", text, confined="team")], [], version=NEWEST)
    assert all(each.kind == "PolicyException" for each in sources.documents)
    return [f"{each.path}: {each.message}" for each in sources.problems]


def test_an_exception_of_a_namespace_is_about_that_only() -> None:
    about = "it is read from namespace team, and exempts requests of that namespace only"
    made = policy_exception("e", "*", resources=[{"namespaces": ["team", "tea*"]}])
    made["metadata"]["namespace"] = "other"
    assert confined(made) == [
        f'metadata.namespace: Invalid value: "other": {about}',
        f'spec.resources[0].namespaces[1]: Invalid value: "tea*": {about}',
    ]
    assert confined(policy_exception("e", "*", resources=[{"namespaces": ["team"]}])) == []


def test_a_namespace_holds_nothing_but_exceptions() -> None:
    only = "exceptions of a namespace hold policyd.dev/v1 PolicyException documents only"
    later = {**policy_exception("e", "p"), "apiVersion": "policyd.dev/v2"}
    foreign = {**later, "apiVersion": "kyverno.io/v2", "spec": {"exceptions": []}}
    assert confined(policy("p"), vap("v"), config_map("params"), later, foreign) == [
        f"kind: Forbidden: Policy of policyd.dev/v1: {only}",
        f"kind: Forbidden: ValidatingAdmissionPolicy of admissionregistration.k8s.io/v1: {only}",
        f"kind: Forbidden: ConfigMap of v1: {only}",
        "apiVersion: Unsupported value: policyd.dev/v2 has no kind PolicyException",
        f"kind: Forbidden: PolicyException of kyverno.io/v2: {only}",
    ]


def test_names_of_other_engines_and_of_several_teams_do_not_collide() -> None:
    made = policy_exception("e", "p")
    theirs = {**made, "apiVersion": "kyverno.io/v2", "spec": {"exceptions": []}}
    two = [{**theirs, "metadata": {"name": "e", "namespace": each}} for each in "ab"]
    assert wrongs(policy_exception("e", "p"), *two) == []
    assert len(wrongs(policy_exception("e", "p"), policy_exception("e", "q"))) == 1


def test_editors_are_told_the_fields() -> None:
    schema = schema_of("PolicyException")
    entry = schema["definitions"]["ExceptedPolicy"]["properties"]["validations"]["anyOf"][0]
    assert entry["items"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert schema["definitions"]["PolicyExceptionSpec"]["required"] == ["policies", "reason"]
