"""The engine through the facade: what policyd adds to Kubernetes, and how errors and deadlines decide."""

import json
from base64 import b64decode
from time import thread_time

import pytest

from policyd.api.policy_set import PolicySet
from policyd.cel.env import Environment
from policyd.errors import PolicyError
from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.source import loader
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import deployment
from tests.builders.policies import add_label, denying, policy
from tests.policy_sets import POD, ask, load, patched

# Each of these burns far more than 20 ms of CPU, and stays below the cost limit of one expression.
EXPENSIVE = "lists.range(300).all(a, lists.range(400).all(b, a + b >= 0))"


def test_every_violation_of_every_policy_is_told_in_order() -> None:
    two = [
        {"expression": "false", "message": "one"},
        {"expression": "1 == 2", "reason": "Forbidden"},
    ]
    answer = ask(load(policy("b", validations=two), denying("a")))
    status = answer["status"]
    lines = [
        "policy 'a' denied request: no",
        "policy 'b' denied request: one",
        "policy 'b' denied request: failed expression: 1 == 2",
    ]
    assert status["message"].split("\n") == lines
    assert [cause["message"] for cause in status["details"]["causes"]] == lines


@pytest.mark.parametrize(("failure_policy", "allowed"), [("Fail", False), ("Ignore", True)])
def test_an_error_follows_the_failure_policy(failure_policy: str, allowed: bool) -> None:
    validations = [{"expression": "object.nope == 1"}]
    answer = ask(load(policy(validations=validations, failurePolicy=failure_policy)))
    assert answer["allowed"] is allowed


def test_ignore_still_denies_what_is_plainly_false() -> None:
    validations = [{"expression": "object.nope == 1"}, {"expression": "false", "message": "no"}]
    answer = ask(load(policy(validations=validations, failurePolicy="Ignore")))
    assert answer["status"]["message"] == "policy 'p' denied request: no"


def test_inline_params_and_variables() -> None:
    spec: JSONObject = {
        "params": {"images": ["nginx"]},
        "variables": [
            {
                "name": "bad",
                "expression": "object.spec.containers.filter(c, !(c.image in params.images))",
            }
        ],
        "validations": [
            {
                "expression": "variables.bad.size() == 0",
                "messageExpression": "'bad: ' + variables.bad[0].name",
            }
        ],
    }
    policies = load(policy(**spec))
    assert ask(policies)["allowed"]
    other = {**POD, "spec": {"containers": [{"name": "x", "image": "evil"}]}}
    assert ask(policies, other)["status"]["message"].endswith("bad: x")


def test_params_of_a_policy_by_name() -> None:
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "cfg", "namespace": "shop"},
        "data": {"team": "blue"},
    }
    spec: JSONObject = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "paramRef": {"name": "cfg", "parameterNotFoundAction": "Deny"},
        "validations": [{"expression": "params.data.team == 'blue' && params.kind == 'ConfigMap'"}],
    }
    assert ask(load(policy(**spec), config))["allowed"]
    missing = ask(load(policy(**spec)))
    assert "no params found" in missing["status"]["message"]


@pytest.mark.parametrize(
    ("obj", "allowed"),
    [
        (deployment(containers=[{"name": "c", "image": "nginx"}]), True),
        (deployment(containers=[{"name": "c", "image": "evil"}]), False),
        ({**deployment(), "kind": "Deployment", "spec": {"replicas": 1}}, True),
    ],
)
def test_pod_controllers_are_judged_by_their_template(obj: JSONObject, allowed: bool) -> None:
    validations = [
        {"expression": "object.kind == 'Pod' && object.metadata.namespace == 'shop'"},
        {"expression": "object.spec.containers.all(c, c.image != 'evil')"},
        {"expression": "request.kind.kind == 'Deployment'"},
    ]
    answer = ask(load(policy(podControllers=True, validations=validations)), obj)
    assert answer["allowed"] is allowed


def test_without_pod_controllers_a_deployment_is_nothing() -> None:
    assert ask(load(denying()), deployment())["allowed"]


def test_an_exception_lets_through_and_says_so() -> None:
    exception = {"name": "legacy", "reason": "ticket 4711", "namespaces": ["sh*"]}
    answer = ask(load(denying(exceptions=[exception])))
    assert answer["allowed"]
    assert answer["auditAnnotations"]["exception.p"] == "legacy: ticket 4711"
    other = {**POD, "metadata": {"name": "web", "namespace": "prod"}}
    assert not ask(load(denying(exceptions=[exception])), other)["allowed"]


def test_an_exception_may_lift_single_validations() -> None:
    spec: JSONObject = {
        "validations": [
            {"name": "first", "expression": "false", "message": "one"},
            {"name": "second", "expression": "false", "message": "two"},
        ],
        "exceptions": [{"name": "e", "reason": "r", "names": ["web"], "validations": ["first"]}],
    }
    assert ask(load(policy(**spec)))["status"]["message"] == "policy 'p' denied request: two"


def test_warn_and_audit_do_not_deny() -> None:
    answer = ask(load(denying(validationActions=["Warn", "Audit"])))
    assert answer["allowed"]
    assert answer["warnings"] == ["Validation failed for policy 'p': no"]
    assert json.loads(answer["auditAnnotations"]["validation_failure"])[0]["message"] == "no"


@pytest.mark.parametrize(("failure_policy", "allowed"), [("Fail", False), ("Ignore", True)])
def test_a_policy_that_burns_cpu_is_cut_at_its_deadline(failure_policy: str, allowed: bool) -> None:
    validations = [{"expression": EXPENSIVE} for _ in range(8)]
    policies = load(
        policy(validations=validations, timeoutSeconds=0.02, failurePolicy=failure_policy)
    )
    started = thread_time()
    answer = ask(policies)
    taken = thread_time() - started
    assert answer["allowed"] is allowed
    if not allowed:
        assert "deadline exceeded" in answer["status"]["message"]
        assert "cost" not in answer["status"]["message"]
    # Of CPU time. Uncut it takes a second and more, on a slow machine so many times as long.
    assert taken < 0.5


def test_a_policy_after_the_deadline_of_the_request_is_an_error_of_its_own() -> None:
    slow = policy("a", validations=[{"expression": EXPENSIVE} for _ in range(8)])
    answer = ask(load(slow, denying("b")), timeout=0.02)
    causes = [cause["message"] for cause in answer["status"]["details"]["causes"]]
    assert [text.partition(" denied")[0] for text in causes] == ["policy 'a'", "policy 'b'"]
    assert all("deadline exceeded" in text for text in causes)


def test_the_cost_limit_says_that_it_was_the_cost() -> None:
    expression = "lists.range(3000).all(a, lists.range(3000).all(b, a + b >= 0))"
    answer = ask(load(policy(validations=[{"expression": expression}])))
    assert "operation cancelled: actual cost limit exceeded" in answer["status"]["message"]


def test_message_expressions_that_exhaust_the_budget_make_errors_of_what_holds() -> None:
    holds = {"expression": EXPENSIVE, "messageExpression": f"string({EXPENSIVE})"}
    _, cost = Environment.kubernetes().compile(EXPENSIVE).evaluate_with_cost({})
    count = 10_000_000 // (2 * cost) + 1
    assert count * cost < 10_000_000 < 2 * count * cost
    status = ask(load(policy(validations=[holds] * count)))["status"]
    causes = [cause["message"] for cause in status["details"]["causes"]]
    assert len(causes) == count
    assert causes[0] == (
        "policy 'p' denied request: failed messageExpression: validation failed due to running "
        "out of cost budget, no further validation rules will be run"
    )


def test_mutations_see_what_the_former_did_and_make_one_patch() -> None:
    policies = load(
        policy("a", mutations=[add_label("'1'")]),
        policy("b", mutations=[add_label("object.metadata.labels.x + '2'")]),
    )
    before = json.dumps(POD)
    answer = ask(policies, webhook="mutate")
    assert patched(answer, POD)["metadata"]["labels"] == {"app": "web", "x": "12"}
    assert len(json.loads(b64decode(answer["patch"]))) == 1
    assert json.dumps(POD) == before


def test_a_policy_that_changes_nothing_leaves_the_patch_of_the_former() -> None:
    policies = load(
        policy("a", mutations=[add_label("'1'")]), policy("b", mutations=[add_label("'1'")])
    )
    answer = ask(policies, webhook="mutate")
    assert patched(answer, POD)["metadata"]["labels"] == {"app": "web", "x": "1"}


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_several_mutations_of_one_policy_make_one_patch(count: int) -> None:
    append = add_label("object.metadata.labels.?x.orValue('') + 'a'")
    answer = ask(load(policy("a", mutations=[append] * count)), webhook="mutate")
    assert json.loads(b64decode(answer["patch"])) == [
        {"op": "add", "path": "/metadata/labels/x", "value": "a" * count}
    ]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_mutations_of_several_places_are_all_in_the_patch(count: int) -> None:
    mutations = [add_label("'1'", name) for name in "wxyz"[:count]]
    answer = ask(load(policy("a", mutations=mutations)), webhook="mutate")
    patch = json.loads(b64decode(answer["patch"]))
    assert [each["path"] for each in patch] == [
        f"/metadata/labels/{each}" for each in "wxyz"[:count]
    ]


def test_a_policy_that_only_mutates_has_no_say_in_validation() -> None:
    text = json.dumps(policy("a", mutations=[add_label("'1'")]))
    compiled = compiler.compile_strict(loader.load_text(text))
    assert ask(PolicySet(compiled))["allowed"]
    assert [counters.snapshot()["decisions"]["admit"] for counters in compiled.counters()] == [0]


def test_reinvocation_runs_a_policy_once_more() -> None:
    append = add_label("object.metadata.labels.?x.orValue('') + 'a'")
    policies = load(policy("p", mutations=[append], reinvocationPolicy="IfNeeded"))
    assert patched(ask(policies, webhook="mutate"), POD)["metadata"]["labels"]["x"] == "aa"


def test_a_mutation_of_the_template_goes_into_the_controller() -> None:
    apply_configuration = {"expression": "Object{spec: Object.spec{hostNetwork: true}}"}
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": apply_configuration}
    answer = ask(
        load(policy(podControllers=True, mutations=[mutation])), deployment(), webhook="mutate"
    )
    patch = json.loads(b64decode(answer["patch"]))
    assert patch == [{"op": "add", "path": "/spec/template/spec/hostNetwork", "value": True}]


@pytest.mark.parametrize("operation", ["DELETE", "CONNECT"])
def test_nothing_is_patched_where_the_api_server_would_refuse(operation: str) -> None:
    policies = load(policy(mutations=[add_label("'1'")]))
    review = build_review(POD, operation=operation)
    answer = policies.review(review, "mutate")["response"]
    assert answer["allowed"] and "patch" not in answer


def test_a_failing_mutation_denies_as_kubernetes_words_it() -> None:
    remove = {
        "patchType": "JSONPatch",
        "jsonPatch": {"expression": "[JSONPatch{op: 'remove', path: '/nope'}]"},
    }
    status = ask(load(policy(mutations=[remove])), webhook="mutate")["status"]
    assert (status["code"], status["reason"]) == (403, "Invalid")
    assert status["message"].startswith("policy 'p' denied request: JSON Patch: error in remove")


def quarantined(failure_policy: str) -> PolicySet:
    broken = policy(validations=[{"expression": "object."}], failurePolicy=failure_policy)
    return PolicySet(compiler.compile_sources(loader.load_text(json.dumps(broken))))


def test_a_quarantined_policy_denies_what_it_matches() -> None:
    status = ask(quarantined("Fail"))["status"]
    assert status["message"].startswith("policy 'p' denied request: failed to configure policy: ")
    assert ask(quarantined("Fail"), deployment())["allowed"]


def test_a_quarantined_policy_with_ignore_is_skipped() -> None:
    assert ask(quarantined("Ignore"))["allowed"]


def test_all_errors_of_a_source_are_told_with_their_places() -> None:
    also: JSONObject = {"nope": 1, "variables": [{"name": "v", "expression": "1 +"}]}
    broken = [policy("a", validations=[{"expression": "object."}]), denying("b", **also)]
    with pytest.raises(PolicyError) as failure:
        load(*broken)
    paths = {problem.path for problem in failure.value.problems}
    assert paths == {
        "spec.validations[0].expression",
        "spec.nope",
        "spec.variables[0].expression",
    }
    assert all(problem.line for problem in failure.value.problems)
