"""The fields of findings of recorded requests: those of two analyses that know nothing of each
other, and of objects that were changed.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from policyd.admission.applicable import LookupSources
from policyd.admission.review import decode
from policyd.errors import PolicyError
from policyd.json_types import JSON, FieldPath, JSONObject
from policyd.offline.admitting import Admitter
from policyd.offline.fields import FieldFinder, in_manifest
from policyd.offline.tracing import TracedPolicies
from policyd.policy.compile import compiler
from policyd.policy.source import loader
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.source.places import path_parts
from tests.conformance.apiserver_rows import authorizer, review_of, sources
from tests.sampling import sampled
from tests.shared import ROOT, conformance, reviews


class Checked:
    """Policies, and the fields of each finding: what its expression may read, and what it read."""

    def __init__(self, found: Sources) -> None:
        self.traced = TracedPolicies.of_sources(found)
        self.policies = compiler.compile_sources(found)

    def fields(self, review: JSONObject) -> Iterator[tuple[str, str]]:
        traced, lookups = self.traced, LookupSources(authorizer())
        admitter = Admitter(self.policies, lookups.authorizer)
        plain = admitter.admit(review, ("validate",))
        finder = FieldFinder(lambda: traced)
        located = Admitter(admitter.policies, lookups.authorizer, fields=finder)
        again = located.admit(review, ("validate",))
        without = [(each.policy, each.message, each.outcome) for each in plain.violations]
        assert [(each.policy, each.message, each.outcome) for each in again.violations] == without
        _, notes = traced.of(decode(review), "validate", lookups).run()
        named = {
            (each.policy, each.index): each.field for each in again.violations if not each.error
        }
        for visit in (visit for each in notes.values() for visit in each.visits):
            for finding in visit.findings:
                field = named.get((finding.policy.name, finding.index))
                if field is not None:
                    yield finding.field, field


def agree(may: str, did: str) -> bool:
    """Whether one path begins with the other: what an expression may read has fewer indexes, and
    several missing fields are only known by their parent.
    """
    pairs = zip(path_parts(may), path_parts(did), strict=False)
    return all(one == other for one, other in pairs)


@pytest.mark.slow
def test_fields_are_among_those_that_an_expression_may_read() -> None:
    library = Checked(loader.load([ROOT / "policies"]))
    fields = [pair for row in sampled(reviews()) for pair in library.fields(row["review"])]
    assert [pair for pair in fields if not agree(*pair)] == []
    assert sum(bool(did) for _, did in fields) > 20


@pytest.mark.slow
def test_fields_of_rows_of_an_api_server_are_too() -> None:
    fields: list[tuple[str, str]] = []
    for row in sampled(conformance("apiserver/vap-cel.jsonl")):
        for request in row.get("reviews") or [row["review"]]:
            try:
                if request is not None:
                    fields += Checked(sources(row)).fields(review_of(request))
            except PolicyError:
                continue
    assert [pair for pair in fields if not agree(*pair)] == []
    assert any(did for _, did in fields)


A: JSONObject = {"name": "a", "x": 1}
B: JSONObject = {"name": "b", "x": 2}
SIDE: JSONObject = {"name": "side"}
# A path in what a policy saw, what it saw, what was given, and the path there.
PATHS: list[tuple[FieldPath, JSON, JSON, FieldPath]] = [
    (("x", "y"), {"x": {"y": 1}}, {"x": {}}, ("x", "y")),
    (("x", "y"), {"x": {"y": 1}}, {}, ("x", "y")),
    (("l", 1, "x"), {"l": [A, B]}, {"l": [A, B]}, ("l", 1, "x")),
    (("l", 1, "x"), {"l": [SIDE, A, B]}, {"l": [A, B]}, ("l", 0, "x")),
    (("l", 0, "x"), {"l": [SIDE, A, B]}, {"l": [A, B]}, ("l",)),
    (("l", 0, "x"), {"l": [B]}, {"l": [A, B]}, ("l", 1, "x")),
    (("l", 0, "x"), {"l": [{**A, "x": 9}]}, {"l": [A]}, ("l", 0, "x")),
    (("l", 0, "x"), {"l": [SIDE]}, {"l": [A]}, ("l",)),
    (("l", 0, "x"), {"l": [A]}, {}, ("l", 0, "x")),
    (("l", 0, "x"), {"l": [A]}, {"l": "text"}, ("l",)),
    (("l", 5, "x"), {"l": [A]}, {"l": [A]}, ("l", 5, "x")),
    (("l", 5, "x"), {"l": [A, SIDE]}, {"l": [A]}, ("l",)),
    (("l", "0", "x"), {"l": [SIDE, A]}, {"l": [A]}, ("l",)),
    (("l", "1", "x"), {"l": [SIDE, A]}, {"l": [A]}, ("l", 0, "x")),
    (("l", 0), {"l": ["a", "b"]}, {"l": ["b", "a"]}, ("l", 1)),
    (("l", 0), {"l": ["z", "b"]}, {"l": ["a", "b"]}, ("l",)),
    (("l", 1), {"l": ["a", "a"]}, {"l": ["a", "a"]}, ("l", 1)),
    (("l", 2), {"l": ["z", "a", "a"]}, {"l": ["a", "a"]}, ("l",)),
    (("l", 0, "p"), {"l": [{"p": 1, "q": 2}]}, {"l": [{"p": 1}]}, ("l", 0, "p")),
    (("l", 1, "p"), {"l": [{"q": 0}, {"p": 1, "q": 2}]}, {"l": [{"p": 1}]}, ("l",)),
    (("l", 1, "p"), {"l": [{"q": 0}, {"p": 1}]}, {"l": [{"p": 1}]}, ("l", 0, "p")),
]  # fmt: skip


@pytest.mark.parametrize(("path", "seen", "given", "expected"), PATHS)
def test_the_path_in_the_manifest(
    path: FieldPath, seen: Any, given: Any, expected: FieldPath
) -> None:
    assert in_manifest(path, seen, given) == expected
