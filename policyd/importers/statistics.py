"""Count what became of policies, by kind of rule. Reads nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from policyd.importers.model import Imported

_OTHER = "other"


@dataclass(frozen=True, slots=True)
class KindCount:
    """Policies with one kind of rule. A policy with several kinds counts for each of them.

    ``agreeing`` and ``rows`` are those of the tests that came with the imported policies.
    """

    kind: str
    found: int
    imported: int
    rows: int = 0
    agreeing: int = 0

    @property
    def refused(self) -> int:
        """Return how many are not imported."""
        return self.found - self.imported


def by_kind(policies: Iterable[tuple[Imported, Sequence[bool]]]) -> list[KindCount]:
    """Count imports, each with its rows that were run: whether they agree."""
    found: dict[str, list[int]] = {}
    for imported, rows in policies:
        for kind in dict.fromkeys(imported.kind_of_rule) or (imported.source.kind or _OTHER,):
            counts = found.setdefault(kind, [0, 0, 0, 0])
            counts[0] += 1
            counts[1] += bool(imported.documents)
            counts[2] += len(rows)
            counts[3] += sum(rows)
    return [KindCount(kind, *counts) for kind, counts in sorted(found.items())]
