"""What the benchmarks share: percentages, and tables. Measures nothing."""

from collections.abc import Iterator, Sequence


def share(string: str) -> float:
    """Parse ``10%`` or ``10`` to 0.1; raises ValueError."""
    number = string.strip().removesuffix("%").strip()
    if not number.replace(".", "", 1).isdecimal() or not number.isascii():
        raise ValueError("a percentage like 10%")
    return float(number) / 100


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows as lines: the first column to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:]))
        yield "  ".join(cells).rstrip()
