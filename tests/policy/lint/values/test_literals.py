"""Literals that never parse."""

import pytest

from policyd.errors import Problem
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.values.literals import invalid_literals
from tests.builders.policies import demand, policy
from tests.policy_sets import loaded

# An expression, parts of message and hint.
WRONG = [
    ("quantity('1Gb').isGreaterThan(quantity('1'))", "quantity(\"1Gb\") is always an error",
     "write 1Gi (units of 1024) or 1G (units of 1000)"),
    ("quantity('1,5') == quantity('1')", "quantity(\"1,5\")", "Ki, Mi, Gi"),
    ("quantity('500 MB').isInteger()", "", "write 500Mi (units of 1024) or 500M (units of 1000)"),
    ("ip('10.0.0') == ip('10.0.0.1')", "IPv4 address too short", "ip('10.0.0.1')"),
    ("ip('10.0.0.1/8').family() == 4", "", "without a prefix"),
    ("cidr('10.0.0.0').containsIP('10.0.0.1')", "no '/'", "cidr('10.0.0.0/8')"),
    ("cidr('10.0.0.0/8').containsIP('10.0.0.300')", "containsIP(\"10.0.0.300\")", "one address"),
    ("cidr('10.0.0.0/8').containsCIDR('10.0.0.1')", "containsCIDR(\"10.0.0.1\")", "cidr("),
    ("url('example').getHost() == ''", "invalid URI", "absolute URL"),
    ("semver('1.2').major() == 1", "No Major.Minor.Patch", "semver('1.2.0')"),
    ("object.metadata.name == 'x' || quantity('1Gb').isInteger()", "quantity(\"1Gb\")", "1Gi"),
    ("object.metadata.name.split('-')[-1] == 'x'", "the index -1 is always an error",
     'write object.metadata.name.split("-")[size(object.metadata.name.split("-")) - 1]'),
]  # fmt: skip
RIGHT = [
    "{-1: 'a'}[-1] == 'a'",
    "object.metadata.name.split('-')[1 - 1] == 'x'",
    "quantity('1Gi').isGreaterThan(quantity('1e3'))",
    "isQuantity('1Gb')",
    "ip('::1').family() == 6",
    "isIP('10.0.0')",
    "cidr('10.0.0.0/8').containsIP(ip('10.0.0.1'))",
    "cidr('10.0.0.0/8').containsIP('10.0.0.1')",
    "url('https://example.com/a').getHost() == 'example.com'",
    "semver('1.2.3').major() == 1",
    "semver('v1.2', true).major() == 1",
    "quantity(object.metadata.name).isInteger()",
]


@pytest.mark.parametrize(("expression", "message", "hint"), WRONG)
def test_a_literal_that_never_parses_is_an_error(expression: str, message: str, hint: str) -> None:
    (found,) = found_in(expression)
    assert (found.rule, found.severity) == ("invalid-literal", "error")
    assert message in found.message
    assert hint in found.hint
    assert found.excerpt.startswith(f" | {expression}\n | ")


@pytest.mark.parametrize("expression", RIGHT)
def test_literals_that_parse_are_right(expression: str) -> None:
    assert found_in(expression) == []


def found_in(expression: str) -> list[Problem]:
    sources = loaded(policy(validations=[demand(expression, "no")]))
    assert sources.problems == ()
    return list(in_policies(LintRun(sources), invalid_literals))
