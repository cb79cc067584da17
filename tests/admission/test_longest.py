"""What ends an evaluation for which the caller set no deadline."""

import asyncio

import pytest

from policyd import Lookups, PolicySet, build_review
from policyd.admission.lookups import evaluations
from policyd.json_types import JSON
from tests.builders.objects import config_map
from tests.builders.policies import CONFIG_MAPS, demand, policy

LEVELS = 40  # 2**40 comparisons


class Nothing(Lookups):
    """Looks up nothing."""


def doubled(name: str, element: str) -> list[JSON]:
    """Variables that each hold the one before twice: 2**LEVELS elements in LEVELS lists."""
    made: list[JSON] = [{"name": f"{name}0", "expression": "[object]"}]
    for level in range(1, LEVELS):
        inner = element.format(f"variables.{name}{level - 1}")
        made.append({"name": f"{name}{level}", "expression": inner})
    return made


@pytest.mark.parametrize(
    "element",
    ["[{0}, {0}]", "[{{'a': {0}, 'b': {0}}}]", "[optional.of({0}), optional.of({0})]"],
)
@pytest.mark.parametrize(
    "expression", ["{0} == {1}", "{0} in [{1}]", "sets.contains([{0}], [{1}])"]
)
def test_a_comparison_without_end_is_an_error(
    element: str, expression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluations, "LONGEST_NS", 20_000_000)
    last = [f"variables.{name}{LEVELS - 1}" for name in "vw"]
    endless = policy(
        "p",
        CONFIG_MAPS,
        variables=[*doubled("v", element), *doubled("w", element)],
        validations=[demand(expression.format(*last), "m")],
    )
    policies, review = PolicySet.from_documents([endless]), build_review(config_map("a"))
    looked_up = asyncio.run(policies.aevaluate(review, lookups=Nothing()))
    for result in (policies.evaluate(review), looked_up):
        assert not result.allowed
        assert "deadline exceeded" in result.message
