"""Policies with overlays: what is refused when they load and where, kinds, templates, order."""

import json
import re
from base64 import b64decode
from typing import Any

import pytest

from policyd import PolicySet
from policyd.admission.lookups.authorizer import AuthorizerRule, StaticAuthorizer
from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.source import loader
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import container, deployment, pod
from tests.builders.policies import DEPLOYMENTS, PODS, policy, rule
from tests.mutation.builders import CRD
from tests.mutation.overlays.builders import WIDGETS, load, mutated, overlaying, problems
from tests.policy_sets import ask

POD = pod(container("c", "nginx:latest"), labels={"app": "web"})
HEAD = """apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  mutations:
  - patchType: Overlay
    overlay:
"""

# (name, overlay below HEAD from line 10 on, place, path below the overlay, message, hint)
REFUSED: list[tuple[str, str, str, str, str, str]] = [
    ("unknown field", "spec: {nodeSelektor: {}}", "10:14", "spec.nodeSelektor", 'unknown field "nodeSelektor"', "did you mean nodeSelector?"),
    ("a number for a text", "spec: {hostname: 1}", "10:24", "spec.hostname", "expected a string, got 1", "put it in quotes"),
    ("a text for a number", "spec: {priority: high}", "10:24", "spec.priority", 'expected a number, got "high"', ""),
    ("a text for a boolean", "spec: {hostNetwork: 'yes'}", "10:28", "spec.hostNetwork", 'expected true or false, got "yes"', ""),
    ("a map for a list", "spec: {containers: {name: x}}", "10:26", "spec.containers", "expected a list, got a map", "each item after"),
    ("a list for a map", "spec: {securityContext: [x]}", "10:31", "spec.securityContext", "expected a map, got a list", ""),
    ("a list for a text", "spec: {hostname: [x]}", "10:24", "spec.hostname", "expected a string, got a list", ""),
    ("no quantity", "spec: {overhead: {cpu: 1Gb}}", "10:30", "spec.overhead.cpu", "Invalid value: quantities must match", ""),
    ("in a replaced list", "spec: {tolerations: [{key: 1}]}", "10:34", "spec.tolerations[0].key", "expected a string, got 1", "quotes"),
    ("no key and no condition", "spec: {containers: [{image: x}]}", "10:27", "spec.containers[0]", "an item of this list needs its name, or a condition", 'write name for one item, or (name): "*" for all of them'),
    ("nor by +()", "spec: {containers: [{+(image): x}]}", "10:27", "spec.containers[0]", "needs its name, or a condition", ""),
    ("two keys", "spec: {containers: [{name: c, ports: [{name: x}]}]}", "10:45", "spec.containers[0].ports[0]", "needs its containerPort and protocol", ""),
    ("an item that is no map", "spec: {containers: [x]}", "10:27", "spec.containers[0]", "expected a map, got a value without keys", ""),
    ("an item of a set twice", "metadata: {finalizers: [a/b, a/b]}", "10:36", "metadata.finalizers[1]", "two items are the same", "remove one"),
    ("two items of one key", "spec: {containers: [{name: c}, {name: c}]}", "10:38", "spec.containers[1]", "two items have the same name", "one item"),
    ("nothing to change", 'spec: {containers: [{(name): "*"}]}', "10:27", "spec.containers[0]", "the item has conditions but changes nothing", "^(NAME)"),
    ("too much to delete", "spec: {containers: [{name: c, image: x, $patch: delete}]}", "10:27", "spec.containers[0]", "nothing but its key and conditions", ""),
    ("another $patch", "spec: {containers: [{name: c, $patch: replace}]}", "10:45", "spec.containers[0].$patch", "Unsupported value: 'replace'", "an item of its own: - $patch: replace"),
    ("no $patch at all", "spec: {containers: [{name: c, $patch: merge}]}", "10:45", "spec.containers[0].$patch", "Unsupported value: 'merge'", "KEY: null"),
    ("$patch: append twice", "spec: {tolerations: [{$patch: append}, {$patch: replace}]}", "10:46", "spec.tolerations[1]", "one $patch, not two", "remove one"),
    ("$patch: append to a list with keys", "spec: {containers: [{$patch: append}, {name: x}]}", "10:26", "spec.containers", "found by their name, and added if they are missing", "remove $patch: append"),
    ("$patch: append to a set", "metadata: {finalizers: [{$patch: append}, a/b]}", "10:30", "metadata.finalizers", "found by their value, and added if they are missing", "remove $patch: append"),
    ("a condition in a new item", "spec: {tolerations: [{$patch: append}, {(key): x, value: v}]}", "10:46", "spec.tolerations[1]", "nothing to look at", "beside the list"),
    ("a wrong type in a new item", "spec: {tolerations: [{$patch: append}, {key: 1}]}", "10:52", "spec.tolerations[1].key", "expected a string, got 1", "quotes"),
    ("$patch of a map", "spec: {securityContext: {$patch: delete}}", "10:32", "spec.securityContext.$patch", "only an item of a list can be deleted", "write securityContext: null"),
    ("$patch: replace of a map", "spec: {nodeSelector: {$patch: replace, a: b}}", "10:37", "spec.nodeSelector.$patch", "Unsupported value: 'replace'", "a map is merged: write KEY: null"),
    ("$patch of the object", "$patch: delete", "10:7", "$patch", "only an item of a list can be deleted", "cannot delete an object"),
    ("$patch: merge of a list", "spec: {containers: [{$patch: merge}, {name: a}]}", "10:36", "spec.containers[0].$patch", "Unsupported value: 'merge'", "remove it: maps and items are merged"),
    ("another $patch of a list", "spec: {containers: [{$patch: add}, {name: a}]}", "10:36", "spec.containers[0].$patch", "Unsupported value: 'add'", "write one of append, prepend, replace"),
    ("$patch: Delete", "spec: {containers: [{name: c, $patch: Delete}]}", "10:45", "spec.containers[0].$patch", "Unsupported value: 'Delete'", "write delete"),
    ("$retainKeys", "spec: {volumes: [{name: a, $retainKeys: [name], emptyDir: {}}]}", "10:34", "spec.volumes[0].$retainKeys", "is no directive of overlays", "write KEY: null for each key to remove"),
    ("$setElementOrder", "spec: {$setElementOrder/containers: [{name: a}]}", "10:14", "spec.$setElementOrder/containers", "is no directive", "- $patch: prepend puts new ones first"),
    ("$deleteFromPrimitiveList", "metadata: {$deleteFromPrimitiveList/finalizers: [a]}", "10:18", "metadata.$deleteFromPrimitiveList/finalizers", "is no directive", "- $patch: replace and what remains"),
    ("another directive", "spec: {containers: [{name: a, $action: delete}]}", "10:37", "spec.containers[0].$action", "is no directive", "write $patch: delete in an item of a list"),
    ("a mark without brackets", "metadata: {+labels: {a: b}}", "10:18", "metadata.+labels", "'+labels' has no brackets", "write +(labels)"),
    ("a condition without brackets", "spec: {^containers: [{name: a}]}", "10:14", "spec.^containers", "has no brackets", "write ^(containers)"),
    ("a mark in a replaced list", "spec: {tolerations: [{+(key): x}]}", "10:29", "spec.tolerations[0].+(key)", "it is replaced as a whole", "write key"),
    ("$patch in a replaced list", "spec: {tolerations: [{key: x, $patch: delete}]}", "10:28", "spec.tolerations[0]", "it is replaced as a whole", "leave out"),
    ("half of a list with conditions", "spec: {tolerations: [{(key): x, value: v}, {key: k}]}", "10:50", "spec.tolerations[1]", "it is replaced as a whole", "conditions, or none"),
    ("a condition in +()", "spec: {+(securityContext): {(runAsUser): 0}}", "10:34", "spec.+(securityContext)", "nothing to look at", "beside"),
    ("an expression in a condition", "spec: {(hostname): '${object.kind}'}", "10:27", "spec.(hostname)", "an expression in a condition", "matchConditions"),
    ("no such mark", "spec: {a(hostname): x}", "10:14", "spec.a(hostname)", "there is no mark a()", ""),
    ("a key twice", "spec: {hostname: a, +(hostname): b}", "10:27", "spec.+(hostname)", 'duplicate key "hostname"', "once"),
    ("a bad pattern", "spec: {^(containers): x}", "10:29", "spec.^(containers)", "^() requires items of a list", ""),
    ("the kind", "kind: Pod", "10:7", "kind", "an overlay cannot change the kind of an object", "write (kind)"),
    ("no CEL", "metadata: {labels: {a: 'b ${object.}'}}", "10:41", "metadata.labels.a", "Syntax error: no viable alternative", "$${"),
    ("an unknown name", "metadata: {labels: {a: '${objekt.kind}'}}", "10:33", "metadata.labels.a", "undeclared reference to 'objekt'", "$${"),
    ("no closing brace", "metadata: {labels: {a: 'b ${object'}}", "10:33", "metadata.labels.a", "${ without a closing }", "$${"),
    ("an expression of a wrong type", "metadata: {labels: {a: '${1 + 1}'}}", "10:31", "metadata.labels.a", "expected a string, got int of the expression", "${string(...)}"),
    ("a text for a number, with an expression", "spec: {priority: '1${object.kind}'}", "10:25", "spec.priority", "expected a number, got a text with an expression in it", ""),
]  # fmt: skip


@pytest.mark.parametrize("row", REFUSED, ids=[row[0] for row in REFUSED])
def test_what_is_refused_when_a_policy_loads(row: tuple[str, str, str, str, str, str]) -> None:
    _, tree, place, path, message, hint = row
    found = problems(f"{HEAD}      {tree}\n")
    assert len(found) == 1, found
    problem = found[0]
    want = "spec.mutations[0].overlay." + path
    shown = re.sub(r"\[([^\]\d][^\]]*)\]", r".\1", problem.path)  # keys in brackets
    assert shown == want
    assert message in problem.message
    assert hint in problem.hint
    assert f"{problem.line}:{problem.column}" == place
    assert "^" in problem.excerpt


def test_all_that_is_wrong_is_told() -> None:
    text = HEAD + "      spec: {hostname: 1, nope: 2, priority: '${objekt.x} ${nothing}'}\n"
    assert [problem.path.rpartition(".")[2] for problem in problems(text)] == [
        "priority",
        "priority",
        "hostname",
        "nope",
    ]


def test_expressions_of_a_policy_that_is_wrong_elsewhere_are_told_too() -> None:
    text = HEAD.replace("  mutations:", "  nope: 1\n  mutations:")
    messages = [problem.message for problem in problems(text + "      spec: {hostname: '${x}'}\n")]
    assert any('unknown field "nope"' in message for message in messages)
    assert any("undeclared reference to 'x'" in message for message in messages)


def test_only_a_policy_has_overlays() -> None:
    spec = {
        "matchConstraints": {"resourceRules": [rule(operations=["CREATE"])]},
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "Overlay", "overlay": {"spec": {}}}],
    }
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy"}
    text = json.dumps({**head, "metadata": {"name": "m"}, "spec": spec})
    found = problems(text)
    assert [problem.path for problem in found] == [
        "spec.mutations[0].patchType",
        "spec.mutations[0].overlay",
    ]
    assert all("write a policyd.dev/v1 Policy" in problem.hint for problem in found)


FORMS: list[tuple[JSONObject, str]] = [
    ({"patchType": "Overlay"}, "overlay: Required value: must be specified when"),
    ({"patchType": "Overlay", "overlay": {}}, "overlay: Required value: an empty overlay"),
    ({"patchType": "Overlay", "overlay": []}, "overlay: expected an object, got a list"),
    ({"overlay": {"spec": {}}}, "patchType: Required value: JSONPatch or ApplyConfiguration, or"),
    (
        {"patchType": "JSONPatch", "jsonPatch": {"expression": "[]"}, "overlay": {"spec": {}}},
        "overlay: Invalid value: must not be specified when patchType is JSONPatch",
    ),
]


@pytest.mark.parametrize(("mutation", "message"), FORMS)
def test_form_of_a_mutation(mutation: JSONObject, message: str) -> None:
    document = policy(mutations=[mutation])
    found = [f"{each.path}: {each.message}" for each in problems(json.dumps(document))]
    assert any(message in text for text in found), found


def test_an_overlay_has_a_bounded_depth() -> None:
    tree: Any = "${object.kind}"
    for _ in range(900):
        tree = {"f": tree}
    document = json.dumps(overlaying({"spec": tree}))
    assert [each.message for each in problems(document)] == [
        "the overlay is deeper than 100 levels"
    ]
    wrong = json.dumps(overlaying({"spec": tree}, nope=1))
    assert {each.message for each in problems(wrong)} == {
        'unknown field "nope"',
        "the overlay is deeper than 100 levels",
    }


# Kinds.


def test_kinds_that_do_not_fit_are_named() -> None:
    rules = rule("pods", "services")
    found = problems(json.dumps(overlaying("spec: {hostNetwork: true}", rules)))
    assert [each.message for each in found] == ['/v1, Kind=Service: unknown field "hostNetwork"']


def test_a_kind_without_a_schema_is_refused_and_the_hint_says_what_to_add() -> None:
    document = json.dumps(overlaying("spec: {tags: [x]}", WIDGETS))
    (problem,) = problems(document)
    assert problem.path == "spec.matchConstraints.resourceRules[0].resources[0]"
    assert "no schema of widgets.example.com is known" in problem.message
    assert "add the CustomResourceDefinition widgets.example.com" in problem.hint
    assert problems(f"{document}\n---\n{CRD}") == []


def widget(**spec: Any) -> JSONObject:
    metadata = {"name": "w", "namespace": "shop"}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


def test_custom_resources_merge_by_their_definition() -> None:
    policies = load(overlaying("spec: {tags: [b], endpoints: [{port: 1, comment: c}]}", WIDGETS))
    after = mutated(policies, widget(tags=["a"], endpoints=[{"port": 1, "protocol": "TCP"}]))
    assert after["spec"] == {
        "tags": ["a", "b"],
        "endpoints": [{"port": 1, "protocol": "TCP", "comment": "c"}],
    }


ANY = rule("*", group="*", version="*", operations=["*"])


def test_kinds_of_wildcards_are_bound_when_they_come() -> None:
    policies = load(overlaying("spec: {hostNetwork: true}", ANY))
    assert mutated(policies, POD)["spec"]["hostNetwork"] is True
    message = ask(policies, widget(), webhook="mutate")["status"]["message"]
    assert 'overlay: spec.hostNetwork: unknown field "hostNetwork" in a example.com/v1' in message
    unknown = {**widget(), "apiVersion": "other.io/v1"}
    message = ask(policies, unknown, webhook="mutate")["status"]["message"]
    assert "overlay: no schema of other.io/v1, Kind=Widget is known" in message
    assert ask(policies, unknown, webhook="mutate")["status"]["code"] == 403


def test_metadata_can_be_changed_of_any_kind() -> None:
    policies = load(overlaying("metadata: {labels: {a: b}}", ANY))
    for obj in (POD, widget()):
        assert mutated(policies, obj)["metadata"]["labels"]["a"] == "b"


def test_another_definition_is_another_schema() -> None:
    document = json.dumps(overlaying("spec: {plain: [b]}", WIDGETS))
    first = compiler.compile_sources(loader.load_text(f"{document}\n---\n{CRD}"))
    plain = "plain: {type: array, items"
    keyed = CRD.replace(plain, "plain: {type: array, x-kubernetes-list-type: set, items")
    second = compiler.compile_sources(loader.load_text(f"{document}\n---\n{keyed}"), first)
    gone = CRD.replace("plain:", "other:")
    third = compiler.compile_sources(loader.load_text(f"{document}\n---\n{gone}"), second)
    assert not first.problems
    assert not second.problems
    assert [problem.message for problem in third.problems] == ['unknown field "plain"']
    assert first.policies[0] is not second.policies[0]


# Templates, order, repetition.


def test_templates_are_changed_as_their_pods() -> None:
    tree = 'spec: {containers: [{(image): "*:latest", imagePullPolicy: Always}]}'
    policies = load(overlaying(tree, podControllers=True))
    after = mutated(policies, deployment(container("c", "nginx:latest")))
    pulled = container("c", "nginx:latest", imagePullPolicy="Always")
    assert after["spec"]["template"]["spec"]["containers"] == [pulled]
    assert "patch" not in ask(policies, after, webhook="mutate")
    assert mutated(policies, POD)["spec"]["containers"] == [pulled]


def test_a_rule_for_controllers_themselves_means_their_templates_too() -> None:
    policies = load(overlaying("spec: {hostNetwork: true}", PODS, DEPLOYMENTS, podControllers=True))
    after = mutated(policies, deployment(container("c", "nginx:latest")))
    assert after["spec"]["template"]["spec"]["hostNetwork"] is True


def test_a_policy_is_invoked_again_when_a_later_one_changed_the_object() -> None:
    pull = 'spec: {containers: [{(name): "*", imagePullPolicy: Always}]}'
    side = "spec: {containers: [{name: side, image: s}]}"
    policies = load(
        overlaying(pull, name="a", reinvocationPolicy="IfNeeded"),
        overlaying(side, name="b"),
    )
    containers = mutated(policies, POD)["spec"]["containers"]
    assert [each["imagePullPolicy"] for each in containers] == ["Always", "Always"]


def test_mutations_of_a_policy_see_what_the_former_did() -> None:
    mutations = [
        {"patchType": "Overlay", "overlay": {"metadata": {"labels": {"a": "1"}}}},
        {"patchType": "Overlay", "overlay": {"metadata": {"labels": {"b": "${object.metadata.labels.a}2"}}}},
        {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'copy', from: '/metadata/labels/b', path: '/metadata/labels/c'}]"}},
    ]  # fmt: skip
    labels = mutated(load(policy(mutations=mutations)), POD)["metadata"]["labels"]
    assert labels == {"app": "web", "a": "1", "b": "12", "c": "12"}


def test_match_conditions_come_first() -> None:
    conditions = [{"name": "c", "expression": "request.namespace == 'other'"}]
    tree = "metadata: {labels: {a: '${object.none}'}}"
    assert mutated(load(overlaying(tree, matchConditions=conditions)), POD) == POD


def test_expressions_may_ask_the_authorizer() -> None:
    check = "authorizer.group('').resource('pods').check('delete').allowed()"
    policies = load(overlaying({"metadata": {"labels": {"admin": f"${{string({check})}}"}}}))
    for allowed in (True, False):
        rules = StaticAuthorizer([AuthorizerRule(resource="pods", allowed=allowed)])
        review = build_review(POD)
        response = policies.review(review, "mutate", authorizer=rules)["response"]
        (operation,) = json.loads(b64decode(response["patch"]))
        assert operation["value"] == str(allowed).lower()


def test_kept_and_counted_like_other_mutations() -> None:
    """Two policies of one place: the later one wins, and what it costs is counted."""
    texts = [
        json.dumps(overlaying("metadata: {labels: {app: a}}", name="a")),
        json.dumps(overlaying("metadata: {labels: {app: '${string(1 + 1)}'}}", name="b")),
    ]
    compiled = compiler.compile_strict(loader.load_text("\n---\n".join(texts)))
    assert mutated(PolicySet(compiled), POD)["metadata"]["labels"] == {"app": "2"}
    a, b = (each.counters.snapshot() for each in compiled.policies)
    assert (a["cost"], a["decisions"]["admit"]) == (0, 1)
    assert (b["cost"], b["decisions"]["admit"]) == (2, 1)
    assert a["seconds"] > 0
