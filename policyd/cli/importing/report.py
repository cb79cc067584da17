"""What ``policyd import`` reports: the state of each policy, reasons and remarks with their
places, and the agreement with the tests of the source: rows that disagree, and counts by kind of
rule. Converts nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from policyd.cli.results import PolicyResult, found_json, found_text
from policyd.cli.shared.manifests import place_of
from policyd.cli.shared.output import fields_json, shortest, styled
from policyd.cli.shared.terminal.wrapping import aligned, table_row
from policyd.importers.checking import CheckedImport
from policyd.importers.model import Imported
from policyd.importers.proof.rows import Proof
from policyd.json_types import JSONObject
from policyd.migration.source_changes import SourceChange

COLOURS: Mapping[str, str] = {
    "imported": "green",
    "with remarks": "green",
    "in part": "yellow",
    "not imported": "red",
}


@dataclass(frozen=True, slots=True)
class ReportedImport:
    """One source policy, with the rows of its tests, if they were run."""

    checked: CheckedImport
    proofs: tuple[Proof, ...] = ()

    @property
    def imported(self) -> Imported:
        """Return what became of the policy."""
        return self.checked.imported

    @property
    def result(self) -> PolicyResult:
        """Return what the summary says of the policy."""
        one = self.imported
        reasons, remarks = (
            [f"{place_of(one.source, each.path)}: {found_text(each)}" for each in found]
            for found in (one.reasons, one.remarks)
        )
        below = [*reasons, *(f"remark: {each}" for each in remarks)]
        return PolicyResult(one.source, one.state, reasons, below)


def imports_json(
    imports: Sequence[ReportedImport],
    files: Mapping[Path, ReportedImport],
    changes: Sequence[SourceChange] | None,
) -> list[JSONObject] | JSONObject:
    """Return the policies with documents, reasons, remarks and rows of tests; beside ``changes``
    since an earlier import, if there are any.
    """
    policies = [
        {
            **fields_json(each.imported.source, "kind", "name", "namespace", "file"),
            "line": each.imported.source.place()[0],
            "state": each.imported.state,
            "rules": each.imported.kind_of_rule,
            "documents": [document.raw for document in each.imported.documents],
            "reasons": [found_json(each.imported.source, found) for found in each.imported.reasons],
            "remarks": [found_json(each.imported.source, found) for found in each.imported.remarks],
            "tests": [_row_json(proof) for proof in each.proofs],
            **({"files": [str(path) for path in files if files[path] is each]} if files else {}),
        }
        for each in imports
    ]
    if changes is None:
        return policies
    return {"policies": policies, "changes": [asdict(each) for each in changes]}


def _row_json(proof: Proof) -> JSONObject:
    row = proof.row
    return {
        "file": row.test.file,
        **fields_json(row, "line", "rule"),
        "object": row.subject,
        "expected": row.expected,
        **fields_json(proof, "found", "state", "reason"),
    }


_OTHER = "other"
_HEADS = ("kind of rule", "policies", "imported", "refused", "rows", "agree")


def agreement(
    imports: Sequence[ReportedImport], stray: Sequence[Proof], width: int | None
) -> Iterator[str]:
    """Yield a line for each row that disagrees or cannot be run, then the counts. ``stray`` are the
    rows about no policy of the sources.
    """
    for one in imports:
        for proof in one.proofs:
            if one.imported.documents and proof.state != "agrees":
                yield _row(one.imported.source.label, proof, width)
    for proof in stray:
        yield _row(proof.row.policy, proof, width)
    counted = [(one.imported, [each.state == "agrees" for each in ran(one)]) for one in imports]
    yield ""
    yield from _table(counted)
    rows = [each for _, agreeing in counted for each in agreeing]
    yield f"{sum(rows)} of {len(rows)} rows of the tests of imported policies agree"


def ran(one: ReportedImport) -> list[Proof]:
    """Return the rows of a policy that were run."""
    return [each for each in one.proofs if each.state != "not run"]


def _row(policy: str, proof: Proof, width: int | None) -> str:
    row = proof.row
    place = f"{shortest(row.test.file)}:{row.line}"
    color = "red" if proof.state == "disagrees" else "yellow"
    state = styled(proof.state, fg=color)
    about = ", ".join(filter(None, (f"{policy} {row.rule}".strip(), row.subject)))
    return table_row((f"{place}: {state}: {about or 'the whole test'}:",), proof.reason, width)


def _table(counted: Iterable[tuple[Imported, Sequence[bool]]]) -> Iterator[str]:
    """Yield a line for each kind of rule; a policy with several kinds counts for each of them.
    ``counted`` are imports with their rows that were run: whether they agree.
    """
    counts: dict[str, list[int]] = {}
    for imported, rows in counted:
        done = bool(imported.documents)
        for kind in dict.fromkeys(imported.kind_of_rule) or (imported.source.kind or _OTHER,):
            before = counts.get(kind, [0] * (len(_HEADS) - 1))
            more = (1, done, not done, len(rows), sum(rows))
            counts[kind] = [one + other for one, other in zip(before, more, strict=True)]
    yield from aligned([_HEADS, *((kind, *map(str, row)) for kind, row in sorted(counts.items()))])
