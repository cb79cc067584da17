"""Exceptions: all criteria given must hold, one entry of a list suffices, and they end with their
day.
"""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from policyd._core.match.selectors import Selector
from policyd.policy.compile.exemptions import (
    ExemptedObjects,
    Exemption,
    ExemptionInput,
    end_of,
    wildcard,
)

USER = {"username": "alice", "groups": ["devs", "system:authenticated"]}


def about(name: str, **criteria: Any) -> Exemption:
    return Exemption(name, objects=(ExemptedObjects(**criteria),))


def applies(exemption: Exemption) -> bool:
    asked = ExemptionInput("CREATE", "legacy-shop", "billing-1", USER, {"app": "old"})
    return exemption.applies(asked)


@pytest.mark.parametrize(
    ("exemption", "want"),
    [
        (Exemption("none"), True),
        (about("ns", namespaces=wildcard(("legacy-*",))), True),
        (about("ns", namespaces=wildcard(("legacy",))), False),
        (about("one of two", names=wildcard(("x", "billing-?"))), True),
        (about("dot is no wildcard", names=wildcard(("billing.1",))), False),
        (
            about("both must hold", namespaces=wildcard(("legacy-*",)), names=wildcard(("x",))),
            False,
        ),
        (Exemption("user", users=wildcard(("a*",))), True),
        (Exemption("group", groups=wildcard(("devs",))), True),
        (Exemption("other group", groups=wildcard(("ops",))), False),
        (about("operation", operations=frozenset({"UPDATE"})), False),
        (about("selector", selector=Selector({"matchLabels": {"app": "old"}})), True),
        (about("selector", selector=Selector({"matchLabels": {"app": "new"}})), False),
    ],
)
def test_exemption_applies(exemption: Exemption, want: bool) -> None:
    assert applies(exemption) is want


@pytest.mark.parametrize(
    ("now", "want"),
    [
        (datetime(2027, 3, 31, 23, 59, 59, tzinfo=UTC), True),
        (datetime(2027, 4, 1, tzinfo=UTC), False),
    ],
)
def test_until_is_inclusive_in_utc(now: datetime, want: bool) -> None:
    assert applies(Exemption("e", ends=end_of(date(2027, 3, 31)), now=lambda: now)) is want


def test_many_stars_take_linear_time() -> None:
    """It ended after the age of the universe as a regular expression that backtracks."""
    test = wildcard(("*a" * 20 + "*b", "?*a?a*" + "a*" * 20 + "c"))
    assert test is not None
    assert not test("a" * 100_000)
    assert test("a" * 100_000 + "b")
