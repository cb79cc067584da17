"""What the scenarios measured: the table that ``make node`` ends with. No tests here.

``build/node/report.md`` is the same as Markdown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pytest

from tests.node.load import Outcome
from tests.node.programs import BUILT

HEADINGS = ("disruption", "per s", "creates", "refused", "wrong", "p50 ms", "p99 ms", "max ms")


@dataclass
class Report:
    """Grows while the tests run."""

    config: pytest.Config
    disruptions: list[tuple[str, ...]] = field(default_factory=list)
    figures: list[tuple[str, str]] = field(default_factory=list)

    def progress(self, text: str) -> None:
        """Print a line now, whatever pytest captures."""
        capture = self.config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            print(f"   {text}", flush=True)

    def figure(self, what: str, value: str) -> None:
        """Add a line to the figures."""
        self.progress(f"{what}: {value}")
        self.figures.append((what, value))

    def disruption(self, what: str, rate: float, outcome: Outcome) -> None:
        """Add a line to the table, and fail if a create was lost or decided wrongly."""
        counts = outcome.counts
        wrong = counts["wrongly admitted"] + counts["wrongly denied"]
        row = (
            what,
            f"{rate:g}",
            f"{len(outcome.rows):,}",
            str(counts["lost"]),
            str(wrong),
            *(f"{outcome.milliseconds(quantile):,.0f}" for quantile in (0.5, 0.99, 1)),
        )
        self.progress(
            ", ".join(f"{name} {value}" for name, value in zip(HEADINGS, row, strict=True))
        )
        self.disruptions.append(row)
        faults = outcome.faults
        assert not faults, "\n".join(
            [f"{len(faults)} of {len(outcome.rows)} creates:", *faults[:20]]
        )

    def lines(self) -> list[str]:
        """The whole report as Markdown."""
        lines: list[str] = []
        if self.disruptions:
            lines += ["", *table(HEADINGS, self.disruptions)]
        if self.figures:
            lines += ["", *table(("figure", "value"), self.figures)]
        return lines

    def write(self) -> None:
        BUILT.mkdir(parents=True, exist_ok=True)
        (BUILT / "report.md").write_text("\n".join(self.lines()[1:]) + "\n")


KEY = pytest.StashKey[Report]()


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table with columns of equal width; numbers are to the right."""
    cells = [headings, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    lines = []
    for row in cells:
        padded = [
            cell.rjust(width) if column and len(headings) > 2 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"| {' | '.join(padded)} |")
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return lines
