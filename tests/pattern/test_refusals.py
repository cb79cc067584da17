"""What is refused when a policy with patterns loads, and the place that is named."""

import pytest
import yaml

from policyd.pattern import PatternError, compile_pattern
from policyd.policy.compile import compiler
from policyd.policy.source import loader
from tests.builders.policies import policy, vap

POLICY = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
"""


@pytest.mark.parametrize(
    ("validation", "place", "message"),
    [
        ("{pattern: {a: {f(b): 1}}}", "9:20", "there is no mark f(): the marks are (key), =(key)"),
        ("{pattern: {a: {b: '>'}}}", "9:24", 'the operator > of ">" has no value'),
        ("{pattern: {a: [{b.c/d: 10-1h}]}}", "9:28", "the ends of the range 10-1h do not compare"),
        ("{pattern: {+(a): 1}}", "9:16", "+() adds what is absent: only overlays do that"),
        ("{pattern: {a: 1, (a): 2}}", "9:22", "(a) and a are the same key"),
        ("{pattern: {X(a): 1}}", "9:22", "X() forbids the key whatever its value"),
        ("{pattern: {^(a): {b: 1}}}", "9:22", "^() requires items of a list"),
        ("{pattern: {^(a): []}}", "9:22", "^() requires items of a list"),
        ("{pattern: {(): []}}", "9:16", "there is no key inside the brackets of the mark"),
        ("{pattern: [a]}", "9:15", "expected an object, got a list"),
        ("{anyPattern: []}", "9:18", "Required value: an empty list of patterns never matches"),
        ("{anyPattern: [{a: 1}, {a: {b: '!'}}]}", "9:36", 'the operator ! of "!" has no value'),
        ("{anyPattern: {a: 1}}", "9:18", "expected a list, got an object"),
        ("{pattern: {}, expression: 'true'}", "9:6", "expression and pattern are mutually excl"),
        (
            "{pattern: {}, anyPattern: [{}]}",
            "9:19",
            "pattern and anyPattern are mutually exclusive",
        ),
        ("{message: x}", "9:5", "Required value: expression, pattern or anyPattern"),
    ],
)
def test_a_fault_has_its_place(validation: str, place: str, message: str) -> None:
    problems = compiler.check(loader.load_text(f"{POLICY}  - {validation}\n"))
    assert [f"{problem.line}:{problem.column}" for problem in problems] == [place]
    assert message in problems[0].message


def test_every_fault_is_told_beside_those_of_expressions() -> None:
    tree = {"a": ">", "b": {"c(d)": 1, "e": ["|"]}}
    text = yaml.safe_dump(policy(validations=[{"pattern": tree}, {"expression": "1 +"}]))
    problems = compiler.check(loader.load_text(text))
    assert sorted(problem.path for problem in problems) == [
        "spec.validations[0].pattern.a",
        "spec.validations[0].pattern.b.e[0]",
        "spec.validations[0].pattern.b[c(d)]",
        "spec.validations[1].expression",
    ]


def test_kubernetes_own_kinds_have_no_patterns() -> None:
    text = yaml.safe_dump(vap(validations=[{"pattern": {}}]))
    problem = compiler.check(loader.load_text(text))[0]
    assert problem.message == 'unknown field "pattern"'
    assert problem.hint == "write a policyd.dev/v1 Policy: only that kind has pattern"


def test_the_depth_of_a_pattern_is_bounded() -> None:
    tree: object = 1
    for _ in range(5_000):
        tree = {"a": [tree]}
    with pytest.raises(PatternError, match="the pattern is deeper than 100 levels"):
        compile_pattern(tree)
