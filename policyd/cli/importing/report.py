"""What ``policyd import`` reports: the state of each policy, reasons and remarks with their
places, and the agreement with the tests of the source: rows that disagree, and counts by kind of
rule. Converts nothing.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from policyd.cli.shared.output import counted, shortest, styled
from policyd.cli.shared.terminal.wrapping import table_row
from policyd.importers.checking import CheckedImport
from policyd.importers.model import Imported, ImportRemark, ImportState
from policyd.importers.proof.rows import Proof
from policyd.json_types import JSONObject

_COLOURS: Mapping[ImportState, str] = {
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
    def label(self) -> str:
        """Return the kind and name of the source."""
        return self.imported.source.label

    @property
    def place(self) -> str:
        """Return the file and line of the source."""
        source = self.imported.source
        return f"{shortest(source.file)}:{source.place()[0]}"

    def reason_text(self, found: ImportRemark) -> str:
        """Return a reason with its place."""
        source = self.imported.source
        place = f"{shortest(source.file)}:{source.place(found.path)[0]}"
        return f"{place}: {self.remark_text(found)}"

    def remark_text(self, found: ImportRemark) -> str:
        """Return a remark with its field."""
        return f"{found.path}: {found.message}" if found.path else found.message


def summary(imports: Sequence[ReportedImport], width: int | None) -> Iterator[str]:
    """Yield the lines of a table, with reasons and remarks below their policies, and the totals."""
    states = max(map(len, _COLOURS))
    labels = max((len(each.label) for each in imports), default=0)
    for each in imports:
        state = styled(f"{each.imported.state:{states}}", fg=_COLOURS[each.imported.state])
        yield table_row((state, styled(f"{each.label:{labels}}", bold=True)), each.place, width)
        for found in each.imported.reasons:
            yield table_row(("  ",), each.reason_text(found), width)
        for found in each.imported.remarks:
            yield table_row(("  ",), f"remark: {each.reason_text(found)}", width)
    yield totals(imports)


def totals(imports: Sequence[ReportedImport]) -> str:
    """Return how many policies have each state."""
    counts = Counter(each.imported.state for each in imports)
    states = ", ".join(f"{counts[state]} {state}" for state in _COLOURS if counts[state])
    return counted(len(imports), "policy", "policies") + (f": {states}" if states else "")


def imports_json(
    imports: Sequence[ReportedImport], files: Mapping[Path, ReportedImport]
) -> list[JSONObject]:
    """Return the policies with documents, reasons, remarks and rows of tests."""
    return [
        {
            "kind": each.imported.source.kind,
            "name": each.imported.source.name,
            "namespace": each.imported.source.namespace,
            "file": each.imported.source.file,
            "line": each.imported.source.place()[0],
            "state": each.imported.state,
            "rules": list(each.imported.kind_of_rule),
            "documents": [document.raw for document in each.imported.documents],
            "reasons": [_remark_json(each, found) for found in each.imported.reasons],
            "remarks": [_remark_json(each, found) for found in each.imported.remarks],
            "tests": [_row_json(proof) for proof in each.proofs],
            **({"files": [str(path) for path in files if files[path] is each]} if files else {}),
        }
        for each in imports
    ]


def _remark_json(one: ReportedImport, found: ImportRemark) -> JSONObject:
    line, column = one.imported.source.place(found.path)
    return {"path": found.path, "line": line, "column": column, "message": found.message}


def _row_json(proof: Proof) -> JSONObject:
    row = proof.row
    return {
        "file": row.test.file,
        "line": row.line,
        "rule": row.rule,
        "object": row.subject,
        "expected": row.expected,
        "found": proof.found,
        "state": proof.state,
        "reason": proof.reason,
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
                yield _row(one.label, proof, width)
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
    shown = [_HEADS, *((kind, *map(str, row)) for kind, row in sorted(counts.items()))]
    widths = [max(len(row[column]) for row in shown) for column in range(len(_HEADS))]
    for row in shown:
        first, *others = row
        columns = (f"{each:>{size}}" for each, size in zip(others, widths[1:], strict=True))
        yield "  ".join((f"{first:<{widths[0]}}", *columns))
