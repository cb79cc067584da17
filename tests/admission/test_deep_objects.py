"""Objects of up to 1,000 levels are mutated, matched and exempted like others."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from policyd._core.json.equality import equal
from policyd._core.patch.apply import apply
from policyd.admission import engine
from policyd.admission.confidential import is_confidential, redacted
from policyd.admission.review import AdmissionRequest, decode
from policyd.json_types import JSONObject
from policyd.observability.metrics import PrometheusRecorder
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import definition
from tests.builders.policies import apply_configuration, json_patch, overlay, policy, rule
from tests.policy_sets import compiled

FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
STRINGS = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
SCHEMA: JSONObject = {
    "type": "object",
    "properties": {"deep": FREE, "note": {"type": "string"}, "empty": STRINGS},
}
DEPTHS = (2, 240, 330, 480, 500, 700, 960, 985, 990, 996)
GADGETS = {"resourceRules": [rule("gadgets", group="x.io")]}


def chain(depth: int, inner: Any = 1) -> Any:
    value = inner
    for _ in range(depth):
        value = {"a": value}
    return value


def gadget(depth: int, **labels: Any) -> JSONObject:
    metadata = {"name": "x", "namespace": "shop", "labels": labels}
    return {
        "apiVersion": "x.io/v1",
        "kind": "Gadget",
        "metadata": metadata,
        "spec": {"deep": chain(depth)},
    }


def mutating(*mutations: JSONObject) -> CompiledPolicySet:
    named = zip("abc", mutations, strict=False)
    return compiled(
        definition("Gadget", "x.io", SCHEMA),
        *(policy(name, match=GADGETS, mutations=[each]) for name, each in named),
    )


def answer(policies: CompiledPolicySet, obj: JSONObject, webhook: Any) -> Any:
    request = decode(build_review(obj))
    recorder = PrometheusRecorder()
    response = engine.review(policies, request, webhook=webhook, recorder=recorder)
    assert set(recorder.errors.counts.values()) == {0}
    return response, recorder


@pytest.fixture(autouse=True)
def _no_defects(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """No policy has an internal error."""
    yield
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []


SPEC = "spec: Object.spec{note: 'x', empty: []}"
MUTATIONS = {
    "ApplyConfiguration": apply_configuration(f"Object{{{SPEC}}}"),
    "JSONPatch": json_patch("[JSONPatch{op: 'add', path: '/spec/note', value: 'x'}]"),
    "a test": json_patch(
        "[JSONPatch{op: 'test', path: '/spec/deep/a', value: 'no'},"
        " JSONPatch{op: 'add', path: '/spec/note', value: 'x'}]"
    ),
    "Overlay": overlay({"spec": {"note": "x"}}),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_every_kind_of_mutation_mutates_them(name: str) -> None:
    policies = mutating(MUTATIONS[name])
    for depth in DEPTHS:
        response, _ = answer(policies, gadget(depth), "mutate")
        assert response.allowed and response.code == 0, (depth, response)
        assert (response.patch is not None) == (name != "a test")


def test_a_change_far_below_is_a_conflict_like_any_other() -> None:
    for depth in DEPTHS:
        path = "/spec/deep" + "/a" * depth
        patches = [f"[JSONPatch{{op: 'replace', path: '{path}', value: {n}}}]" for n in (2, 3)]
        response, recorder = answer(mutating(*map(json_patch, patches)), gadget(depth), "mutate")
        assert response.allowed, response
        assert recorder.conflicts == {"b": 1}
        assert recorder.patches == {"a": 1, "b": 1}


def test_a_label_that_is_no_string_neither_exempts_nor_fails() -> None:
    policies = compiled(
        policy(
            "p",
            match={
                **GADGETS,
                "objectSelector": {
                    "matchExpressions": [
                        {"key": "team", "operator": "In", "values": ["a", "b"]},
                        {"key": "team", "operator": "NotIn", "values": ["c", "d"]},
                    ]
                },
            },
            exceptions=[
                {
                    "name": "e",
                    "reason": "r",
                    "objectSelector": {
                        "matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]
                    },
                }
            ],
            validations=[{"expression": "false", "message": "denied"}],
        )
    )
    labels: tuple[Any, ...] = (1, True, None, [], {}, chain(900), chain(996))
    for label in labels:
        response, _ = answer(policies, gadget(1, team=label), "validate")
        assert not response.allowed and "denied" in response.message, label
    assert answer(policies, gadget(1, team="a"), "validate")[0].allowed  # exempt


def test_secrets_are_found_and_hidden_in_lists_of_lists() -> None:
    secret = {
        "kind": "Secret",
        "metadata": {"annotations": {"a": "of hush"}},
        "data": {"k": "hush"},
    }
    for depth in range(1, 490):
        nested: Any = secret
        for _ in range(depth):
            nested = {"kind": "List", "items": [nested, {"kind": "Pod"}]}
        request = AdmissionRequest({**build_review(gadget(1))["request"], "object": nested})
        assert is_confidential(request), depth
        hidden = redacted(request)["object"]
        for _ in range(depth):
            (hidden, _) = hidden["items"]
        assert "hush" not in str(hidden), depth


def test_an_object_changed_far_below_is_the_one_that_the_patch_makes() -> None:
    for depth in DEPTHS:
        path = "/spec/deep" + "/a" * depth
        policies = mutating(json_patch(f"[JSONPatch{{op: 'replace', path: '{path}', value: 2}}]"))
        response, _ = answer(policies, gadget(depth), "mutate")
        obj = gadget(depth)
        want = {**obj, "spec": {"deep": chain(depth, 2)}}
        assert equal(apply(json.loads(response.patch), obj), want)
