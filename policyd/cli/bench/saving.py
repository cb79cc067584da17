"""The options ``--save``, ``--compare`` and ``--threshold`` of benchmarks, and what a comparison
prints. Measures nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from policyd.benchmark import saved
from policyd.benchmark.figures import FigureChange, change
from policyd.benchmark.saved import Saved
from policyd.cli.bench.values import aligned, share
from policyd.cli.shared.output import counted, echo_json, styled
from policyd.cli.shared.settings import OptionValue, grouped
from policyd.errors import ConfigError
from policyd.json_types import JSONObject


@dataclass(frozen=True, slots=True)
class FigureComparison:
    """What changed since a saved measurement. ``missing`` are figures that only one of them has."""

    file: Path
    taken: str
    changes: tuple[FigureChange, ...]
    missing: tuple[str, ...]
    remarks: tuple[str, ...]
    threshold: float | None

    @property
    def slower(self) -> tuple[FigureChange, ...]:
        """What became slower by more than the threshold; empty without one."""
        if self.threshold is None:
            return ()
        return tuple(each for each in self.changes if each.slower_than(self.threshold))

    def document(self) -> JSONObject:
        """Return it as JSON."""
        return {
            "file": str(self.file),
            "taken": self.taken,
            "threshold": self.threshold,
            "slower": [each.name for each in self.slower],
            "missing": list(self.missing),
            "remarks": list(self.remarks),
            "changes": [asdict(each) for each in self.changes],
        }

    def lines(self) -> Iterator[str]:
        """Yield it as text."""
        yield ""
        yield f"compared with {self.file} of {self.taken}"
        yield from (f"  {each}" for each in self.remarks)
        rows = [("", "before", "now", "ratio", "97 % interval")]
        rows += [
            (
                each.name,
                f"{each.before:,.2f}",
                f"{each.now:,.2f} {each.unit}",
                f"{each.ratio:.3f}",
                f"{each.low:.3f} to {each.high:.3f}",
            )
            for each in self.changes
        ]
        slower = {each.name for each in self.slower}
        for row, line in zip(rows, aligned(rows), strict=True):
            yield styled(line, fg="red") if row[0] in slower else line
        if self.missing:
            yield f"only in one of them: {', '.join(self.missing)}"
        if self.threshold is None:
            return
        percent = f"{self.threshold:.0%}"
        if slower:
            yield f"{counted(len(slower), 'figure')} slower by more than {percent}"
        else:
            yield f"nothing is slower by more than {percent}"


@dataclass(frozen=True, slots=True)
class SavingOptions:
    """The values of ``saving_options``."""

    save: Path | None
    compare: Path | None
    threshold: float | None
    allow_different: bool

    def former(self, benchmark: str) -> Saved | None:
        """Return the measurement to compare with. Raises ConfigError: call it before measuring."""
        return None if self.compare is None else saved.read(self.compare, benchmark)

    def check(self, now: Saved, former: Saved | None) -> None:
        """Raise ConfigError if something else is measured than then: call it before measuring."""
        found = [] if former is None or self.allow_different else saved.differences(now, former)
        if found:
            raise ConfigError(
                f"--compare {self.compare}: {'; '.join(found)}\n  hint: measure the same again, or "
                "compare what both have with --allow-different"
            )

    def finish(
        self, now: Saved, former: Saved | None, form: str, lines: Iterable[str]
    ) -> Sequence[FigureChange]:
        """Save the measurement, compare it, and print it as JSON, or as text that begins with these
        lines. Return what became slower.
        """
        if self.save is not None:
            now.write(self.save)
        comparison = self._compared(now, former)
        if form == "json":
            more = {} if comparison is None else {"comparison": comparison.document()}
            echo_json({**now.document(), **more})
        else:
            for line in (*lines, *(() if comparison is None else comparison.lines())):
                click.echo(line)
        return () if comparison is None else comparison.slower

    def _compared(self, now: Saved, former: Saved | None) -> FigureComparison | None:
        if former is None or self.compare is None:
            return None
        changes, missing = _changes(now, former)
        remarks = saved.remarks(now, former)
        if self.allow_different:
            remarks = [*saved.differences(now, former), *remarks]
        return FigureComparison(
            self.compare, former.taken, tuple(changes), missing, tuple(remarks), self.threshold
        )


def _given(
    *, save: Path | None, compare: Path | None, threshold: float | None, allow_different: bool
) -> SavingOptions:
    if compare is None and (threshold is not None or allow_different):
        raise click.UsageError("--threshold and --allow-different require --compare")
    return SavingOptions(save, compare, threshold, allow_different)


def _changes(now: Saved, former: Saved) -> tuple[Sequence[FigureChange], tuple[str, ...]]:
    found = []
    for name, figure in now.figures.items():
        before = former.figures.get(name)
        made = None if before is None else change(figure, before)
        if made is not None:
            found.append(made)
    return found, tuple(sorted(now.figures.keys() ^ former.figures.keys()))


_OPTIONS = (
    click.option(
        "--save",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Save the measurement in this file (JSON), for --compare.",
    ),
    click.option(
        "--compare",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Print how many times as long everything takes as in this saved measurement.",
    ),
    click.option(
        "--threshold",
        type=OptionValue("PERCENT", share),
        metavar="PERCENT",
        help="With --compare: exit with status 1 if anything is slower by more than this, such as "
        "10%, and its interval excludes less.",
    ),
    click.option(
        "--allow-different",
        is_flag=True,
        help="With --compare: compare what both have although policies or reviews differ.",
    ),
)
saving_options = grouped("saving", _given, _OPTIONS)
