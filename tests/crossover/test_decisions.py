"""Policies that policyd has not evaluated are named."""

from collections import Counter

from tools.crossover.decisions import idle_policies
from tools.crossover.model import Arrangement

ARRANGEMENTS = (
    Arrangement("none", None, "a"),
    Arrangement("in-tree", "validate", "b", ("p", "in-tree-only")),
    Arrangement("webhook", "validate", "c", ("p", "q", "r")),
)


def test_policies_without_a_decision_are_named() -> None:
    before, after = Counter({"p": 3, "q": 7}), Counter({"p": 5, "q": 7, "other": 1})
    assert idle_policies(ARRANGEMENTS, before, after) == (
        "policyd evaluated nothing of q, r: it has not loaded them, or they match none of these "
        "requests",
    )


def test_nothing_is_said_if_all_decided_or_nobody_knows() -> None:
    after = Counter({"p": 1, "q": 1, "r": 1})
    assert idle_policies(ARRANGEMENTS, Counter(), after) == ()
    assert idle_policies(ARRANGEMENTS, None, after) == ()
    assert idle_policies(ARRANGEMENTS, Counter(), None) == ()
