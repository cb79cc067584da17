"""What ``policyd import`` reports: the state of each policy, reasons and remarks with their
places, and the agreement with the tests of the source. Converts nothing.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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

    @property
    def origin(self) -> str:
        """Return the file of the source, below the folder that was given."""
        source = self.imported.source
        if not source.root or source.file == "-":
            return ""
        return os.path.relpath(os.path.realpath(source.file), source.root)

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
    number = counted(len(imports), "policy").replace("policys", "policies")
    return f"{number}: " + ", ".join(
        f"{counts[state]} {state}" for state in _COLOURS if counts[state]
    )


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
            **({"files": _files(each, files)} if files else {}),
        }
        for each in imports
    ]


def _files(one: ReportedImport, files: Mapping[Path, ReportedImport]) -> list[str]:
    return [str(path) for path, each in files.items() if each is one]


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
