"""Read suite.yaml of Gatekeeper: tests of a template with a constraint, cases and assertions.
Evaluates nothing.

The fields are those of ``Suite`` of test.gatekeeper.sh/v1alpha1, as gator verifies it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from policyd.importers.fields import items, require_fields, string_at, strings_at
from policyd.importers.proof.rows import TestUnusable
from policyd.json_types import JSON, JSONObject
from policyd.policy.source.loaded_documents import Document

_SUITE = frozenset({"apiVersion", "kind", "metadata", "tests", "skip"})
_TEST = frozenset({"name", "template", "constraint", "cases", "invalid", "skip", "expansion"})
_CASE = frozenset({"name", "object", "inventory", "assertions", "skip"})
_ASSERTION = frozenset({"violations", "message"})
_YES, _NO = "yes", "no"


@dataclass(frozen=True, slots=True)
class ViolationAssertion:
    """How many violations there are whose message matches ``message``, an RE2 pattern (empty: all).

    ``violations`` is a number, ``yes`` (at least one) or ``no``.
    """

    violations: int | str
    message: str = ""

    def holds(self, number: int) -> bool:
        """Whether this number of matching violations is what is asserted."""
        if isinstance(self.violations, int):
            return number == self.violations
        return (number > 0) == (self.violations == _YES)

    def __str__(self) -> str:
        number = {_YES: "some violations", _NO: "no violations"}.get(
            str(self.violations), f"{self.violations} violations"
        )
        return f"{number} like {self.message!r}" if self.message else number


@dataclass(frozen=True, slots=True)
class GatekeeperCase:
    """One case. ``path`` is its place in the suite; ``skipped``: gator does not run it either."""

    path: str
    name: str
    object: str
    inventory: tuple[str, ...]
    assertions: tuple[ViolationAssertion, ...]
    skipped: bool


@dataclass(frozen=True, slots=True)
class GatekeeperTest:
    """The cases for one constraint. ``invalid``: the constraint itself is wrong, on purpose."""

    path: str
    name: str
    template: str
    constraint: str
    invalid: bool
    skipped: bool
    cases: tuple[GatekeeperCase, ...]


def read_suite(document: Document) -> list[GatekeeperTest]:
    """Return the tests of a suite; raises TestUnusable for what is not understood."""
    raw = document.raw
    require_fields(raw, _SUITE, "")
    skipped = bool(raw.get("skip"))
    return [_test(each, path, skipped) for each, path in items(raw, "tests", "", _TEST)]


def _test(raw: JSONObject, path: str, skipped: bool) -> GatekeeperTest:
    if raw.get("expansion"):
        raise TestUnusable(f"{path}.expansion: policyd has no ExpansionTemplate")
    left_out = skipped or bool(raw.get("skip"))
    return GatekeeperTest(
        path,
        string_at(raw, "name", path),
        string_at(raw, "template", path),
        string_at(raw, "constraint", path),
        bool(raw.get("invalid")),
        left_out,
        tuple(_cases(raw, path, left_out)),
    )


def _cases(test: JSONObject, above: str, skipped: bool) -> Iterator[GatekeeperCase]:
    for raw, path in items(test, "cases", above, _CASE):
        assertions = [
            ViolationAssertion(
                _violations(each.get("violations"), at), string_at(each, "message", at)
            )
            for each, at in items(raw, "assertions", path, _ASSERTION)
        ]
        yield GatekeeperCase(
            path,
            string_at(raw, "name", path),
            string_at(raw, "object", path),
            tuple(strings_at(raw, "inventory", path)),
            tuple(assertions),
            skipped or bool(raw.get("skip")),
        )


def _violations(value: JSON, path: str) -> int | str:
    if value is None or value is True or value == _YES:
        return _YES
    if value is False or value == _NO:
        return _NO
    if isinstance(value, int) and value >= 0:
        return value
    raise TestUnusable(f"{path}.violations: expected yes, no or a number")
