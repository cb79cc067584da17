"""The mutations of ``tests/builders/gadgets``: what policyd sends, and what the API server makes of
it. ``tests/e2e/test_gadgets.py`` does the same with the API server.
"""

from typing import Any

import pytest

from policyd import PolicySet, build_review
from policyd._core.go.printing import EMPTY
from policyd.json_types import JSONObject
from policyd.mutation.empty_lists import printed, stored
from tests.builders.gadgets import CASES, DEFINITION, Case, gadget

# What the API server refuses after the webhook: the patch must be sent as Kubernetes would apply it.
SENT: dict[str, tuple[Any, Any]] = {
    "null": ({"tags": None, "usual": ["a"]}, {"c": "x"}),
    "label": ({"usual": ["a"]}, {"c": "x", "n": 5}),
}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_is_sent(case: Case) -> None:
    policies = PolicySet.from_documents(DEFINITION, case.documents())
    review = build_review(gadget(), policies=policies)
    result = policies.evaluate(review, "mutate")
    assert result.allowed, result.message
    assert result.object is not None
    spec, labels = SENT.get(case.name, (case.spec, {"c": "x"}))
    # The API server adds a default to what policyd leaves out.
    assert {"usual": ["a"], **result.object["spec"]} == spec
    assert result.object["metadata"]["labels"] == labels
    if not case.error:
        assert result.object["metadata"].get("annotations", {}) == case.annotations


SCHEMA = {
    "properties": {
        "a": {},
        "n": {"nullable": True},
        "l": {"items": {"items": {}}},
        "m": {"additionalProperties": {}},
    }
}
STORED = [
    ({"a": EMPTY}, {}),
    ({"a": []}, {"a": []}),
    ({"n": EMPTY}, {"n": None}),
    ({"other": EMPTY}, {"other": None}),
    ({"l": [["x"], EMPTY]}, {"l": [["x"], []]}),
    ({"m": {"x": EMPTY, "y": 1}}, {"m": {"y": 1}}),
    ({"metadata": {"finalizers": EMPTY}}, {"metadata": {}}),
]


@pytest.mark.parametrize(("given", "expected"), STORED)
def test_nulls_that_the_api_server_keeps(given: Any, expected: Any) -> None:
    before = repr(given)
    assert stored(given, SCHEMA) == expected
    assert repr(given) == before


def test_a_json_patch_sees_null() -> None:
    obj = {"a": EMPTY, "b": {"c": [EMPTY, []]}, "d": []}
    assert printed(obj) == {"a": None, "b": {"c": [None, []]}, "d": []}
    assert obj["a"] is EMPTY
    plain: JSONObject = {"a": [], "b": {}}
    assert printed(plain) is plain
