"""Given what expressions evaluate to, what a policy decides: Kubernetes' own unit tables.

The programs are made to evaluate to what a row says; the texts of its accessors are handed in as
they are.
"""

from typing import Any

from policyd._core.counting.counters import PolicyCounters
from policyd._core.eval.layout import Layout
from policyd._core.eval.program import Program
from policyd._core.plan.plan import ROOTS, Frame, Subject
from policyd._core.plan.validation import PlannedValidation, ValidationOutcome, ValidationPlan
from policyd.cel.env import Environment
from policyd.cel.plan.planner import plan
from tests.shared import conformance

Row = dict[str, Any]
THROWS = "the evaluator itself fails, which ours cannot: it has no errors but values and limits"
API_SERVER = "what the API server makes of a webhook's answer; the webhook has no part in it"
NOT_APPLICABLE = {
    "test error, no fail policy": THROWS,
    "test error, fail policy fail": THROWS,
    "test error, fail policy ignore": THROWS,
    "test filter error": THROWS,
    "test filter error multiple evaluations": THROWS,
    "messageExpression out of budget after successful eval of expression": (
        "the budget is not an argument; tests/admission/test_engine.py has it with real costs"
    ),
}
SUBJECT = Subject(None, None, {}, {}, None)


def program(text: str, layout: Layout) -> Program:
    return plan(Environment.kubernetes().check(text), layout)


def literal(value: Any) -> str:
    """An expression that evaluates to the value of a row."""
    if value is None or (isinstance(value, dict) and value.get("t") == "null"):
        return "null"
    inner = value["v"] if isinstance(value, dict) else value
    return (
        repr(inner).lower() if isinstance(inner, bool) else "'" + inner.replace("\n", "\\n") + "'"
    )


def evaluated(evaluation: Row, layout: Layout) -> Program:
    """A program with the outcome of an evaluation: a value, or an error."""
    text = "1 / 0 == 1" if "error" in evaluation else literal(evaluation["result"])
    return program(text, layout)


def made(row: Row) -> ValidationPlan:
    """The plan of a policy whose expressions evaluate as the row says."""
    layout = Layout(ROOTS)
    matcher = row.get("matcher")
    conditions = []
    if matcher is not None:
        failing = (
            {"error": matcher["error"]} if "error" in matcher else {"result": matcher["matches"]}
        )
        conditions = [evaluated(failing, layout)]
    messages = row.get("messageEvaluations", [])
    validations = []
    for index, evaluation in enumerate(row["evaluations"]):
        accessor = evaluation.get("accessor", {})
        message = messages[index] if index < len(messages) else {}
        validations.append(
            PlannedValidation(
                evaluated(evaluation, layout),
                accessor.get("Expression", ""),
                accessor.get("Message", ""),
                evaluated(message, layout) if message else None,
                accessor.get("Reason", "Invalid"),
            )
        )
    annotations = [
        (f"k{index}", evaluated(evaluation, layout))
        for index, evaluation in enumerate(row.get("auditEvaluations", []))
    ]
    frame = Frame(layout.size, layout.slots, 0, layout.used)
    fail = row["failurePolicy"] != "Ignore"
    return ValidationPlan(conditions, frame, fail, PolicyCounters("p"), validations, annotations)


def judged(row: Row) -> ValidationOutcome | None:
    return made(row).run(SUBJECT, None, 0, frozenset())


def decided(row: Row, outcome: ValidationOutcome | None) -> list[Row]:
    """The outcome as the rows tell it: one decision for each validation."""
    failures = (
        {index: (text, reason) for index, text, reason, _ in outcome.failures} if outcome else {}
    )
    matcher = row.get("matcher", {})
    count = (
        0
        if not matcher.get("matches", True)
        else 1
        if "error" in matcher
        else len(row["evaluations"])
    )
    return [
        {"action": "deny", "message": failures[index][0], "reason": failures[index][1]}
        if index in failures
        else {"action": "admit"}
        for index in range(count)
    ]


def annotated(row: Row, outcome: ValidationOutcome | None) -> list[str]:
    """What becomes of each audit annotation."""
    published = {key for key, _ in outcome.annotations} if outcome else set()
    errors = len(outcome.annotation_errors) if outcome else 0
    actions = []
    for index, evaluation in enumerate(row.get("auditEvaluations", [])):
        failed = "error" in evaluation and errors
        actions.append("publish" if f"k{index}" in published else "error" if failed else "exclude")
    return actions


def applicable(name: str) -> list[Row]:
    """The rows of a file that apply; says how many those are, and why the others do not."""
    rows = conformance(f"k8s-admission/{name}.jsonl")
    kept = [row for row in rows if row["name"] not in NOT_APPLICABLE]
    print(f"k8s-admission/{name}: {len(kept)} of {len(rows)} apply")
    for row in rows:
        if row["name"] in NOT_APPLICABLE:
            print(f"  {row['name']}: {NOT_APPLICABLE[row['name']]}")
    return kept


def test_validator_decisions() -> None:
    wrong = []
    for row in applicable("validator-decisions"):
        outcome = judged(row)
        got, want = decided(row, outcome), row["expect"]["decisions"]
        told = [
            {key: mine.get(key) for key in theirs} for mine, theirs in zip(got, want, strict=False)
        ]
        actions = [each["action"] for each in row["expect"]["auditAnnotations"]]
        if len(got) != len(want) or told != want or annotated(row, outcome) != actions:
            wrong.append((row["name"], got, want))
    assert wrong == []


def test_match_conditions() -> None:
    wrong = []
    for row in applicable("match-conditions"):
        layout = Layout(ROOTS)
        conditions = [evaluated(each, layout) for each in row["evaluations"]]
        never = PlannedValidation(program("false", layout), "false", "matched", None, "Invalid")
        frame = Frame(layout.size, layout.slots, 0, layout.used)
        fail = row["failurePolicy"] != "Ignore"
        one = ValidationPlan(conditions, frame, fail, PolicyCounters("p"), [never], [])
        outcome = one.run(SUBJECT, None, 0, frozenset())
        texts = [failure[1] for failure in outcome.failures] if outcome else []
        expect = row["expect"]
        want = "error" if expect["error"] else "match" if expect["matches"] else "no match"
        got = "match" if texts == ["matched"] else "error" if texts else "no match"
        if got != want:
            wrong.append((row["name"], got, want))
    assert wrong == []


def test_status_errors_are_the_api_servers() -> None:
    """No row applies; but every denial has the message and code that make the API
    server pass it on.
    """
    rows = conformance("k8s-admission/status-error.jsonl")
    print(f"k8s-admission/status-error: 0 of {len(rows)} apply: {API_SERVER}")
    from tests.builders.policies import denying
    from tests.policy_sets import ask, load

    status = ask(load(denying()))["status"]
    assert status["message"] and status["reason"] and 400 <= status["code"] < 600
