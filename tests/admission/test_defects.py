"""A defect of ours, or a deadline that has passed, admits nothing by accident: failurePolicy decides,
and the tree of a mutating request is left as the policy found it.
"""

import json
from base64 import b64decode
from typing import Any

import orjson
import pytest

from policyd.admission.applicable import Applicable
from policyd.json_types import JSONObject
from policyd.mutation.jsonpatch import JSONPatch
from policyd.policy.compile import compiler
from policyd.policy.source import loader
from tests.admission.lookups import clusters
from tests.admission.lookups.samples import reviewed
from tests.builders.policies import add_label, policy
from tests.policy_sets import POD, ask, load

INTERNAL = "internal error: see the log of policyd"
OVERLAY = {"patchType": "Overlay", "overlay": {"metadata": {"labels": {"x": "1"}}}}
TRUE = {"expression": "true"}
EXEMPT = [{"name": "e", "reason": "r", "namespaces": ["other"]}]


def patched(answer: JSONObject) -> dict[str, Any]:
    """The labels after the patch of an answer."""
    added = orjson.loads(b64decode(answer["patch"]))
    found = dict(POD["metadata"]["labels"])
    for each in added:
        assert each["op"] == "add"
        found[each["path"].removeprefix("/metadata/labels/")] = each["value"]
    return found


@pytest.mark.parametrize(("failure_policy", "allowed"), [("Fail", False), ("Ignore", True)])
@pytest.mark.parametrize("mutation", [OVERLAY, add_label("'1'")], ids=["Overlay", "JSONPatch"])
def test_past_the_deadline_no_policy_mutates(
    mutation: JSONObject, failure_policy: str, allowed: bool
) -> None:
    policies = load(policy(mutations=[mutation, mutation], failurePolicy=failure_policy))
    answer = ask(policies, webhook="mutate", timeout=0)
    assert answer["allowed"] is allowed
    assert "patch" not in answer
    if not allowed:
        (cause,) = answer["status"]["details"]["causes"]
        assert cause["message"].endswith("deadline exceeded before the policy was evaluated")


@pytest.mark.parametrize(("failure_policy", "allowed"), [("Fail", False), ("Ignore", True)])
@pytest.mark.parametrize("webhook", ["validate", "mutate"])
def test_a_defect_in_what_applies_is_one_of_the_policy(
    webhook: str, failure_policy: str, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defect(*_: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(Applicable, "_exempt", defect)
    work = {"mutations": [add_label("'1'")]} if webhook == "mutate" else {"validations": [TRUE]}
    broken = policy("a", exceptions=EXEMPT, failurePolicy=failure_policy, **work)
    answer = ask(load(broken, policy("b", **work)), webhook=webhook)
    assert answer["allowed"] is allowed
    if not allowed:
        assert answer["status"]["message"] == f"policy 'a' denied request: {INTERNAL}"
    elif webhook == "mutate":
        assert patched(answer) == {"app": "web", "x": "1"}


@pytest.mark.parametrize("exceptions", [[], EXEMPT], ids=["direct", "with exceptions"])
def test_a_defect_between_two_mutations_leaves_nothing_of_the_first(
    exceptions: list[JSONObject], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = JSONPatch.apply

    def apply(self: JSONPatch, value: object, obj: JSONObject, *others: Any) -> JSONObject:
        if "y" in obj["metadata"]["labels"]:
            raise RuntimeError("a defect")
        return whole(self, value, obj, *others)

    monkeypatch.setattr(JSONPatch, "direct", None)
    monkeypatch.setattr(JSONPatch, "apply", apply)
    mutations = [add_label("'1'", "y"), add_label("'2'")]
    half = policy("a", mutations=mutations, failurePolicy="Ignore", exceptions=exceptions)
    answer = ask(load(half, policy("b", mutations=[add_label("'3'", "z")])), webhook="mutate")
    assert patched(answer) == {"app": "web", "z": "3"}
    assert "patch" not in ask(load(half), webhook="mutate")


@pytest.mark.parametrize(("failure_policy", "allowed"), [("Fail", False), ("Ignore", True)])
def test_a_defect_in_what_has_to_wait_is_one_of_the_policy(
    failure_policy: str, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defect(*_: object) -> None:
        raise RuntimeError("a defect")

    asking = {"expression": "namespaceObject.metadata.name == 'shop'"}
    waiting = policy("a", validations=[asking], failurePolicy=failure_policy)
    monkeypatch.setattr(Applicable, "invocations", defect)
    policies = compiler.compile_strict(loader.load_text(json.dumps(waiting)))
    response = reviewed(clusters.Users(clusters.never), policies)
    assert response.allowed is allowed
    if not allowed:
        assert response.message == f"policy 'a' denied request: {INTERNAL}"
