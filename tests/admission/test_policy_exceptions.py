"""PolicyExceptions: which requests they exempt, from which policies of any kind."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from policyd.admission.decision import annotation_key
from policyd.api.policy_set import PolicySet
from policyd.json_types import JSON, JSONObject
from policyd.policy.compile import compiler
from policyd.policy.source.files import SourceFile
from policyd.policy.source.loader import load_files
from policyd.versions import NEWEST
from tests.builders.objects import container, deployment, pod
from tests.builders.policies import (
    EVERYTHING,
    PODS,
    add_label,
    demand,
    map_,
    map_binding,
    policy,
    policy_exception,
    vap,
    vap_binding,
)
from tests.policy_sets import ask, compiled, load

NEVER = demand("false", "never")
ALSO = demand("false", "also")
POD = pod(container("c", "nginx"), labels={"app": "old"})
POD["metadata"].update(name="legacy-1", namespace="billing-a")
USER: JSONObject = {"username": "alice", "groups": ["devs"]}
ACCOUNT: JSONObject = {"username": "system:serviceaccount:billing:deployer", "groups": []}


def denies(policies: PolicySet, obj: JSONObject = POD, **request: JSON) -> list[str]:
    """The messages of the denials of an object."""
    answer = ask(policies, obj, **{"userInfo": USER, **request})
    causes = answer.get("status", {}).get("details", {}).get("causes", [])
    return [each["message"].rpartition(": ")[2] for each in causes]


Row = tuple[str, JSONObject, Mapping[str, Any], bool]
ROWS: list[Row] = [
    ("no criteria", {}, {}, True),
    ("namespace", {"resources": [{"namespaces": ["billing-*"]}]}, {}, True),
    ("another namespace", {"resources": [{"namespaces": ["billing"]}]}, {}, False),
    ("name", {"resources": [{"names": ["legacy-?"]}]}, {}, True),
    ("kind", {"resources": [{"kinds": ["Pod"]}]}, {}, True),
    ("kind of the core group", {"resources": [{"kinds": ["core/Pod"]}]}, {}, True),
    ("kind of another group", {"resources": [{"kinds": ["apps/Pod"]}]}, {}, False),
    ("kinds by pattern", {"resources": [{"kinds": ["*/P*"]}]}, {}, True),
    ("labels", {"resources": [{"objectSelector": {"matchLabels": {"app": "old"}}}]}, {}, True),
    ("other labels", {"resources": [{"objectSelector": {"matchLabels": {"a": "b"}}}]}, {}, False),
    ("operation", {"resources": [{"operations": ["UPDATE"]}]}, {}, False),
    ("any operation", {"resources": [{"operations": ["*"]}]}, {}, True),
    ("all fields of an entry", {"resources": [{"kinds": ["Pod"], "names": ["x"]}]}, {}, False),
    ("one of two entries", {"resources": [{"names": ["x"]}, {"kinds": ["Pod"]}]}, {}, True),
    ("user", {"subjects": [{"kind": "User", "name": "alice"}]}, {}, True),
    ("another user", {"subjects": [{"kind": "User", "name": "alic"}]}, {}, False),
    ("group", {"subjects": [{"kind": "Group", "name": "devs"}]}, {}, True),
    ("a group is no user", {"subjects": [{"kind": "User", "name": "devs"}]}, {}, False),
    (
        "one of two subjects",
        {"subjects": [{"kind": "User", "name": "bob"}, {"kind": "Group", "name": "devs"}]},
        {},
        True,
    ),
    (
        "service account",
        {"subjects": [{"kind": "ServiceAccount", "namespace": "billing", "name": "deployer"}]},
        {"userInfo": ACCOUNT},
        True,
    ),
    (
        "service account of another namespace",
        {"subjects": [{"kind": "ServiceAccount", "namespace": "shop", "name": "deployer"}]},
        {"userInfo": ACCOUNT},
        False,
    ),
    (
        "resources and subjects",
        {"resources": [{"kinds": ["Pod"]}], "subjects": [{"kind": "User", "name": "bob"}]},
        {},
        False,
    ),
    ("the last day", {"until": "2999-12-31"}, {}, True),
    ("over", {"until": "2020-12-31"}, {}, False),
]


@pytest.mark.parametrize(("name", "spec", "request_", "exempt"), ROWS, ids=[r[0] for r in ROWS])
def test_which_requests_are_exempt(
    name: str, spec: JSONObject, request_: dict[str, JSON], exempt: bool
) -> None:
    policies = load(policy("p", PODS, validations=[NEVER]), policy_exception("e", "p", **spec))
    assert denies(policies, **request_) == ([] if exempt else ["never"])


class Named(NamedTuple):
    """Entries of ``policies``, and what two policies still deny: p (two validations), q (one)."""

    name: str
    entries: tuple[JSONObject | str, ...]
    denied: list[str]


NAMED = [
    Named("one", ("p",), ["q"]),
    Named("a pattern", ("?",), []),
    Named("a pattern of none", ("p*q",), ["p0", "p1", "q"]),
    Named("an index", ({"name": "p", "validations": [1]},), ["p0", "q"]),
    Named("a name", ({"name": "*", "validations": ["first"]},), ["p1"]),
    Named("unknown validations lift nothing", ({"name": "p", "validations": [7, "x"]},), [
        "p0", "p1", "q"]),
    Named("an index is no name", ({"name": "p", "validations": ["0"]},), ["p0", "p1", "q"]),
    Named("two entries add up", ({"name": "p", "validations": [0]}, {
        "name": "*", "validations": [1]}), ["q"]),
    Named("a whole policy and a part", ("p", {"name": "p", "validations": [0]}), ["q"]),
]  # fmt: skip


@pytest.mark.parametrize("case", NAMED, ids=lambda case: case.name)
def test_which_policies_and_validations(case: Named) -> None:
    first = [{**demand("false", "p0"), "name": "first"}, demand("false", "p1")]
    policies = load(
        policy("p", PODS, validations=first),
        policy("q", PODS, validations=[{**demand("false", "q"), "name": "first"}]),
        policy_exception("e", *case.entries),
    )
    assert denies(policies) == case.denied


def test_kinds_of_kubernetes_are_exempt_too() -> None:
    rows = [
        vap("v", PODS, validations=[NEVER, ALSO]),
        vap_binding("b", policyName="v"),
        map_("m", PODS, mutations=[add_label("'set'")]),
        map_binding("mb", policyName="m"),
    ]
    bare = load(*rows)
    assert denies(bare) == ["never", "also"] and ask(bare, webhook="mutate").get("patch")
    part = load(*rows, policy_exception("e", {"name": "*", "validations": [0]}))
    assert denies(part) == ["also"] and ask(part, webhook="mutate").get("patch")
    whole = load(*rows, policy_exception("e", "*"))
    assert denies(whole) == [] and not ask(whole, webhook="mutate").get("patch")


def test_a_deployment_is_meant_where_a_policy_sees_its_pods() -> None:
    made = policy("p", PODS, podControllers=True, validations=[NEVER])
    web = deployment(container("c"))
    for kind, denied in (("Deployment", []), ("apps/Deployment", []), ("Pod", ["never"])):
        exception = policy_exception("e", "p", resources=[{"kinds": [kind]}])
        assert denies(load(made, exception), web) == denied


def test_the_use_is_counted_and_annotated() -> None:
    made = compiled(policy("p", PODS, validations=[NEVER]), policy_exception("e", "p"))
    answer = ask(PolicySet(made), POD)
    assert answer["allowed"] is True
    assert answer["auditAnnotations"]["exception.p"] == "e: ticket 4711"
    (counters,) = made.counters()
    assert counters.snapshot()["decisions"]["exempt"] == 1


def test_an_object_without_a_name_has_its_generate_name() -> None:
    """The API server makes the name after the mutating webhooks."""
    spec: JSONObject = {"validations": [NEVER], "mutations": [add_label("'set'")]}
    made = load(policy("p", PODS, **spec), policy_exception("e", "p", resources=LEGACY))
    for base, exempt in (("legacy-", True), ("legacy", False), ("new-", False)):
        metadata = {"generateName": base, "namespace": "billing-a", "labels": {"app": "old"}}
        nameless = {**POD, "metadata": metadata}
        assert denies(made, nameless) == ([] if exempt else ["never"])
        assert ("patch" in ask(made, nameless, webhook="mutate")) is not exempt
    # One that has a name is found by that.
    named = {**POD, "metadata": {**POD["metadata"], "name": "new", "generateName": "legacy-"}}
    assert denies(made, named) == ["never"]


LEGACY: JSON = [{"names": ["legacy-*"]}]


def test_the_annotation_has_each_exception_that_was_used() -> None:
    both = [
        policy_exception(name, {"name": "p", "validations": [index]}, reason=reason)
        for index, (name, reason) in enumerate([("one", "ticket 1"), ("two", "x" * 20_000)])
    ]
    answer = ask(load(policy("p", PODS, validations=[NEVER, ALSO]), *both), POD)
    text = answer["auditAnnotations"]["exception.p"]
    assert answer["allowed"] and text.startswith("one: ticket 1, two: xxx")
    assert len(text) < 11_000


def test_a_policy_without_exceptions_is_invoked_once() -> None:
    policies = compiled(policy("p"), policy("q"), policy_exception("e", "q"))
    found = [(each.name, each.invoked_once) for each in policies.policies]
    assert found == [("p", True), ("q", False)]


def test_a_team_excepts_requests_of_its_own_namespace_only() -> None:
    denying = policy("p", EVERYTHING, validations=[NEVER])
    text = json.dumps(policy_exception("e", "*")).encode()
    files = [
        SourceFile("p.yaml", "p.yaml", json.dumps(denying).encode()),
        SourceFile("configmap/team/x/e.yaml", "e.yaml", text, confined="team"),
    ]
    policies = PolicySet(compiler.compile_strict(load_files(files, [], version=NEWEST)))
    mine, other = ({**POD, "metadata": {"name": "a", "namespace": n}} for n in ("team", "teams"))
    answer = ask(policies, mine)
    assert answer["auditAnnotations"][annotation_key("exception.p")] == "team/e: ticket 4711"
    assert denies(policies, mine) == [] and denies(policies, other) == ["never"]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    for operation in ("CREATE", "UPDATE"):
        old = {} if operation == "CREATE" else {"oldObject": namespace}
        about = {"namespace": "team", "name": "team", "operation": operation, **old}
        assert denies(policies, namespace, **about) == ["never"]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    assert denies(policies, {**role, "metadata": {"name": "team"}}) == ["never"]


def test_exceptions_of_many_teams_are_looked_up_by_namespace() -> None:
    files = [SourceFile("p.yaml", "p.yaml", json.dumps(policy("p", PODS)).encode())]
    for number in range(30):
        text = json.dumps(policy_exception("same-name", "p")).encode()
        name = f"configmap/team-{number}/x/e.yaml"
        files.append(SourceFile(name, name, text, confined=f"team-{number}"))
    files.append(SourceFile("e.yaml", "e.yaml", json.dumps(policy_exception("all", "p")).encode()))
    (made,) = compiler.compile_strict(load_files(files, [], version=NEWEST)).policies
    assert len(made.exemptions) == 31
    names = [each.name for each in made.exemptions_near("team-7", "a")]
    assert names == ["team-7/same-name", "all"]
    assert [each.name for each in made.exemptions_near("other", "a")] == ["all"]


def test_exceptions_of_many_objects_are_looked_up_by_name_or_namespace() -> None:
    places: list[dict[str, Any]] = [
        *({"names": [f"web-{number}"]} for number in range(30)),
        *({"namespaces": [f"team-{number}"]} for number in range(30)),
        {"names": ["web-3", "web-5"], "namespaces": ["team-*"]},
        {"names": ["web-*"], "namespaces": ["team-5"]},
        {"names": ["web-*"]},
        {"operations": ["CREATE"]},
    ]
    given = [
        policy_exception(f"e{number}", "p", resources=[each]) for number, each in enumerate(places)
    ]
    either = policy_exception("either", "p", resources=[places[3], places[35]])
    (made,) = compiled(policy("p", PODS), *given, either).policies

    def near(namespace: str, name: str) -> list[str]:
        return [each.name for each in made.exemptions_near(namespace, name)]

    anything = ["e62", "e63"]
    assert near("shop", "a") == anything
    assert near("shop", "web-3") == ["e3", "e60", *anything, "either"]
    assert near("team-5", "web-3") == ["e3", "e35", "e60", "e61", *anything, "either"]
