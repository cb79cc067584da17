"""The dearest expressions: which they are, where, and how often they are evaluated."""

from policyd.admission.lookups.authorizer import StaticAuthorizer
from policyd.benchmark.census import SortKey
from policyd.benchmark.expressions import ExpressionCost, dearest
from policyd.benchmark.requests import Review, requests_of
from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.source.documents import Sources
from policyd.policy.source.loader import load_text
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import container, pod
from tests.builders.policies import demand, labelling, overlay, policy
from tests.policy_sets import loaded

DEAR = "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, a + b != size(object.metadata.name) + 100))"
TEXT = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: several}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  matchConditions:
  - {name: shop, expression: "request.namespace == 'shop'"}
  variables:
  - name: names
    expression: object.spec.containers.map(c, c.name)
  - name: unused
    expression: object.spec.containers.map(c, c.image)
  validations:
  - expression: variables.names.size() < 10
    message: x
  - expression: |
      size(variables.names) < 11 && variables.names.all(n, n != 'x')
    messageExpression: "'only ' + string(size(variables.names))"
"""


def costs(
    sources: Sources,
    *objects: JSONObject,
    count: int = 10,
    authorizer: StaticAuthorizer | None = None,
) -> list[ExpressionCost]:
    policies = compiler.compile_strict(sources)
    reviews = [Review("r", build_review(each)) for each in objects or (pod(),)]
    matched: list[SortKey] = [each.sort_key for each in policies.policies]
    return dearest(
        sources,
        requests_of(policies, reviews, authorizer),
        matched,
        count=count,
        report=lambda doing, done, total: None,
        authorizer=authorizer,
    )


def test_the_dearest_expression_is_first_with_its_place() -> None:
    sources = loaded(
        policy("one", validations=[demand("object.metadata.name != 'x'", "x")]),
        policy("two", validations=[demand("true || object.kind == ''", "x"), demand(DEAR, "x")]),
    )
    first, *others = costs(sources)
    assert (first.policy, first.path, first.text) == ("two", "spec.validations[1].expression", DEAR)
    assert (first.file, first.line) == ("t.yaml", 2)
    assert first.micros is not None
    assert all(first.total > 3 * each.total for each in others)


def test_lines_are_those_of_the_expressions() -> None:
    found = {each.path: each.line for each in costs(load_text(TEXT, "several.yaml"))}
    assert found == {
        "spec.matchConditions[0].expression": 9,
        "spec.variables[0].expression": 12,
        "spec.validations[0].expression": 16,
        "spec.validations[1].expression": 19,
    }


def test_evaluations_are_those_of_the_engine() -> None:
    pods = [pod(), pod(namespace="other"), pod(container("x"))]
    found = {each.path: each for each in costs(load_text(TEXT, "several.yaml"), *pods)}
    counts = {path: each.evaluations for path, each in found.items()}
    assert counts == {
        "spec.matchConditions[0].expression": 3,  # the second Pod stops here
        # Once for the validations of a Pod, and again for the message of the one that is denied.
        "spec.variables[0].expression": 3,
        "spec.validations[0].expression": 2,
        "spec.validations[1].expression": 2,
        "spec.validations[1].messageExpression": 1,
    }
    assert {each.calls for each in found.values()} == {3}
    assert found["spec.matchConditions[0].expression"].units > 0


def test_an_expression_does_not_answer_for_its_variables() -> None:
    sources = loaded(
        policy(
            variables=[{"name": "dear", "expression": DEAR}],
            validations=[demand("variables.dear", "x")],
        )
    )
    variable, use = costs(sources)
    assert (variable.path, use.path) == (
        "spec.variables[0].expression",
        "spec.validations[0].expression",
    )
    assert variable.total > 3 * use.total


def test_mutations_and_their_templates_are_expressions() -> None:
    tree = {"metadata": {"labels": {"a": "${object.metadata.name}-${object.kind}"}}}
    sources = loaded(
        policy("labels", mutations=[labelling("a", "object.metadata.name")]),
        policy("overlay", mutations=[overlay(tree)]),
    )
    found = {(each.policy, each.path): each for each in costs(sources)}
    template = found["overlay", "spec.mutations[0].overlay.metadata.labels.a"]
    assert template.evaluations == 2  # of one string
    assert ("labels", "spec.mutations[0].applyConfiguration.expression") in found
    assert all(each.micros is not None for each in found.values())


def test_expressions_that_ask_the_authorizer_are_timed() -> None:
    check = "authorizer.group('apps').resource('deployments').check('create').allowed()"
    sources = loaded(policy(validations=[demand(check, "x")]))
    (found,) = costs(sources, authorizer=StaticAuthorizer([{"verb": "create"}]))
    assert found.micros is not None and found.micros > 0


def test_as_many_are_listed_as_are_wanted() -> None:
    assert len(costs(load_text(TEXT, "several.yaml"), count=2)) == 2
