"""Policies judge objects with holes: whatever is missing or null, no expression ends with an error.

Every field of every object of a suite is left out, and then made null, one at a time.
"""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policyd import PolicySet
from policyd.policy import loader, suite
from tests.shared import ROOT

FOLDERS = sorted(each.parent for each in (ROOT / "policies").rglob("policy.yaml"))
IDS = [str(each.relative_to(ROOT / "policies")) for each in FOLDERS]
# Without these there is no request.
KEPT = {("apiVersion",), ("kind",), ("metadata",), ("metadata", "name")}
Path_ = tuple[str | int, ...]


def places(value: Any, above: Path_ = ()) -> Iterator[Path_]:
    """The path of every field below a value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, each in items:
        yield (*above, key)
        yield from places(each, (*above, key))


def holed(value: Any, path: Path_, *, null: bool) -> Any:
    """A copy without the field at a path, or with null there."""
    found = copy.deepcopy(value)
    at = found
    for key in path[:-1]:
        at = at[key]
    if null:
        at[path[-1]] = None
    else:
        del at[path[-1]]
    return found


def asked(folder: Path) -> tuple[PolicySet, list[dict[str, Any]]]:
    """The policy of a folder, and the reviews that its suite sends to /validate."""
    (document,) = loader.load([folder / "suite.yaml"]).documents
    policies = PolicySet.load([folder]).for_suite(document)
    reviews: list[dict[str, Any]] = []

    def listening(judge: suite.Review) -> suite.Review:
        def review(review: dict[str, Any], webhook: suite.Webhook) -> dict[str, Any]:
            if webhook == "validate":
                reviews.append(review)
            return judge(review, webhook)

        return review

    suite.run(
        document,
        listening(policies.review),
        with_namespace=lambda namespace: listening(policies.reviewing_in(namespace)),
    )
    return policies, reviews


def holes(review: dict[str, Any]) -> Iterator[tuple[Path_, dict[str, Any]]]:
    """The review with one field missing or null; items of lists are never null there."""
    for side in ("object", "oldObject"):
        for path in places(review["request"].get(side)):
            if path in KEPT:
                continue
            for null in (False, True):
                if null and isinstance(path[-1], int):
                    continue
                changed = holed(review["request"][side], path, null=null)
                yield path, {**review, "request": {**review["request"], side: changed}}


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_no_hole_ends_with_an_error(folder: Path) -> None:
    policies, reviews = asked(folder)
    wrong = set()
    for review in reviews:
        for path, changed in holes(review):
            response = policies.review(changed)["response"]
            told = str(response.get("status")) + str(response.get("warnings"))
            if "resulted in error" in told or "fails to evaluate" in told:
                wrong.add((path, told[:300]))
    assert sorted(wrong, key=str) == []
