"""Advice on variables that name variables: each is read once, however often it is named."""

import pytest

from policyd.json_types import JSONObject
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.unguarded import unguarded
from tests.builders.policies import policy
from tests.policy_sets import loaded


def variables(**expressions: str) -> list[JSONObject]:
    return [{"name": name, "expression": each} for name, each in expressions.items()]


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
    assert list(unguarded(LintRun(loaded(document)))) == []


def test_variables_of_variables_end() -> None:
    step = "has(object.a{0}) ? variables.v{1} : variables.v{1}"
    doubled = {f"v{n}": step.format(n, n - 1) for n in range(1, 40)}
    rows = variables(v0="object.spec.nodeName", **doubled)
    document = policy(variables=rows, validations=[{"expression": "variables.v39 == 'x'"}])
    (found, *_) = list(unguarded(LintRun(loaded(document))))
    assert found.message.endswith("nodeName may be missing")
