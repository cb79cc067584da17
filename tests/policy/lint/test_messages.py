"""Advice on validations without messages, and on those that updates can undo."""

import pytest

from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.messages import advise_validations
from policyd.policy.lint.run import LintRun
from tests.builders.policies import map_, policy, rule, vap
from tests.policy_sets import loaded

OBJECT = {"expression": "object.metadata.name != 'x'", "message": "m"}
CREATE = rule(operations=["CREATE"])
UPDATE = rule(operations=["UPDATE"])


def found_in(document: JSONObject) -> list[tuple[str, str]]:
    sources = loaded(document)
    assert sources.problems == ()
    found = in_policies(LintRun(sources), advise_validations)
    assert all(each.severity == "advice" and each.line and each.hint for each in found)
    return [(each.rule, each.path) for each in found]


MESSAGES: list[tuple[JSONObject, bool]] = [
    ({"expression": "true"}, True),
    ({"expression": "true", "message": "m"}, False),
    ({"expression": "true", "messageExpression": "'m'"}, False),
    ({"pattern": {"spec": {"hostNetwork": False}}}, False),
    ({"anyPattern": [{"spec": {"hostNetwork": False}}]}, False),
]


LITERAL = [
    ("{{ request.object.metadata.name }} is wrong", True),
    ("${object.metadata.name} is wrong", True),
    ("$(object.metadata.name) is wrong", True),
    ("'wrong: ' + object.metadata.name", True),
    ("a message with 'quotes' + a plus, for $5", False),
]


@pytest.mark.parametrize(("message", "told"), LITERAL)
def test_a_message_is_not_evaluated(message: str, told: bool) -> None:
    expected = [("literal-message", "spec.validations[0].message")] if told else []
    assert found_in(policy(validations=[{**OBJECT, "message": message}])) == expected


@pytest.mark.parametrize(("validation", "told"), MESSAGES)
def test_messages(validation: JSONObject, told: bool) -> None:
    expected = [("missing-message", "spec.validations[1]")] if told else []
    assert found_in(policy(validations=[OBJECT, validation])) == expected


def test_messages_of_a_vap() -> None:
    assert found_in(vap()) == [("missing-message", "spec.validations[0]")]


RULES: list[tuple[str, list[JSONObject], bool]] = [
    ("both", [rule()], False),
    ("any", [rule(operations=["*"])], False),
    ("updates only", [UPDATE], False),
    ("deletes only", [rule(operations=["DELETE"])], False),
    ("creation only", [CREATE], True),
    ("creation and deletion", [rule(operations=["CREATE", "DELETE"])], True),
    ("updates in another rule", [CREATE, UPDATE], False),
    ("updates of all in another rule", [CREATE, rule(operations=["UPDATE"], resources=["*"])], False),
    ("updates of something else", [CREATE, rule(operations=["UPDATE"], resources=["secrets"])], True),
    ("updates in another group", [CREATE, rule(operations=["UPDATE"], apiGroups=["a.b"])], True),
    ("a subresource", [rule(operations=["CREATE"], resources=["pods/eviction"])], False),
    ("what cannot be changed", [rule(operations=["CREATE"], apiGroups=["batch"], resources=["jobs"])], False),
    ("what cannot be updated", [rule(operations=["CREATE"], resources=["bindings"])], False),
    ("what nobody knows", [rule(operations=["CREATE"], apiGroups=["a.b"], resources=["things"])], True),
    ("everything", [rule(operations=["CREATE"], apiGroups=["*"], resources=["*"])], True),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "told"), [pytest.param(*row[1:], id=row[0]) for row in RULES])
def test_updates(rules: list[JSONObject], told: bool) -> None:
    path = "spec.matchConstraints.resourceRules[0].operations"
    document = vap(validations=[OBJECT], matchConstraints={"resourceRules": rules})
    assert found_in(document) == ([("missing-update", path)] if told else [])


LOOKING: list[tuple[str, JSONObject, bool]] = [
    ("at who asks", {"validations": [{**OBJECT, "expression": "request.userInfo.username != 'x'"}]}, False),
    ("at the object before", {"validations": [{**OBJECT, "expression": "oldObject == null"}]}, False),
    ("by a variable", {
        "variables": [{"name": "a", "expression": "object.kind"}],
        "validations": [{**OBJECT, "expression": "variables.a != 'x'"}]}, True),
    ("by a pattern", {"validations": [{"pattern": {"spec": {"hostNetwork": False}}}]}, True),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "told"), [pytest.param(*row[1:], id=row[0]) for row in LOOKING])
def test_only_what_looks_at_objects(spec: JSONObject, told: bool) -> None:
    document = policy(matchConstraints={"resourceRules": [CREATE]}, **spec)
    assert bool(found_in(document)) is told


def test_mutations_are_left_out() -> None:
    assert found_in(map_(matchConstraints={"resourceRules": [CREATE]})) == []
