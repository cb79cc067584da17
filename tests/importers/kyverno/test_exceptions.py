"""PolicyExceptions of kyverno.io exempt the same requests from the Policy of a rule."""

from typing import Any

import pytest

import policyd
from policyd.importers.all import convert
from policyd.importers.jmespath.vocabulary import Vocabulary
from policyd.importers.kyverno.exceptions import exceptions
from policyd.importers.model import Refused
from policyd.json_types import JSONObject
from tests.builders import policies
from tests.builders.objects import deployment, pod
from tests.builders.policies import denying
from tests.importers.converting import converted, document, messages
from tests.importers.kyverno import classic

RULES = {
    "r": ["Pod"],
    "autogen-r": ["Deployment", "StatefulSet"],
    "autogen-cronjob-r": ["CronJob"],
}
EVERY = ["r", "autogen-r", "autogen-cronjob-r"]
POLICY = policies.document("kyverno.io/v1", "ClusterPolicy", "sample", {})


def exception(
    resources: JSONObject,
    rules: list[str] = EVERY,
    policy: str = "sample",
    subjects: list[JSONObject] | None = None,
    **spec: Any,
) -> JSONObject:
    entry: JSONObject = {"resources": resources}
    if subjects:
        entry["subjects"] = subjects
    named = {"exceptions": [{"policyName": policy, "ruleNames": rules}], "match": {"any": [entry]}}
    return policies.document("kyverno.io/v2", "PolicyException", "legacy", {**named, **spec})


SCOPE = Vocabulary.request()


def parts(*given: JSONObject) -> JSONObject:
    others = [document(each) for each in given]
    return exceptions(POLICY, RULES, others, SCOPE)


def exempt(found: JSONObject, obj: JSONObject, **review: Any) -> bool:
    loaded = policyd.PolicySet.from_documents(denying(podControllers=True, **found))
    return loaded.evaluate(policyd.build_review(obj, **review)).allowed


ALICE = {"kind": "User", "name": "alice"}
ADMINS = {"kind": "Group", "name": "admins"}
BUILDER = {"kind": "ServiceAccount", "name": "builder", "namespace": "ci"}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"kinds": ["*"], "names": ["web*"]}, {"names": ["web*"]}),
        ({"names": ["web"], "name": "db"}, {"names": ["web", "db"]}),
        (
            {"kinds": ["Pod", "apps/v1/Deployment", "StatefulSet", "CronJob"], "names": ["a"]},
            {"names": ["a"]},
        ),
        ({"namespaces": ["legacy"], "operations": ["UPDATE"]}, None),
        (
            {"selector": {"matchLabels": {"a": "b"}}},
            {"objectSelector": {"matchLabels": {"a": "b"}}},
        ),
    ],
)
def test_an_exception_for_all_kinds_is_one_of_the_policy(
    resources: JSONObject, expected: JSONObject | None
) -> None:
    found = parts(exception(resources))
    assert found == {"exceptions": [{"name": "legacy", **(expected or resources)}]}


def test_an_exception_for_one_kind_from_a_rule_for_any() -> None:
    given = document(exception({"kinds": ["Pod"]}))
    [found] = exceptions(POLICY, {"r": ["*"]}, [given], SCOPE)["matchConditions"]
    assert found["expression"] == "!(request.kind.kind in ['Pod'])"


@pytest.mark.parametrize(("named", "exempt"), [("sample", False), ("team/sample", True)])
def test_an_exception_from_a_policy_of_a_namespace_names_it(named: str, exempt: bool) -> None:
    policy = {**POLICY, "kind": "Policy", "metadata": {"name": "sample", "namespace": "team"}}
    given = document(exception({"kinds": ["*"]}, policy=named))
    assert bool(exceptions(policy, {"r": ["Pod"]}, [given], SCOPE)) is exempt


def test_users_and_groups_are_alternatives() -> None:
    found = parts(exception({"kinds": ["*"]}, subjects=[ALICE, ADMINS, BUILDER]))
    assert found["exceptions"] == [
        {"name": "legacy", "users": ["alice", "system:serviceaccount:ci:builder"]},
        {"name": "legacy-groups", "groups": ["admins"]},
    ]
    assert exempt(found, pod(), user="alice")
    assert exempt(found, pod(), user="bob", groups=["admins"])
    assert not exempt(found, pod(), user="bob")


@pytest.mark.parametrize(
    ("given", "pods", "deployments"),
    [
        (exception({"kinds": ["Pod"]}), True, False),
        (exception({"kinds": ["Deployment"], "names": ["web"]}), False, True),
        (exception({"kinds": ["Pod", "Deployment"]}, ["r"]), True, False),
        (exception({"kinds": ["*"]}, ["autogen-*"]), False, True),
        (exception({"kinds": ["*"]}, ["*r"]), True, True),
        (exception({"kinds": ["*"]}, ["other"]), False, False),
        (exception({"kinds": ["*"]}, policy="other"), False, False),
        (exception({"kinds": ["Service"]}), False, False),
        (exception({"kinds": ["v1/Pod", "apps/*/Deployment"]}), True, True),
        (exception({"kinds": ["Deployment"], "namespaces": ["bank"]}), False, False),
    ],
)
def test_exceptions_for_some_kinds(given: JSONObject, pods: bool, deployments: bool) -> None:
    found = parts(given)
    assert (exempt(found, pod()), exempt(found, deployment())) == (pods, deployments)


def test_conditions_are_part_of_the_exception() -> None:
    one = classic.equals("{{ length(request.object.spec.containers) }}", 1)
    given = exception({"names": ["web"]}, conditions=one)
    found = parts(given)
    assert exempt(found, pod())
    other = {"name": "b", "image": "b:1"}
    assert not exempt(found, pod({"name": "a", "image": "a:1"}, other))


def test_criteria_in_conditions() -> None:
    resources = {
        "kinds": ["Pod"],
        "operations": ["CREATE"],
        "selector": {"matchLabels": {"a": "b"}},
    }
    found = parts(exception(resources, subjects=[ALICE, ADMINS]))
    labelled = pod(labels={"a": "b"})
    assert exempt(found, labelled, user="alice")
    assert exempt(found, labelled, user="bob", groups=["admins"])
    assert not exempt(found, labelled, user="bob")
    assert not exempt(found, pod(), user="alice")
    assert not exempt(found, labelled, old=labelled, user="alice")


@pytest.mark.parametrize(
    "given",
    [
        exception({"kinds": ["Pod"]}, podSecurity=[{"controlName": "Capabilities"}]),
        exception({"kinds": ["Pod"], "annotations": {"a": "b"}}),
        exception({"kinds": ["Pod/exec"]}),
        exception({"kinds": ["P*"]}),
        exception({"kinds": ["Pod"]}, subjects=[{"kind": "Robot", "name": "r"}]),
        exception({}, match={}),
        exception({}, match={"all": [{"resources": {}}, {"resources": {}}]}),
        exception({}, surprise=1),
    ],
)
def test_what_cannot_be_said_is_refused(given: JSONObject) -> None:
    with pytest.raises(Refused) as refused:
        parts(given)
    assert "PolicyException legacy" in refused.value.finding.path


def cluster_policy(kind: str = "Pod") -> JSONObject:
    expressions = [{"expression": "object.metadata.name == 'allowed'", "message": "no"}]
    return classic.cluster_policy(
        classic.rule_of({"cel": {"expressions": expressions}}, kind), name="sample"
    )


@pytest.mark.parametrize(
    ("kind", "given", "pods", "deployments"),
    [
        ("Pod", exception({"kinds": ["*"], "names": ["web"]}), True, True),
        ("Pod", exception({"kinds": ["Pod"], "names": ["web"]}), True, False),
        ("Pod", exception({"kinds": ["Deployment"]}, ["autogen-r"]), False, True),
        ("Pod", exception({"kinds": ["*"]}, ["autogen-cronjob-r"]), False, False),
        ("Deployment", exception({"kinds": ["Deployment"]}, ["r"]), True, True),
        ("Deployment", exception({"kinds": ["Pod"]}, ["r"]), True, False),
    ],
)
def test_exceptions_of_a_whole_policy(
    kind: str, given: JSONObject, pods: bool, deployments: bool
) -> None:
    found = converted(convert, cluster_policy(kind), given)
    sent = [policyd.build_review(each) for each in (pod(), deployment())]
    assert [messages(found, each) == [] for each in sent] == [pods, deployments]


def test_conditions_of_a_whole_policy() -> None:
    key = "{{ request.object.metadata.labels.team || '' }}"
    given = exception({"kinds": ["*"]}, conditions=classic.equals(key, "a"))
    found = converted(convert, cluster_policy(), given)
    assert messages(found, policyd.build_review(pod(labels={"team": "a"}))) == []
    assert messages(found, policyd.build_review(pod(labels={"team": "b"}))) == ["no"]
