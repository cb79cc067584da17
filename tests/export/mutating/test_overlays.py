"""What overlays become in an export, and which have none; over made-up Pods, an export makes the same
object as its source.
"""

import pytest
import yaml
from hypothesis import HealthCheck, Phase, assume, event, given, settings
from hypothesis import strategies as st

from policyd.errors import PolicyError
from policyd.json_types import JSONObject
from tests import policy_sets
from tests.builders.objects import container, pod
from tests.builders.policies import apply_configuration, json_patch, overlay, policy, rule
from tests.export.mutating.builders import (
    as_printed,
    expressions,
    outcome,
    outcomes,
    overlaid,
    part_of,
    why_not,
)
from tests.export.mutating.made_up import OVERLAYS, PODS
from tests.mutation.builders import CRD
from tests.sampling import examples

EXPRESSIONS = {
    "a label": (
        "metadata: {labels: {a: b}}",
        "Object{metadata: Object.metadata{labels: {'a': 'b'}}}",
    ),
    "a label unless it is there": (
        "metadata: {labels: {+(a): b}}",
        "Object{metadata: Object.metadata{labels: {?'a': object.?metadata.?labels.?a.orValue(null)"
        " == null ? optional.of('b') : optional.none()}}}",
    ),
    "an item found by its key": (
        "spec: {containers: [{name: x, stdin: true}]}",
        "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'x', stdin: true}]}}",
    ),
    "a removal": (
        "metadata: {annotations: {x/y: null}}",
        "(object.?metadata.?annotations[?'x/y'].hasValue() ? [JSONPatch{op: 'remove', "
        "path: '/metadata/annotations/x~1y'}] : [])",
    ),
    "an atomic map": (
        "spec: {nodeSelector: {a: b}}",
        "(object.?spec.?nodeSelector.orValue(null) == null ? [JSONPatch{op: 'add', "
        "path: '/spec/nodeSelector', value: {}}] : [])\n"
        "+ [JSONPatch{op: 'add', path: '/spec/nodeSelector/a', value: 'b'}]",
    ),
    "items for which a condition holds": (
        "spec: {initContainers: [{(image): '*:latest', imagePullPolicy: Always}]}",
        "object.?spec.?initContainers.orValue([]).transformList(index, item, "
        "item.?image.orValue(null) != null && item.image.endsWith(':latest'), "
        "JSONPatch{op: 'add', path: '/spec/initContainers/' + string(index) + '/imagePullPolicy', "
        "value: 'Always'})",
    ),
    "a condition of the whole overlay": (
        "spec: {X(hostname): null, hostNetwork: true}",
        "object.?spec.?hostname.orValue(null) == null\n"
        "? Object{spec: Object.spec{hostNetwork: true}}\n: Object{}",
    ),
    "an expression": (
        "metadata: {labels: {a: 'x-${object.metadata.name}'}}",
        "Object{metadata: Object.metadata{labels: {'a': 'x-' + string(object.metadata.name)}}}",
    ),
    "deleted items": (
        "spec: {initContainers: [{(name): 'x*', $patch: delete}]}",
        "object.?spec.?initContainers.orValue([]).transformList(index, item, "
        "item.?name.orValue(null) != null && item.name.startsWith('x'), JSONPatch{op: 'remove', "
        "path: '/spec/initContainers/' + string(index)}).reverse()",
    ),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_overlay_becomes_the_form_that_says_it_best(name: str) -> None:
    tree, wanted = EXPRESSIONS[name]
    assert expressions(part_of(overlaid(tree))) == [wanted]


REFUSED = {
    "spec: {containers: [{name: a, stdin: null}, {name: b, stdin: true}]}": (
        "spec.mutations[0].overlay.spec.containers: has no exact form in CEL: "
        "items found by their keys, beside other changes"
    ),
    "spec: {containers: [{(image): '>1Gi', stdin: true}]}": (
        "spec.mutations[0].overlay.spec.containers[0].(image): has no exact form in CEL: "
        "'>1Gi' compares quantities or durations"
    ),
    "metadata: {labels: {(a*): x, b: y}}": (
        "spec.mutations[0].overlay.metadata.labels.(a*): has no exact form in CEL: "
        "a condition on all keys of a form"
    ),
    "spec: {priority: '${object.metadata.generation}'}": (
        "spec.mutations[0].overlay.spec.priority: has no exact form in CEL: "
        "an expression of type dyn for a field of this type"
    ),
    "spec: {containers: [{(name): x, stdin: null}, {(stdin): true, tty: true}]}": (
        "spec.mutations[0].overlay.spec.containers[1]: has no exact form in CEL: "
        "its conditions are about what an item before it changes"
    ),
    "metadata: {finalizers: [f/a, f/a]}": (
        "spec.mutations[0].overlay.metadata.finalizers: has no exact form in CEL: "
        "two items with the same value are always an error"
    ),
    "metadata: {labels: {a: '${object.metadata.labels[?\"n\"]}'}}": (
        "spec.mutations[0].overlay.metadata.labels.a: has no exact form in CEL: "
        "an expression of type dyn for a field of this type"
    ),
    "metadata: {labels: {X(a): null}}": "spec.mutations[0].overlay: has no exact form in CEL: it changes nothing",
}


@pytest.mark.parametrize("tree", REFUSED)
def test_what_has_no_exact_form_is_a_reason(tree: str) -> None:
    assert why_not(overlaid(tree)) == [REFUSED[tree]]


def test_a_value_that_may_not_decode_is_refused_where_errors_are_ignored() -> None:
    tree = "spec: {overhead: {cpu: '${string(object.metadata.name)}'}, hostname: null}"
    assert why_not(overlaid(tree)) == []
    (reason,) = why_not(overlaid(tree, failurePolicy="Ignore"))
    assert "ends the request in the API server" in reason


@pytest.mark.parametrize("failure_policy", ["Fail", "Ignore"])
@pytest.mark.parametrize(
    "tree",
    [
        "spec: {overhead: {cpu: '${string(object.metadata.name)}'}}",
        "metadata: {labels: {a: '${object.spec.hostname}'}}",
        "metadata: {labels: {a: '${object.spec.priority}'}}",
        "spec: {nodeSelector: {a: '${object.metadata.annotations}'}}",
    ],
)
def test_an_error_has_the_same_outcome(tree: str, failure_policy: str) -> None:
    source = overlaid(tree, failurePolicy=failure_policy)
    for fields in ({}, {"hostname": "h", "priority": 1}):
        plain = pod(container("c", "i"), labels={"x": "y"})
        sent = as_printed({**plain, "spec": {**plain["spec"], **fields}})
        want, got = outcomes(source, sent)
        assert got == want


def test_an_integer_that_may_be_too_large_is_no_apply_configuration() -> None:
    """The API server makes another number of it there."""
    part = part_of(overlaid("spec: {priority: '${size(object.metadata.name) * 1000000000}'}"))
    (expression,) = expressions(part)
    assert expression.startswith("[JSONPatch{op: 'add', path: '/spec/priority', value: (size(")
    sent = as_printed(pod(container("c", "i")))
    assert outcome(part.documents, sent) is None


def test_a_map_of_an_expression_is_merged_by_key() -> None:
    pool = "object.metadata.?labels[?'pool'].hasValue()"
    made = "optional.of({'x/y': string(object.metadata.name)})"
    source = overlaid({"spec": {"nodeSelector": f"${{{pool} ? {made} : optional.none()}}"}})
    for labels in ({}, {"pool": "a"}):
        for selector in ({}, {"x/y": "z", "a": "b"}):
            sent = as_printed(pod(container("c", "i"), labels=labels, nodeSelector=selector))
            want, got = outcomes(source, sent)
            assert got == want


WIDGETS = rule("widgets", group="example.com")


def widget(**spec: object) -> JSONObject:
    metadata: JSONObject = {"name": "w", "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    "tree",
    [
        "spec: {text: a, plain: [b]}",
        "spec: {labels: {a: b}}",
        "spec: {free: {x: {y: 1}}}",
        "spec: {tags: [a]}",
        "spec: {endpoints: [{port: 1, comment: c}]}",
        "spec: {endpoints: [{X(comment): null, comment: c}]}",
        "spec: {plain: [{$patch: append}, b]}",
        "spec: {plain: [{$patch: prepend}, b, c]}",
        "spec: {tags: [{$patch: prepend}, a]}",
        "spec: {endpoints: [{$patch: prepend}, {port: 2, comment: c}]}",
        "spec: {+(text): a, count: null}",
    ],
)
def test_custom_resources_may_not_fit_their_schema(tree: str) -> None:
    crd = yaml.safe_load(CRD)
    source = overlaid(tree, WIDGETS)
    for spec in (
        {},
        {"text": None, "labels": None, "plain": None, "tags": None, "free": None},
        {"labels": 5, "plain": {"a": 1}, "tags": "x", "free": [1], "text": {}, "endpoints": 3},
        {"labels": {"a": "c"}, "plain": ["b"], "tags": ["b", "a", "a"], "count": 1},
        {"endpoints": [{"port": 1}, {"port": 1, "protocol": "UDP"}], "free": {"x": {"z": 2}}},
    ):
        want, got = outcomes(source, widget(**spec), crd)
        assert got == want, (tree, spec)


def test_kinds_must_agree() -> None:
    both = (rule("pods"), rule("services"))
    same = part_of(overlaid("metadata: {labels: {a: b}}", *both))
    assert len(expressions(same)) == 1
    (reason,) = why_not(overlaid("metadata: {labels: {a: b}}", rule("*")))
    assert "known only in requests" in reason


def test_mutations_of_subresources_are_known_only_in_requests() -> None:
    (reason,) = why_not(overlaid("metadata: {labels: {a: b}}", rule("pods/status")))
    assert "known only in requests" in reason


def test_only_creations_and_updates_are_mutated() -> None:
    rules = rule("pods", operations=["*"]), rule("pods", operations=["DELETE"])
    (document, _) = part_of(overlaid("metadata: {labels: {a: b}}", *rules)).documents
    (found,) = document["spec"]["matchConstraints"]["resourceRules"]
    assert found["operations"] == ["CREATE", "UPDATE"]
    never = overlaid("metadata: {labels: {a: b}}", rule("pods", operations=["DELETE"]))
    assert why_not(never) == [
        "spec.matchConstraints.resourceRules: its rules match neither CREATE nor UPDATE, "
        "so it mutates nothing"
    ]


LIMITED = overlay(
    {"spec": {"containers": [{"(name)": "*", "resources": {"limits": {"cpu": "1"}}}]}}
)
ADDED = overlay({"spec": {"containers": [{"name": "new", "image": "i"}]}})
DEFAULTS = {
    "a request follows a limit": (
        LIMITED,
        overlay({"spec": {"containers": [{"(resources)": {"X(requests)": None}, "tty": True}]}}),
        "requests",
    ),
    "a new container gets a pull policy": (
        ADDED,
        overlay({"spec": {"containers": [{"(name)": "*", "+(imagePullPolicy)": "Never"}]}}),
        "imagePullPolicy",
    ),
    "so does one of a patch": (
        json_patch("[JSONPatch{op: 'add', path: '/spec/containers/-', value: {'name': 'n'}}]"),
        json_patch("object.spec.containers.all(c, has(c.imagePullPolicy)) ? [] : [JSONPatch{}]"),
        "imagePullPolicy",
    ),
    "and one of an ApplyConfiguration": (
        apply_configuration(
            "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'n'}]}}"
        ),
        json_patch("object.spec.containers.all(c, has(c.imagePullPolicy)) ? [] : [JSONPatch{}]"),
        "imagePullPolicy",
    ),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_mutation_that_may_see_a_default_is_refused(name: str) -> None:
    first, second, field = DEFAULTS[name]
    (reason,) = why_not(policy("p", mutations=[first, second]))
    assert reason.startswith("spec.mutations[1].")
    assert reason.endswith(f"may see the default of {field}")
    assert why_not(policy("p", mutations=[second])) == []


def test_a_mutation_that_runs_again_may_see_defaults() -> None:
    tree = {"spec": {"containers": [{"(imagePullPolicy)": "Never", "imagePullPolicy": None}]}}
    assert why_not(policy("p", mutations=[overlay(tree)])) == []
    (reason,) = why_not(policy("p", mutations=[overlay(tree)], reinvocationPolicy="IfNeeded"))
    assert reason.endswith("may see the default of imagePullPolicy")


def test_two_mutations_in_turn() -> None:
    source = policy(
        "p",
        mutations=[
            overlay({"metadata": {"labels": {"a": "1"}}}),
            overlay({"metadata": {"annotations": {"b": "${object.metadata.labels.a}"}}}),
        ],
    )
    sent = as_printed(pod(container("c", "i")))
    want, got = outcomes(source, sent)
    assert want["metadata"]["annotations"] == {"b": "1"}
    assert got == want


def test_the_kind_of_built_in_params_is_not_seen() -> None:
    source = policy(
        "p",
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        paramRef={"name": "c", "namespace": "default", "parameterNotFoundAction": "Deny"},
        mutations=[overlay({"metadata": {"labels": {"a": "${params.kind}"}}})],
    )
    assert why_not(source) == [
        "spec.mutations[0].overlay.metadata.labels.a: "
        "the API server does not show apiVersion and kind of a ConfigMap to mutations"
    ]


@settings(
    max_examples=examples(120, 10),
    deadline=None,
    # A counterexample takes minutes to shrink; the first one says enough.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(OVERLAYS, st.lists(PODS, min_size=4, max_size=4), st.sampled_from(["Fail", "Ignore"]))
def test_an_exported_overlay_makes_the_same_object(
    tree: JSONObject, pods: list[JSONObject], failure_policy: str
) -> None:
    source = overlaid(tree, failurePolicy=failure_policy)
    try:
        policy_sets.load(source)
    except PolicyError:
        assume(False)
    part = part_of(source)
    event("exported" if not part.reasons else part.reasons[0].message)
    assume(not part.reasons)
    for each in pods:
        sent = as_printed(each)
        want = outcome([source], sent)
        assert outcome(part.documents, sent) == want
