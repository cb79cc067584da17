"""The options ``--save``, ``--compare`` and ``--threshold`` of benchmarks, and what a comparison
prints. Measures nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path

import click

from policyd.benchmark import saved
from policyd.benchmark.figures import FigureChange, change
from policyd.benchmark.saved import Saved
from policyd.cli.shared.output import counted, echo_json, styled
from policyd.cli.shared.settings import PERCENT, OptionValue, grouped, option, percentage
from policyd.cli.shared.terminal.wrapping import aligned
from policyd.errors import ConfigError


@dataclass(frozen=True, slots=True)
class SavingOptions:
    """The values of ``saving_options``."""

    save: Path | None
    compare: Path | None
    threshold: float | None

    def __post_init__(self) -> None:
        """Raise UsageError for a threshold of nothing."""
        if self.compare is None and self.threshold is not None:
            raise click.UsageError("--threshold requires --compare")

    def former(self, now: Saved) -> Saved | None:
        """Return the measurement to compare with: call it before measuring. Raises ConfigError if
        it cannot be read, or is one of other reviews.
        """
        if self.compare is None:
            return None
        former = saved.read(self.compare, now.benchmark)
        if former.reviews != now.reviews:
            raise ConfigError(
                f"--compare {self.compare}: the reviews differ: {former.reviews.count} "
                f"({former.reviews.hash}) then, {now.reviews.count} ({now.reviews.hash}) now\n"
                "  hint: measure the same reviews"
            )
        return former

    def finish(self, now: Saved, former: Saved | None, form: str, lines: Iterable[str]) -> bool:
        """Save the measurement, compare it, and print it as JSON, or as text that begins with these
        lines. Return whether something is slower by more than the threshold.
        """
        if self.save is not None:
            now.write(self.save)
        changes = [] if former is None else _changes(now, former)
        most = inf if self.threshold is None else self.threshold
        slower = [each.name for each in changes if each.slower_than(most)]
        if form == "json":
            compared = {
                "file": str(self.compare),
                "threshold": self.threshold,
                "slower": slower,
                "changes": [asdict(each) for each in changes],
            }
            echo_json({**now.document(), **({} if former is None else {"comparison": compared})})
            return bool(slower)
        for line in lines:
            click.echo(line)
        if former is not None:
            for line in self._compared(now, former, changes, slower):
                click.echo(line)
        return bool(slower)

    def _compared(
        self, now: Saved, former: Saved, changes: Sequence[FigureChange], slower: Sequence[str]
    ) -> Iterator[str]:
        """Yield the comparison as text."""
        yield ""
        yield f"compared with {self.compare} of {former.taken}"
        if now.policies != former.policies:
            yield "note: the policies differ"
        rows = [("", "before", "now", "ratio", "97 % interval")]
        rows += [
            (
                each.name,
                f"{each.before:,.2f}",
                f"{each.now:,.2f} {each.unit}",
                f"{each.ratio:.3f}",
                f"{each.low:.3f} to {each.high:.3f}",
            )
            for each in changes
        ]
        for row, line in zip(rows, aligned(rows), strict=True):
            yield styled(line, fg="red") if row[0] in slower else line
        if self.threshold is not None:
            number = counted(len(slower), "figure") if slower else "nothing is"
            yield f"{number} slower by more than {self.threshold:.0%}"


def _changes(now: Saved, former: Saved) -> list[FigureChange]:
    """Return how the figures changed that both have."""
    both = [name for name in now.figures if name in former.figures]
    found = (change(now.figures[name], former.figures[name]) for name in both)
    return [each for each in found if each is not None]


_OPTIONS = (
    option("--save FILE", "Save the measurement in this file (JSON), for --compare."),
    option(
        "--compare FILE",
        "Print how many times as long everything takes as in this saved measurement.",
    ),
    option(
        "--threshold",
        "With --compare: exit with status 1 if anything is slower by more than this, such as "
        "10%, and its interval excludes less.",
        type=OptionValue(PERCENT, lambda text: percentage(text) / 100),
    ),
)
saving_options = grouped("saving", SavingOptions, _OPTIONS)
