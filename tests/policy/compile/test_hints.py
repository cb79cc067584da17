"""Hints that depend on the policy around an expression, and on the kinds that it matches; and those of
literals that Kubernetes checks at compile time.
"""

import pytest

from policyd.errors import Problem
from policyd.json_types import JSONObject
from policyd.policy.compile.compiler import check, compile_sources
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.type_check import type_check
from policyd.policy.source.loader import load_text
from tests.builders.policies import DEPLOYMENTS, PODS, demand, policy
from tests.policy_sets import loaded

HEAD = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: x}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
"""
VALIDATIONS = "  validations:\n  - expression: 'true'\n"


def problems(text: str) -> list[Problem]:
    return check(load_text(HEAD + text, "p.yaml"))


IN_POLICIES = [
    (
        "  matchConditions: [{name: a, expression: variables.b == 1}]\n" + VALIDATIONS,
        "matchConditions cannot use variables: write the expression itself",
    ),
    (
        "  variables:\n  - {name: a, expression: variables.b}\n  - {name: b, expression: '1'}\n"
        + VALIDATIONS,
        "a variable can use only those before it in the list, and this is the first",
    ),
    (
        "  variables:\n  - {name: a, expression: '1'}\n  - {name: b, expression: variables.c}\n"
        "  - {name: c, expression: '1'}\n" + VALIDATIONS,
        "variables.c is declared later: move it before b in the list",
    ),
    (
        "  variables:\n  - {name: a, expression: '1'}\n  - {name: b, expression: variables.b}\n"
        + VALIDATIONS,
        "variables.b is this variable: it cannot use itself",
    ),
    (
        "  validations:\n  - expression: 'true'\n    messageExpression: authorizer.path('/')\n",
        "a messageExpression cannot use the authorizer",
    ),
    (
        "  validations:\n  - expression: 'true'\n    messageExpression: \"object.a ? 'x' : null\"\n",
        "write '' in place of null: an empty text counts as none",
    ),
    (
        "  validations:\n  - expression: object.a == 'x' && #y'\n",
        "YAML takes ' #' and what follows as a comment: put the value in quotes",
    ),
    (
        "  validations:\n  - expression: object.a ==\n",
        "write what follows ==, or remove it",
    ),
    (
        "  validations:\n  - expression: 'true'\n    messageExpression: hostNetwork is not allowed\n",
        "write 'hostNetwork is not allowed', in quotes, or move it to message",
    ),
    (
        "  mutations:\n  - patchType: ApplyConfiguration\n    applyConfiguration:\n"
        "      expression: object.spec.hostNetwork = false\n",
        "an expression assigns nothing: write Object{spec: Object.spec{FIELD: VALUE}}",
    ),
    (
        "  mutations:\n  - patchType: JSONPatch\n    jsonPatch:\n"
        "      expression: object.spec.hostNetwork = false\n",
        "an expression assigns nothing: write [JSONPatch{op: 'add', path: '/spec/FIELD', value: VALUE}]",
    ),
    (
        "  mutations:\n  - patchType: Overlay\n    overlay:\n      spec: {containers: "
        "[{(name): '*', image: 'r/${c.image}'}]}\n",
        "an overlay has no variable for items: write the list, "
        "\"${object.spec.containers.map(c, {'name': c.name, 'image': dyn(…)})}\"",
    ),
]


@pytest.mark.parametrize(("text", "hint"), IN_POLICIES)
def test_the_place_in_the_policy_gives_the_hint(text: str, hint: str) -> None:
    (found,) = problems(text)
    assert found.hint == hint


def test_a_value_that_ends_at_a_comma_is_named() -> None:
    found = problems("  validations:\n  - {message: x, expression: a.all(c, c.b)}\n")
    assert found[-1].hint == "YAML ends the value at ',' between { and }: put the value in quotes"


KINDS = [
    ("object.spec.container.all(c, true)", PODS, "did you mean containers?"),
    ("object.metadata.label.x == ''", PODS, "did you mean labels?"),
    ("object.specs.hostNetwork", PODS, "did you mean spec?"),
    ("object.labels.x == ''", PODS, "did you mean object.metadata.labels?"),
    (
        "object.spec.containers.all(c, true)",
        DEPLOYMENTS,
        "did you mean object.spec.template.spec.containers?",
    ),
    ("object.spec.replicas > '3'", DEPLOYMENTS, "write object.spec.replicas > 3, without quotes"),
    ("object.spec.hostNetwork == 'true'", PODS, "write object.spec.hostNetwork == true"),
    (
        "object.spec.containers[0].resources.limits.memory > 5",
        PODS,
        "write quantity(object.spec.containers[0].resources.limits.memory)"
        ".isGreaterThan(quantity('5'))",
    ),
    ("object.spec.containers.image == ''", PODS, "object.spec.containers.map(x, x.image)"),
    ("object.metadata.labels.contains('x')", PODS, "write 'x' in object.metadata.labels"),
]


@pytest.mark.parametrize(("expression", "rule", "hint"), KINDS)
def test_the_schema_of_the_kind_gives_the_hint(
    expression: str, rule: JSONObject, hint: str
) -> None:
    document = policy(
        matchConstraints={"resourceRules": [rule]}, validations=[{"expression": expression}]
    )
    (found,) = list(in_policies(LintRun(loaded(document)), type_check))
    assert hint in found.hint


@pytest.mark.parametrize(
    ("expression", "message", "hint"),
    [
        ("duration('7d') > duration('1s')", "invalid duration argument", "write '168h'"),
        ("duration('1w2d3h') > duration('1s')", "invalid duration argument", "write '219h'"),
        ("duration('') > duration('1s')", "invalid duration argument", "'1h30m'"),
        ("duration('5 minutes') > duration('1s')", "invalid duration argument", "'1h30m'"),
        ("timestamp('2027-03-31') < timestamp('2027-03-31T00:00:00Z')",
         "invalid timestamp argument", "'2027-03-31T00:00:00Z'"),
        ("object.metadata.name.matches('^(?!x)')", "invalid matches argument", "RE2"),
    ],
)  # fmt: skip
def test_a_wrong_literal_has_a_hint(expression: str, message: str, hint: str) -> None:
    compiled = compile_sources(loaded(policy(validations=[demand(expression, "no")])))
    (problem,) = compiled.problems
    assert message in problem.message
    assert hint in problem.hint


@pytest.mark.parametrize(
    ("written", "raw"),
    [
        ("""'object.a.matches("^a\\.b$")'""", r'r"^a\.b$"'),
        (""""object.a.matches('^a\\\\.b$')\"""", r"r'^a\\.b$'"),
        ("|-\n      object.a.matches('^a\\.b$')", r"r'^a\.b$'"),
    ],
)
def test_a_raw_string_is_shown_as_yaml_needs_it(written: str, raw: str) -> None:
    text = f"  validations:\n  - expression: {written}\n"
    (problem,) = problems(text)
    assert problem.hint.endswith(f"put an r before the string: {raw}")
    assert problems(text.replace(raw[1:], raw)) == []
