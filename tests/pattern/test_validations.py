"""Patterns as validations of a Policy: which object, which message, and what they cost."""

import json
from time import perf_counter_ns
from typing import Any

import pytest

from policyd._core.plan.plan import Subject
from policyd._core.plan.validation import ValidationOutcome
from policyd._core.values.errors import CelError
from policyd.bounded_text import cause_text
from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.source import loader
from tests.builders.objects import deployment
from tests.builders.policies import policy, rule
from tests.policy_sets import POD, ask, load

MEMORY = {"spec": {"containers": [{"resources": {"limits": {"memory": "?*"}}}]}}
MISSING = "spec.containers[0].resources.limits.memory: expected ?*, found nothing"


def judged(pattern: JSONObject, obj: JSONObject = POD, **validation: Any) -> JSONObject:
    policies = load(policy(validations=[{"pattern": pattern, **validation}], podControllers=True))
    return ask(policies, obj)


def message(answer: JSONObject) -> str:
    assert answer["allowed"] is False
    text: str = answer["status"]["message"]
    return text.removeprefix("policy 'p' denied request: ")


@pytest.mark.parametrize(
    ("validation", "said"),
    [
        ({}, MISSING),
        ({"message": " set a limit. "}, f"set a limit. ({MISSING})"),
        (
            {"message": "x", "messageExpression": "'limit for ' + object.metadata.name"},
            f"limit for web ({MISSING})",
        ),
        ({"message": "x", "messageExpression": "string(1 / 0)"}, f"x ({MISSING})"),
        ({"messageExpression": "''"}, MISSING),
    ],
)
def test_the_place_stands_behind_the_message(validation: JSONObject, said: str) -> None:
    assert message(judged(MEMORY, **validation)) == said


def test_a_pattern_that_holds_or_is_skipped_admits() -> None:
    assert judged({"metadata": {"labels": {"app": "?*"}}})["allowed"]
    assert judged({"metadata": {"(namespace)": "other", "labels": {"x": "?*"}}})["allowed"]


def test_reason_and_exceptions_are_those_of_any_validation() -> None:
    assert judged(MEMORY, reason="Forbidden")["status"]["code"] == 403
    exception = {"name": "e", "namespaces": ["shop"], "validations": ["limits"]}
    validations = [{"name": "limits", "pattern": MEMORY}, {"pattern": {"kind": "Pod"}}]
    assert ask(load(policy(validations=validations, exceptions=[exception])))["allowed"]


def test_every_place_is_told_up_to_ten() -> None:
    containers = [{"name": f"c{number}"} for number in range(13)]
    said = message(judged(MEMORY, {**POD, "spec": {"containers": containers}}))
    assert said.count("expected ?*, found nothing") == 10
    assert said.endswith("spec.containers[9].resources.limits.memory: expected ?*, found nothing; "
                         "and 3 more")  # fmt: skip


def test_a_message_has_at_most_4_kib_of_places() -> None:
    containers = [{"name": "\U0001f600" * 90} for _ in range(12)]
    pattern = {"spec": {"containers": [{"name": "ab" * 100}]}}
    said = message(judged(pattern, {**POD, "spec": {"containers": containers}}))
    assert 3500 < len(said.encode()) < 4200
    assert said.endswith("...; and 5 more")


def test_patterns_and_expressions_are_told_in_their_order() -> None:
    validations = [
        {"pattern": MEMORY},
        {"expression": "false", "message": "second"},
        {"anyPattern": [{"metadata": {"name": "db-*"}}, {"spec": {"hostNetwork": True}}]},
    ]
    causes = ask(load(policy(validations=validations)))["status"]["details"]["causes"]
    texts = [cause_text(cause).replace("policy 'p' denied request: ", "") for cause in causes]
    assert texts == [
        MISSING,
        "second",
        'pattern 1: metadata.name: expected db-*, found "web"; '
        "pattern 2: spec.hostNetwork: expected true, found nothing",
    ]


LABELS = {"labels": {"a.io/x": "?*", "a.io/y": "?*"}}
CONTAINERS: Any = {"containers": [{"name": "db", "image": "?*:?*"}]}


@pytest.mark.parametrize(
    ("validation", "field"),
    [
        ({"pattern": MEMORY}, "spec.containers[0].resources.limits.memory"),
        ({"pattern": {"spec": CONTAINERS}}, "spec.containers[0]"),
        ({"pattern": {"metadata": LABELS}}, "metadata.labels"),
        ({"pattern": {"metadata": LABELS, "spec": CONTAINERS}}, ""),
        ({"anyPattern": [MEMORY, {"spec": {"hostNetwork": True}}]}, "spec"),
        ({"anyPattern": [{"spec": {"hostNetwork": True}}]}, "spec.hostNetwork"),
    ],
)
def test_a_cause_names_the_field_that_all_places_have_in_common(
    validation: JSONObject, field: str
) -> None:
    obj = {**POD, "metadata": {"name": "web", "namespace": "shop"}}
    (cause,) = ask(load(policy(validations=[validation])), obj)["status"]["details"]["causes"]
    assert cause.get("field", "") == field


def test_paths_start_at_the_field_of_the_controller() -> None:
    assert message(judged(MEMORY, deployment())) == f"spec.template.{MISSING}"
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "c", "namespace": "shop"},
        "spec": {"jobTemplate": {"spec": {"template": {"spec": POD["spec"]}}}},
    }
    assert message(judged(MEMORY, cron)) == f"spec.jobTemplate.spec.template.{MISSING}"
    label = {"metadata": {"labels": {"team": "?*"}}}
    expected = "spec.template.metadata.labels.team: expected ?*, found nothing"
    assert message(judged(label, deployment())) == expected


def test_a_deletion_is_judged_by_the_old_object() -> None:
    keep = {"pattern": {"metadata": {"labels": {"keep": "!true"}}}}
    policies = load(policy("p", rule(operations=["DELETE"]), validations=[keep]))
    kept = {**POD, "metadata": {**POD["metadata"], "labels": {"keep": "true"}}}
    answer = ask(policies, kept, operation="DELETE")
    assert message(answer) == 'metadata.labels.keep: expected !true, found "true"'
    free = {**POD, "metadata": {**POD["metadata"], "labels": {"keep": "no"}}}
    assert ask(policies, free, operation="DELETE")["allowed"]


SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {
        "name": "s",
        "namespace": "shop",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": '{"data":"hunter2"}'},
    },
    "type": "Opaque",
    "data": {"password": "aHVudGVyMg=="},
    "stringData": {"tls.crt": "hunter2"},
}


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ({"data": {"password": "x"}}, "data.password: expected x, found a value"),
        ({"data": {"*": "x"}}, "data.password: expected x, found a value"),
        ({"X(data)": None}, "data: expected nothing, found an object"),
        ({"stringData": {"tls.crt": "x"}}, "stringData[tls.crt]: expected x, found a value"),
        ({"data": {"other": "x"}}, "data.other: expected x, found nothing"),
        ({"metadata": {"annotations": {"*": "x"}}},
         "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]: "
         "expected x, found a value"),
        ({"type": "x"}, 'type: expected x, found "Opaque"'),
    ],
)  # fmt: skip
def test_the_data_of_a_secret_is_never_told(pattern: JSONObject, said: str) -> None:
    secrets = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"],
               "resources": ["secrets"]}  # fmt: skip
    rules = {"resourceRules": [secrets]}
    answer = ask(load(policy(matchConstraints=rules, validations=[{"pattern": pattern}])), SECRET)
    assert message(answer) == said
    assert "hunter2" not in str(answer) and "aHVudGVyMg" not in str(answer)


def test_long_values_and_keys_are_cut_and_control_characters_escaped() -> None:
    labels = {"a": "x" * 500, "b\n": "y\nz", "c" * 500: "x"}
    obj = {**POD, "metadata": {"name": "n", "labels": labels}}
    said = message(judged({"metadata": {"labels": {"=(*)": "ok"}}}, obj))
    assert len(said) < 800
    assert "\n" not in said
    assert 'metadata.labels["b\\n"]: expected ok, found "y\\nz"' in said


def compiled(*validations: JSONObject, **spec: Any) -> CompiledPolicy:
    text = json.dumps(policy(validations=list(validations), **spec))
    (made,) = compiler.compile_strict(loader.load_text(text)).policies
    return made


def run(made: CompiledPolicy, obj: object, deadline: int = 0) -> ValidationOutcome | None:
    assert made.validation is not None
    return made.validation.run(Subject(obj, None, {}, {}, None), None, deadline, frozenset())


@pytest.mark.parametrize("failure_policy", ["Fail", "Ignore"])
def test_a_long_list_is_cut_at_the_deadline(failure_policy: str) -> None:
    made = compiled({"pattern": {"items": [{"n": "*a?b"}]}}, failurePolicy=failure_policy)
    # Uncut it takes some hundred milliseconds.
    outcome = run(made, {"items": [{"n": "a" * 100 + "xb"}] * 3_000_000}, perf_counter_ns() + 10**7)
    assert outcome is not None
    assert outcome.timed_out
    assert bool(outcome.failures) is (failure_policy == "Fail")


def test_what_was_plainly_false_before_the_deadline_stays_so() -> None:
    slow = {"pattern": {"items": [{"n": "*a?b"}]}}
    made = compiled({"pattern": {"x": 1}, "message": "no x"}, slow, failurePolicy="Ignore")
    outcome = run(made, {"items": [{"n": "a" * 100 + "xb"}] * 3_000_000}, perf_counter_ns() + 10**7)
    assert outcome is not None
    assert [failure[1] for failure in outcome.failures] == ["no x (x: expected 1, found nothing)"]


def test_patterns_spend_no_budget_and_their_time_is_counted() -> None:
    made = compiled({"pattern": MEMORY})
    assert run(made, POD) is not None
    assert made.counters.snapshot()["cost"] == 0
    assert made.counters.snapshot()["seconds"] > 0


def test_an_object_that_cannot_be_read_is_an_error() -> None:
    outcome = run(compiled({"pattern": {}}), CelError("needs v1, was sent v2"))
    assert outcome is not None
    assert outcome.failures == [
        (0, "pattern resulted in error: needs v1, was sent v2", "Invalid", True)
    ]
