"""How long the suites of a set may take when a server loads them."""

from itertools import count

from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source import loader
from policyd.server.policies import policy_loader
from policyd.server.policies.policy_loader import failures
from policyd.versions import NEWEST
from tests.builders.objects import pod
from tests.builders.policies import demand, policy, suite


def cases(number: int) -> list[JSONObject]:
    """Cases that are as expected."""
    request = {"object": pod()}
    expect = {"allowed": True}
    return [{"name": f"c{i}", "request": request, "expect": expect} for i in range(number)]


def policies(*suites: JSONObject) -> CompiledPolicySet:
    """A set with these suites."""
    return compiler.compile_sources(
        loader.load_built([policy(validations=[demand("true", "m")]), *suites], version=NEWEST),
        None,
    )


def test_the_rest_of_the_suites_is_one_problem_when_the_time_is_over() -> None:
    ran: list[None] = []
    step = policy_loader.SUITE_SECONDS / 2
    clock = count(0.0, step).__next__
    found = failures(
        policies(suite("a", cases=cases(2)), suite("b", cases=cases(50))),
        lambda: ran.append(None),
        clock,
    )
    assert len(ran) < 5
    assert [(each.severity, each.rule) for each in found] == [("error", "suite")]
    assert "PolicyTest b" in found[0].message


def test_each_case_adds_time() -> None:
    clock = count(0.0, policy_loader.CASE_SECONDS * 0.9).__next__
    ran: list[None] = []
    assert failures(policies(suite(cases=cases(400))), lambda: ran.append(None), clock) == []
    assert len(ran) == 400
