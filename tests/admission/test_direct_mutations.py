"""Direct policies are invoked in one call of the core. All others are invoked one by one; the results
are the same: response, counters, metrics and log.
"""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.admission import engine
from policyd.admission.review import decode, encode
from policyd.json_types import JSONObject
from policyd.observability.logs import Log
from policyd.observability.metrics import PrometheusRecorder
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import container, pod
from tests.builders.policies import (
    add_label,
    apply_configuration,
    json_patch,
    map_,
    map_binding,
    overlay,
    policy,
)
from tests.policy_sets import compiled

POD = pod(container("c", "nginx"), container("d", "nginx"), labels={"app": "web"})
ADDS = add_label("'1'", "y")
FAILS = add_label("string(object.nope)")
REMOVES = json_patch("[JSONPatch{op: 'remove', path: '/metadata/labels/app'}]")
SETS = apply_configuration("Object{metadata: Object.metadata{labels: {'app': 'new'}}}")
MISFITS = apply_configuration("Object{spec: Object.spec{nope: 1}}")
UNDECODABLE = json_patch("[JSONPatch{op: 'add', path: '/spec/nope', value: 1}]")
CHANGES_KIND = json_patch("[JSONPatch{op: 'replace', path: '/kind', value: 'Secret'}]")
NUMBER = json_patch("[JSONPatch{op: 'add', path: '/metadata/labels/n', value: 1}]")
OVERLAYS = overlay({"spec": {"containers": [{"(name)": "*", "tty": True}]}})
OVERLAY_FAILS = overlay({"metadata": {"labels": {"a": "${string(object.nope)}"}}})
NOTHING = overlay({"metadata": {"labels": {"app": "web"}}})
HOLDS = [{"name": "is", "expression": "has(object.metadata.labels)"}]
HOLDS_NOT = [{"name": "no", "expression": "object.metadata.name == '-'"}]
HAS_ERROR = [{"name": "bad", "expression": "object.nope == '-'"}]
AGAIN = {"reinvocationPolicy": "IfNeeded"}


def a(*mutations: JSONObject, **spec: object) -> JSONObject:
    return policy("a", mutations=list(mutations), **spec)


LATER = policy("b", mutations=[SETS, OVERLAYS], matchConditions=HOLDS)
SETS_OF_POLICIES: dict[str, list[JSONObject]] = {
    "nothing wrong": [a(ADDS), LATER],
    "two mutations": [a(ADDS, OVERLAYS), LATER],
    "no change": [a(NOTHING), LATER],
    "conditions": [a(ADDS, matchConditions=HOLDS), LATER],
    "conditions are false": [a(ADDS, matchConditions=HOLDS_NOT), LATER],
    "conditions fail": [a(ADDS, matchConditions=HAS_ERROR), LATER],
    "conditions fail, ignored": [a(ADDS, matchConditions=HAS_ERROR, failurePolicy="Ignore"), LATER],
    "an expression fails": [a(FAILS), LATER],
    "an expression fails, ignored": [a(FAILS, failurePolicy="Ignore"), LATER],
    "one of two fails": [a(REMOVES, FAILS, failurePolicy="Ignore"), LATER],
    "the other fails": [a(FAILS, ADDS, **AGAIN, failurePolicy="Ignore"), LATER],
    "does not fit": [a(MISFITS), LATER],
    "does not decode": [a(UNDECODABLE, failurePolicy="Ignore"), LATER],
    "changes the kind": [a(ADDS, CHANGES_KIND, failurePolicy="Ignore"), LATER],
    "of another type": [a(NUMBER, failurePolicy="Ignore"), LATER],
    "an overlay fails": [a(OVERLAY_FAILS, failurePolicy="Ignore"), LATER],
    "a conflict": [a(SETS), policy("b", mutations=[REMOVES]), policy("c", mutations=[SETS])],
    "a conflict of a policy that fails": [
        a(SETS),
        policy("b", mutations=[REMOVES, FAILS], failurePolicy="Ignore"),
        policy("c", mutations=[ADDS, SETS]),
    ],
    "reinvoked": [
        a(json_patch("[JSONPatch{op: 'add', path: '/spec/x', value: 1}]"), failurePolicy="Ignore"),
        policy("b", mutations=[OVERLAYS], **AGAIN, matchConditions=HOLDS),
        policy("c", mutations=[SETS, REMOVES]),
        policy("d", mutations=[add_label("string(size(object.metadata.labels))")], **AGAIN),
    ],
    "between others": [
        a(ADDS, exceptions=[{"name": "e", "reason": "r", "namespaces": ["other"]}]),
        LATER,
        policy("c", mutations=[add_label("namespaceObject.metadata.name")]),
        policy("d", mutations=[add_label("'4'", "d")]),
    ],
    "a MutatingAdmissionPolicy": [
        map_("a", mutations=[ADDS], reinvocationPolicy="IfNeeded"),
        map_binding("a", policyName="a"),
        LATER,
    ],
}


def outcome(policies: CompiledPolicySet, obj: JSONObject) -> tuple[object, ...]:
    stream = io.BytesIO()
    recorder = PrometheusRecorder(Log(stream))
    request = decode(build_review(obj))
    response = engine.review(policies, request, webhook="mutate", recorder=recorder)
    snapshots = [each.counters.snapshot() for each in policies.policies]
    counted = [(each["decisions"], each["cost"]) for each in snapshots]
    times = [each["seconds"] > 0 for each in snapshots]
    lines = [line.partition(b'"message"')[2] for line in stream.getvalue().splitlines()]
    return encode(response), counted, times, lines, recorder.conflicts, recorder.patches


@pytest.mark.parametrize("name", SETS_OF_POLICIES)
def test_the_result_is_that_of_invoking_policies_one_by_one(name: str) -> None:
    documents = SETS_OF_POLICIES[name]
    directly, one_by_one = compiled(*documents), compiled(*documents)
    assert any(each.direct_mutation is not None for each in directly.policies)
    for each in one_by_one.policies:
        object.__setattr__(each, "direct_mutation", None)
    assert outcome(directly, POD) == outcome(one_by_one, POD)


MUTATIONS = st.sampled_from(
    [
        ADDS,
        FAILS,
        REMOVES,
        SETS,
        MISFITS,
        UNDECODABLE,
        CHANGES_KIND,
        NUMBER,
        OVERLAYS,
        OVERLAY_FAILS,
    ]
)
CONDITIONS = st.sampled_from([[], [], HOLDS, HOLDS_NOT, HAS_ERROR])
POLICIES = st.lists(
    st.builds(
        lambda mutations, conditions, failure, again: {
            "mutations": mutations,
            "matchConditions": conditions,
            "failurePolicy": failure,
            **(AGAIN if again else {}),
        },
        st.lists(MUTATIONS, min_size=1, max_size=2),
        CONDITIONS,
        st.sampled_from(["Ignore", "Ignore", "Fail"]),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


@given(POLICIES)
def test_the_results_are_the_same_whatever_the_policies_are(specs: list[JSONObject]) -> None:
    documents = [policy(f"p{number}", **spec) for number, spec in enumerate(specs)]
    directly, one_by_one = compiled(*documents), compiled(*documents)
    for each in one_by_one.policies:
        object.__setattr__(each, "direct_mutation", None)
    assert outcome(directly, POD) == outcome(one_by_one, POD)


def test_what_may_wait_for_a_lookup_is_not_direct() -> None:
    (made,) = compiled(a(add_label("namespaceObject.metadata.name"))).policies
    assert made.direct_mutation is None
    (made,) = compiled(a(ADDS, timeoutSeconds=1)).policies
    assert made.direct_mutation is None
