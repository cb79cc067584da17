"""The patch as it is sent: replayed with the library of others on thousands of trees and on recorded
objects, value for value as JSON writes it (1.0 is not 1), and never sent where it does not replay.
"""

import copy
import json
from base64 import b64decode
from typing import Any

import jsonpatch
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd import PolicySet
from policyd import build_review as build
from policyd._core.patch.apply import diff
from policyd.admission.mutating.webhook import MutatedObject
from policyd.json_types import JSONObject
from policyd.mutation import Schemas
from policyd.policy.suite.reviews import build_review
from tests.builders.policies import add_label, policy, rule
from tests.policy_sets import POD, load
from tests.sampling import examples
from tests.shared import reviews

SCHEMAS = Schemas.builtin()
KEYS = ["", "~", "/", "~1", "a/b", "~0~1", "é", "键", "\u0000", "😀", "0", "01", "a b", '"', "name"]
NUMBERS = [0, 1, -1, 1.0, -0.0, 0.5, 1e3, 1e21, 5e-324, 1.7976931348623157e308]
LARGE = [2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 9007199254740993]
leaves = st.sampled_from([None, True, False, "", "a", "ä\u2028", *NUMBERS, *LARGE])
keys = st.sampled_from(KEYS)
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(keys, trees, min_size=1, max_size=3)


def written(value: Any) -> str:
    """The JSON text: 1 and 1.0 differ, the order of keys does not count."""
    return json.dumps(value, sort_keys=True)


def replayed(old: Any, new: Any, keys_of: Any = None) -> list[JSONObject]:
    """The operations, after the bytes that would be sent have made the new tree of the old one."""
    before = written([old, new])
    sent = orjson.dumps(diff(old, new, keys_of))
    operations: list[JSONObject] = orjson.loads(sent)
    assert written(jsonpatch.apply_patch(copy.deepcopy(old), sent.decode())) == written(new)
    assert written([old, new]) == before
    assert {each["op"] for each in operations} <= {"add", "remove", "replace"}
    return operations


@given(objects, objects)
@settings(max_examples=examples(1000))
def test_trees_that_have_little_in_common(old: JSONObject, new: JSONObject) -> None:
    assert bool(replayed(old, new)) is (written(old) != written(new))


@st.composite
def changed(draw: st.DrawFn) -> tuple[JSONObject, JSONObject]:
    """An object, and it with a few places changed: what a mutation makes."""
    old = draw(objects)
    new = copy.deepcopy(old)
    for _ in range(draw(st.integers(1, 3))):
        node: Any = new
        for _ in range(draw(st.integers(0, 4))):
            below = node.values() if isinstance(node, dict) else node
            inner = [each for each in below if isinstance(each, dict | list) and each]
            if not inner:
                break
            node = draw(st.sampled_from(inner))
        if isinstance(node, list):
            node.insert(draw(st.integers(0, len(node))), draw(trees))
            if draw(st.booleans()):
                node.pop(draw(st.integers(0, len(node) - 1)))
        else:
            node[draw(keys)] = draw(trees)
            if draw(st.booleans()):
                node.pop(draw(st.sampled_from(sorted(node))))
    return old, new


@given(changed())
@settings(max_examples=examples(1000))
def test_objects_with_a_few_changes(pair: tuple[JSONObject, JSONObject]) -> None:
    replayed(*pair)


def test_a_deep_change() -> None:
    old: Any = {"leaf": 1}
    new: Any = {"leaf": 1.0}
    for _ in range(200):
        old, new = {"a": [old, 2**53 + 1]}, {"a": [new, 2**53 + 1]}
    (operation,) = replayed(old, new)
    assert operation == {"op": "replace", "path": "/a/0" * 200 + "/leaf", "value": 1.0}


@pytest.mark.parametrize(("old", "new"), [(1, 1.0), (1000, 1e3), (0.0, -0.0), (2**53, 2.0**53)])
def test_numbers_stay_as_they_are_written(old: Any, new: Any) -> None:
    operations = diff({"n": old}, {"n": new})
    sent = orjson.dumps(operations[0]["value"]) if operations else orjson.dumps(old)
    assert sent == orjson.dumps(new) or old == new == 0


def test_the_order_of_keys_does_not_count() -> None:
    assert diff({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"d": 2, "c": 1}, "a": 1}) == []


def recorded() -> list[tuple[tuple[str, str, str], JSONObject, JSONObject]]:
    """Kind, old and new object of the recorded updates, and objects against others of their kind."""
    found: list[tuple[tuple[str, str, str], JSONObject, JSONObject]] = []
    latest: dict[tuple[str, str, str], JSONObject] = {}
    for row in reviews():
        # As the webhook reads it: integers beyond 64 bits are floats.
        request = orjson.loads(json.dumps(row["review"]["request"]))
        if not isinstance(request.get("object"), dict):
            continue
        gvk = tuple(request["kind"][part] for part in ("group", "version", "kind"))
        for old in (request.get("oldObject"), latest.get(gvk)):
            if isinstance(old, dict):
                found.append((gvk, old, request["object"]))
        latest[gvk] = request["object"]
    return found


def test_recorded_objects() -> None:
    pairs = recorded()
    for gvk, old, new in pairs:
        replayed(old, new, SCHEMAS.list_keys(gvk))
        replayed(new, old, SCHEMAS.list_keys(gvk))
    print(f"patches: {2 * len(pairs)} between recorded objects")
    assert len(pairs) > 100


@pytest.mark.parametrize("broken", [[], [{"op": "add", "path": "/metadata/x", "value": 1}]])
@pytest.mark.parametrize("failure_policy", ["Fail", "Ignore"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_patch_that_does_not_replay_is_never_sent(
    count: int,
    failure_policy: str,
    broken: list[JSONObject],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    policies = load(
        *(
            policy(name, mutations=[add_label("'1'", name)], failurePolicy=failure_policy)
            for name in "ab"[:count]
        )
    )
    monkeypatch.setattr(MutatedObject, "patch", lambda self: broken)
    answer = policies.review(build_review(POD), "mutate")["response"]
    assert answer["allowed"] is (failure_policy == "Ignore")
    assert "patch" not in answer
    if not answer["allowed"]:
        assert answer["status"]["message"].startswith("policy 'a' denied request: internal error")
    assert "does not replay" in caplog.text


def test_what_is_sent_is_what_replays() -> None:
    answer = load(policy(mutations=[add_label("'1'")])).review(build_review(POD), "mutate")[
        "response"
    ]
    after = jsonpatch.apply_patch(POD, b64decode(answer["patch"]).decode())
    assert after["metadata"]["labels"] == {"app": "web", "x": "1"}


@pytest.mark.parametrize(
    ("policies", "second_round", "admitted"),
    [(2, False, True), (1, True, True), (3, False, False), (2, True, False), (12, True, False)],
)
def test_what_policies_nest_together_is_sent_or_refused(
    policies: int, second_round: bool, admitted: bool
) -> None:
    around = "[" * 99 + "object.data.k" + "]" * 99
    change = f"[JSONPatch{{op: 'replace', path: '/data/k', value: {around}}}]"
    documents = [
        policy(
            f"p{number}",
            rule("widgets", group="example.com"),
            mutations=[{"patchType": "JSONPatch", "jsonPatch": {"expression": change}}],
            reinvocationPolicy="IfNeeded" if second_round else "Never",
        )
        for number in range(policies)
    ]
    result = PolicySet.from_documents(documents).evaluate(
        build(
            {
                "apiVersion": "example.com/v1",
                "kind": "Widget",
                "metadata": {"name": "a", "namespace": "b"},
                "data": {"k": "v"},
            }
        )
    )
    assert result.allowed is admitted
    assert admitted or "nested deeper than 250 levels" in result.message
