"""Advice on fields without a guard: of variables that name variables, each is read once, however often it
is named; of a comparison with null, has() is meant.
"""

import pytest

from policyd.policy.lint.all import in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.unguarded import unguarded
from tests.builders.policies import demand, policy, variables
from tests.policy_sets import loaded


@pytest.mark.parametrize(
    "doubling",
    [
        "{0} && {0}",
        "{0} ? {0} : {0}",
        "{0} + {0}",
        "{0}[{0}]",
        "{0}.filter(x, {0} == x)",
        "[{0}, {0}] == []",
        "{0} == {0}",
    ],
)
def test_variables_that_double_are_read_once(doubling: str) -> None:
    later = {f"v{n}": doubling.format(f"variables.v{n - 1}") for n in range(1, 40)}
    rows = variables(v0="dyn(object.metadata.name)", **later)
    uses = [{"expression": f"variables.v39{use}"} for use in (" && true", ".all(x, x)", ".a == 1")]
    document = policy(variables=rows, validations=uses)
    assert list(in_policies(LintRun(loaded(document)), unguarded)) == []


def test_variables_of_variables_end() -> None:
    step = "has(object.a{0}) ? variables.v{1} : variables.v{1}"
    doubled = {f"v{n}": step.format(n, n - 1) for n in range(1, 40)}
    rows = variables(v0="object.spec.nodeName", **doubled)
    document = policy(variables=rows, validations=[{"expression": "variables.v39 == 'x'"}])
    (found, *_) = list(in_policies(LintRun(loaded(document)), unguarded))
    assert found.message.endswith("nodeName may be missing")


HINTS = {
    "object.spec.nodeName == null": "write !has(object.spec.nodeName)",
    "null != object.spec.nodeName": "write has(object.spec.nodeName)",
    "has(object.metadata.labels) && object.metadata.labels['a'] == null":
        "write !('a' in object.metadata.labels)",
    "object.spec.nodeName == 'a'":
        "write has(object.spec.nodeName) && …, or object.spec.?nodeName.orValue(…)",
}  # fmt: skip


@pytest.mark.parametrize(("expression", "hint"), HINTS.items(), ids=HINTS)
def test_a_comparison_with_null_asks_whether_the_field_is_there(expression: str, hint: str) -> None:
    sources = loaded(policy(validations=[demand(expression, "no")]))
    (found,) = list(in_policies(LintRun(sources), unguarded))
    assert found.hint == hint
