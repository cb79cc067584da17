"""``${CEL}`` in overlays: types, texts, what is left out, errors, budgets; judged as policies."""

import json
from time import perf_counter_ns
from typing import Any

import pytest

from policyd._core.plan.mutated_tree import MutatedTree
from policyd._core.plan.plan import Subject, TimedOut
from policyd.mutation.overlays.strings import Unclosed, pieces
from policyd.mutation.overlays.tree import expressions_in
from policyd.policy.compile import compiler
from policyd.policy.source import loader
from tests.builders.objects import container, pod
from tests.mutation.overlays.builders import load, mutated, overlaying
from tests.policy_sets import ask

POD = pod(container("c", "nginx"), container("d", "x"), labels={"app": "web"})
EXPENSIVE = "lists.range(300).all(a, lists.range(400).all(b, a + b >= 0))"

# (name, overlay, where to look, what is there)
VALUES: list[tuple[str, str, list[str | int], Any]] = [
    ("a string", "metadata: {labels: {t: '${request.namespace}'}}", ["metadata", "labels", "t"], "shop"),
    ("in a text", "metadata: {labels: {t: 'a-${request.namespace}.b'}}", ["metadata", "labels", "t"], "a-shop.b"),
    ("two in a text", "metadata: {labels: {t: '${object.metadata.name}${object.kind}'}}", ["metadata", "labels", "t"], "webPod"),
    ("a number in a text", "metadata: {labels: {t: 'n${size(object.spec.containers)}'}}", ["metadata", "labels", "t"], "n2"),
    ("true in a text", "metadata: {labels: {t: 'n-${1 < 2}'}}", ["metadata", "labels", "t"], "n-true"),
    ("a double in a text", "metadata: {labels: {t: 'n-${1.5}'}}", ["metadata", "labels", "t"], "n-1.5"),
    ("a duration in a text", "metadata: {labels: {t: 'n-${duration(\"90s\")}'}}", ["metadata", "labels", "t"], "n-90s"),
    ("bytes in a text", "metadata: {labels: {t: 'n-${b\"x\"}'}}", ["metadata", "labels", "t"], "n-x"),
    ("a number", "spec: {priority: '${size(object.spec.containers)}'}", ["spec", "priority"], 2),
    ("a boolean", "spec: {hostNetwork: '${1 < 2}'}", ["spec", "hostNetwork"], True),
    ("a quantity", "spec: {overhead: {cpu: '${quantity(\"1\").add(quantity(\"500m\"))}'}}", ["spec", "overhead", "cpu"], "1500m"),
    ("a map", "metadata: {labels: '${{\"x\": \"y\"}}'}", ["metadata", "labels"], {"app": "web", "x": "y"}),
    ("a map with null", "metadata: {labels: '${{\"app\": null}}'}", ["metadata"], {"name": "web", "namespace": "shop"}),
    ("a list with keys", "spec: {containers: '${[{\"name\": \"d\", \"image\": \"y\"}]}'}", ["spec", "containers", 1], {"name": "d", "image": "y"}),
    ("in a new item", "spec: {containers: [{name: '${object.metadata.name}-side', image: i}]}", ["spec", "containers", 2], {"name": "web-side", "image": "i"}),
    ("in a list that is replaced", "spec: {tolerations: [{key: '${request.namespace}', operator: Exists}]}", ["spec", "tolerations"], [{"key": "shop", "operator": "Exists"}]),
    ("null", "metadata: {labels: {app: '${null}', b: c}}", ["metadata", "labels"], {"b": "c"}),
    ("none leaves the key", "metadata: {labels: {app: '${object.?none}'}}", ["metadata", "labels", "app"], "web"),
    ("some", "metadata: {labels: {app: '${object.?kind}'}}", ["metadata", "labels", "app"], "Pod"),
    ("none in a list", "spec: {tolerations: ['${object.?none}', {operator: Exists}]}", ["spec", "tolerations"], [{"operator": "Exists"}]),
    ("a literal ${", "metadata: {annotations: {a: 'b $${HOME}'}}", ["metadata", "annotations", "a"], "b ${HOME}"),
    ("literal beside another", "metadata: {annotations: {a: '$${x}-${request.namespace}'}}", ["metadata", "annotations", "a"], "${x}-shop"),
    ("params", "metadata: {labels: {t: '${params.team}'}}", ["metadata", "labels", "t"], "blue"),
    ("a variable", "metadata: {labels: {t: '${variables.name}'}}", ["metadata", "labels", "t"], "web!"),
    ("namespaceObject", "metadata: {labels: {t: '${namespaceObject.metadata.name}'}}", ["metadata", "labels", "t"], "shop"),
    ("braces in a text of CEL", "metadata: {annotations: {a: '${\"}\" + \"{\"}'}}", ["metadata", "annotations", "a"], "}{"),
    ("once for all items", 'spec: {containers: [{(name): "*", workingDir: "/${request.namespace}"}]}', ["spec", "containers", 1, "workingDir"], "/shop"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("overlay", "path", "want"), [row[1:] for row in VALUES], ids=[row[0] for row in VALUES]
)
def test_values_of_expressions(overlay: str, path: list[str | int], want: Any) -> None:
    policies = load(
        overlaying(
            overlay,
            params={"team": "blue"},
            variables=[{"name": "name", "expression": "object.metadata.name + '!'"}],
        )
    )
    value: Any = mutated(policies, POD)
    for step in path:
        value = value[step]
    assert value == want


# (name, overlay, the end of the message)
FAILURES = [
    (
        "an error",
        "metadata: {labels: {t: '${object.none}'}}",
        "overlay: expression 'object.none' resulted in error: no such key: none",
    ),
    (
        "an error in a text",
        "metadata: {labels: {t: 'x${object.none}'}}",
        "overlay: expression 'object.none' resulted in error: no such key: none",
    ),
    (
        "a wrong type",
        "metadata: {labels: {t: '${object.spec.containers}'}}",
        "overlay: metadata.labels.t: expected string, got &value",
    ),
    (
        "a wrong type deeper",
        "metadata: {labels: '${dyn({\"a\": 1})}'}",
        "overlay: metadata.labels.a: expected string, got &value",
    ),
    (
        "an unknown field",
        "spec: {securityContext: '${dyn({\"a\": 1})}'}",
        "overlay: spec.securityContext.a: field not declared in schema",
    ),
    (
        "a map in a text",
        "metadata: {labels: {t: 'x${dyn({})}'}}",
        "overlay: expression 'dyn({})' resulted in error: a string cannot contain a value of type map",
    ),
    (
        "null in a text",
        "metadata: {labels: {t: 'x${dyn(null)}'}}",
        "a string cannot contain a value of type null_type",
    ),
    (
        "a key that is no string",
        "metadata: {labels: '${dyn({1: \"a\"})}'}",
        "the key 1 of a map is not a string",
    ),
    ("a type", "metadata: {labels: {t: '${dyn(type(1))}'}}", "cannot be written into an object"),
    (
        "two items of one key",
        "spec: {containers: [{name: '${object.kind}', image: a}, {name: Pod, image: b}]}",
        "overlay: spec.containers: two items of the overlay have the same key",
    ),
    (
        "a value that does not decode",
        "spec: {overhead: {cpu: '${object.metadata.name}'}}",
        "unable to convert unstructured object to /v1, Kind=Pod: quantities must match",
    ),
]


@pytest.mark.parametrize(
    ("overlay", "message"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES]
)
def test_errors_follow_the_failure_policy(overlay: str, message: str) -> None:
    denied = ask(load(overlaying(overlay)), POD, webhook="mutate")
    assert not denied["allowed"]
    assert denied["status"]["code"] == 403
    assert message in denied["status"]["message"]
    assert ask(load(overlaying(overlay, failurePolicy="Ignore")), POD, webhook="mutate")["allowed"]


def test_expressions_are_evaluated_only_where_they_are_needed() -> None:
    bad = "${object.none}"
    overlays = [
        f"metadata: {{labels: {{(app): other, t: '{bad}'}}}}",
        f"metadata: {{labels: {{+(app): '{bad}'}}}}",
        f"spec: {{containers: [{{(name): z, image: '{bad}'}}]}}",
    ]
    for overlay in overlays:
        assert mutated(load(overlaying(overlay)), POD) == POD


def test_all_expressions_of_a_mutation_have_one_budget() -> None:
    labels = {f"l{i}": f"${{string({EXPENSIVE})}}" for i in range(12)}
    few = load(overlaying({"metadata": {"labels": {"l": labels["l0"]}}}))
    assert mutated(few, POD)["metadata"]["labels"]["l"] == "true"
    answer = ask(load(overlaying({"metadata": {"labels": labels}})), POD, webhook="mutate")
    assert "running out of cost budget" in answer["status"]["message"]


def test_an_expression_is_evaluated_once_for_all_items() -> None:
    containers = [{"name": f"c{i}", "image": "x"} for i in range(20)]
    pod = {**POD, "spec": {"containers": containers}}
    overlay = {"spec": {"containers": [{"(name)": "*", "stdin": f"${{{EXPENSIVE}}}"}]}}
    after = mutated(load(overlaying(overlay)), pod)
    assert all(container["stdin"] for container in after["spec"]["containers"])


def test_a_deadline_ends_the_mutation() -> None:
    labels = {f"l{i}": f"${{string({EXPENSIVE})}}" for i in range(6)}
    answer = ask(
        load(overlaying({"metadata": {"labels": labels}}, timeoutSeconds=0.02)),
        POD,
        webhook="mutate",
    )
    assert not answer["allowed"]
    assert "deadline" in answer["status"]["message"]


def test_a_deadline_ends_the_search_for_what_fulfils_the_conditions() -> None:
    document = overlaying({"spec": {"containers": [{"(image)": "*a?b", "stdin": True}]}})
    policies = compiler.compile_strict(loader.load_text(json.dumps(document)))
    (made,) = policies.policies
    (mutation,) = made.mutations
    assert made.mutation is not None
    pods = policies.schemas.target(("", "v1", "Pod"))
    # Each item is quick; all of them take some hundred milliseconds.
    item = {"name": "c", "image": "a" * 100 + "xb"}
    subject = Subject({**POD, "spec": {"containers": [item] * 3_000_000}}, None, {}, {}, None)
    tree = MutatedTree(subject.object, None)
    with pytest.raises(TimedOut):
        mutation.step.change(made.mutation, subject, None, pods, perf_counter_ns() + 10**7, tree)


PIECES = [
    ("", [""]),
    ("a", ["a"]),
    ("${a}", ["a"]),
    ("x${a}y${ {'}': 1} }", ["x", "a", "y", " {'}': 1} "]),
    ("$${a}", ["${a}"]),
    ("$$${a}", ["$${a}"]),
    ("$a {b} $", ["$a {b} $"]),
]


@pytest.mark.parametrize(("text", "want"), PIECES)
def test_where_expressions_begin_and_end(text: str, want: list[str]) -> None:
    found = [piece if isinstance(piece, str) else text[slice(*piece)] for piece in pieces(text)]
    assert found == want


def test_many_expressions_of_a_string_are_found_in_linear_time() -> None:
    """Each was searched for its end to the end of the string: minutes for these."""
    assert len(pieces("${a}" * 25_000)) == 25_000


@pytest.mark.parametrize(("text", "at"), [("${", 0), ("a${b", 1), ("${a} ${'}'", 5)])
def test_an_expression_has_to_end(text: str, at: int) -> None:
    with pytest.raises(Unclosed) as caught:
        pieces(text)
    assert caught.value.at == at


def test_expressions_of_a_tree() -> None:
    tree = {"a": ["x", "${b}${c}"], "d": {"e": "${"}}
    found = [(path, text[start:end]) for path, text, start, end in expressions_in(tree, ("o",))]
    assert found == [(("o", "a", 1), "b"), (("o", "a", 1), "c")]
