"""The tables of ``policyd import --verify``: rows of the source's tests that disagree, and counts
by kind of rule. Runs no rows.
"""

from collections.abc import Iterator, Sequence

from policyd.cli.importing.report import ReportedImport
from policyd.cli.shared.output import shortest, styled
from policyd.cli.shared.terminal.wrapping import table_row
from policyd.importers.proof.rows import Proof
from policyd.importers.statistics import KindCount, by_kind

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
    yield from _table(by_kind(counted))
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


def _table(counts: Sequence[KindCount]) -> Iterator[str]:
    rows = [
        (each.kind, each.found, each.imported, each.refused, each.rows, each.agreeing)
        for each in counts
    ]
    shown = [_HEADS, *(tuple(map(str, row)) for row in rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(_HEADS))]
    for row in shown:
        first, *others = row
        columns = (f"{each:>{size}}" for each, size in zip(others, widths[1:], strict=True))
        yield "  ".join((f"{first:<{widths[0]}}", *columns))
