"""Keys with dashes and slashes that are written as fields: one hint, which compiles and needs no
other correction.
"""

import pytest

from policyd.cel.env import Environment
from policyd.errors import CelCompileError, Problem
from policyd.policy.lint.all import all_advice
from policyd.policy.lint.run import LintRun
from tests.builders.policies import PODS, demand, policy
from tests.policy_sets import loaded

NAME = "app.kubernetes.io/name"
LABELS = "object.metadata.labels"

# The expression, and the whole expression that its hint makes of it.
KEYS = [
    (f"has({LABELS}.{NAME})", f"has({LABELS}) && '{NAME}' in {LABELS}"),
    (f"!has({LABELS}.{NAME})", f"!(has({LABELS}) && '{NAME}' in {LABELS})"),
    (f"has({LABELS}['{NAME}'])", f"has({LABELS}) && '{NAME}' in {LABELS}"),
    (f"has({LABELS}.team-name)", f"has({LABELS}) && 'team-name' in {LABELS}"),
    (f"has({LABELS}.app.kubernetes.io/part-of)",
     f"has({LABELS}) && 'app.kubernetes.io/part-of' in {LABELS}"),
    (f"has(object.metadata.?labels.?{NAME})", f"has({LABELS}) && '{NAME}' in {LABELS}"),
    (f"{LABELS}.{NAME} == 'x'", f"object.metadata.?labels[?'{NAME}'].orValue('') == 'x'"),
    (f"{LABELS}.team-name.startsWith('x')",
     "object.metadata.?labels[?'team-name'].orValue('').startsWith('x')"),
    (f"{LABELS}.app.kubernetes.io/part-of != 'x'",
     "object.metadata.?labels[?'app.kubernetes.io/part-of'].orValue('') != 'x'"),
    (f"object.metadata.?labels.?{NAME}.orValue('a') == 'x'",
     f"object.metadata.?labels[?'{NAME}'].orValue('a') == 'x'"),
    (f"object.metadata.?labels.?{NAME}.hasValue()",
     f"object.metadata.?labels[?'{NAME}'].hasValue()"),
    ("object.spec.nodeSelector.kubernetes.io/os == 'linux'",
     "object.spec.?nodeSelector[?'kubernetes.io/os'].orValue('') == 'linux'"),
    ("object.spec.containers.all(c, quantity(c.resources.limits.nvidia.com/gpu).isLessThan(quantity('2')))",
     "object.spec.containers.all(c, quantity(c.resources.?limits[?'nvidia.com/gpu'].orValue('0'))"
     ".isLessThan(quantity('2')))"),
    ("object.spec.containers.all(c, has(c.resources.limits.nvidia.com/gpu))",
     "object.spec.containers.all(c, has(c.resources.limits) && 'nvidia.com/gpu' in c.resources.limits)"),
]  # fmt: skip


def problems(expression: str) -> tuple[Problem, ...]:
    with pytest.raises(CelCompileError) as raised:
        Environment.admission().check(expression)
    return raised.value.problems


@pytest.mark.parametrize(("wrong", "right"), KEYS)
def test_one_hint_that_needs_no_other_correction(wrong: str, right: str) -> None:
    (found,) = problems(wrong)
    hint = found.hint.removeprefix("write ")
    assert hint in right and hint != found.hint
    Environment.admission().check(right)
    advice = all_advice(LintRun(loaded(policy("p", PODS, validations=[demand(right, "no")]))))
    assert [each.message for each in advice if each.rule in ("unguarded-field", "type-check")] == []


@pytest.mark.parametrize("expression", [
    "object.spec.replicas-request.dryRun > 1",  # both are known
    "object.spec.replicas - other > 1",
    "size('object.metadata.labels.a-b') > other",
])  # fmt: skip
def test_a_subtraction_is_none(expression: str) -> None:
    assert not any("['" in each.hint or "[?'" in each.hint for each in problems(expression))


def test_two_keys_are_two_problems() -> None:
    found = problems(f"{LABELS}.a-b == {LABELS}.c-d")
    assert ["a-b" in each.hint for each in found] == [True, False]
