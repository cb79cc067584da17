"""The tests of a suite: its cases, with each row of a table as a separate test. Runs none."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from policyd.json_types import FieldPath
from policyd.policy.model.suite import (
    Case,
    ClusterState,
    Expect,
    PolicyTest,
    SuiteRequest,
    TableRow,
    Webhook,
)

# The fields of a request that exclude each other: one that a row gives replaces the other.
RIVALS = (("object", "object_file"), ("old_object", "old_object_file"), ("review", "review_file"))


@dataclass(frozen=True, slots=True)
class SuiteCase:
    """One test. ``path`` is the place of the case or row in the suite; a row's name follows the
    name of its case after a slash. ``states`` come from the suite, the case and the row.
    ``staged``: the rollouts are as configured, and not over.
    """

    name: str
    path: FieldPath
    request: SuiteRequest
    expect: Expect | None
    webhook: Webhook | None
    idempotent: bool
    defaults: bool
    states: tuple[ClusterState, ...]
    changes: Mapping[str, Any]
    removed: tuple[str, ...]
    staged: bool = False


def cases_of(suite: PolicyTest) -> Iterator[SuiteCase]:
    """Yield the tests of a suite in order. The case of a table is none itself."""
    for index, case in enumerate(suite.cases):
        path: FieldPath = ("cases", index)
        if case.table is None:
            yield _test(suite, case, None, path)
        for number, row in enumerate(case.table or ()):
            yield _test(suite, case, row, (*path, "table", number))


def _test(suite: PolicyTest, case: Case, of: TableRow | None, path: FieldPath) -> SuiteCase:
    """Return the test of a row, or of a case without a table: an empty row changes nothing."""
    row = of or TableRow()
    given = (each for each in (row.defaults, case.defaults) if each is not None)
    return SuiteCase(
        case.name if of is None else f"{case.name}/{row.name}",
        path,
        _merged(case.request, row.request),
        case.expect if row.expect is None else row.expect,
        case.webhook,
        case.idempotent if row.idempotent is None else row.idempotent,
        next(given, suite.defaults),
        (suite, case) if of is None else (suite, case, row),
        row.changes,
        row.remove,
        (row.rollout or case.rollout) == "staged",
    )


def _merged(base: SuiteRequest, row: SuiteRequest) -> SuiteRequest:
    """Return the request of a case with the fields that a row gives."""
    given = {name: getattr(row, name) for name in row.fields_given}
    for pair in RIVALS:
        if any(given.get(name) is not None for name in pair):
            given = {**dict.fromkeys(pair), **given}
    fields = {name: getattr(base, name) for name in base.fields_given} | given
    kept = {name: value for name, value in fields.items() if value is not None}
    return SuiteRequest.of_fields(kept)
