"""Fields of a policy that no operation of its rules reaches."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.matching.unreached import unreached
from policyd.policy.lint.run import LintRun
from tests.builders.policies import EVERYTHING, MUTATION, map_, policy, rule
from tests.policy_sets import loaded

DELETED = rule("pods", operations=["DELETE"])
EXEC = rule("pods/exec", operations=["*"])
OLD = {"validations": [{"expression": "oldObject.metadata.name != 'x'"}]}
CONTROLLERS: JSONObject = {"podControllers": True, **OLD}
MUTATIONS: JSONObject = {"mutations": [MUTATION]}

IDLE: list[tuple[JSONObject, list[JSONObject], str]] = [
    (CONTROLLERS, [DELETED], "spec.podControllers"),
    (CONTROLLERS, [rule("*", operations=["DELETE", "CONNECT"])], "spec.podControllers"),
    (CONTROLLERS, [DELETED, rule("deployments", group="apps")], "spec.podControllers"),
    (MUTATIONS, [DELETED], "spec.mutations"),
    (MUTATIONS, [EXEC], "spec.mutations"),
    (MUTATIONS, [rule("pods/exec", operations=["CONNECT"]), DELETED], "spec.mutations"),
]
REACHED: list[tuple[JSONObject, list[JSONObject]]] = [
    (CONTROLLERS, [rule()]),
    (CONTROLLERS, [DELETED, rule(operations=["UPDATE"])]),
    (CONTROLLERS, [EVERYTHING]),
    (MUTATIONS, [rule("pods/eviction", operations=["*"])]),
    (MUTATIONS, [EXEC, rule()]),
    (MUTATIONS, [EVERYTHING]),
    (OLD, [DELETED]),
]


def paths(document: JSONObject) -> list[str]:
    found = list(in_policies(LintRun(loaded(document)), unreached))
    assert all(each.rule == "idle-field" and each.severity == "advice" for each in found)
    assert all("has no effect" in each.message or "have no" in each.message for each in found)
    return [each.path for each in found]


@pytest.mark.parametrize(("spec", "rules", "path"), IDLE)
def test_idle_fields(spec: dict[str, Any], rules: list[JSONObject], path: str) -> None:
    assert paths(policy("p", *rules, **spec)) == [path]


@pytest.mark.parametrize(("spec", "rules"), REACHED)
def test_fields_that_are_reached(spec: dict[str, Any], rules: list[JSONObject]) -> None:
    assert paths(policy("p", *rules, **spec)) == []


def test_mutating_admission_policies() -> None:
    assert paths(map_("m", EXEC)) == ["spec.mutations"]
