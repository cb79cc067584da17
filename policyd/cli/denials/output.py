"""How ``policyd denials`` prints: a table for people, lines of JSON. Reads nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson

from policyd.cli.denials.pages import DenialPage, DenialRow
from policyd.cli.shared.output import styled
from policyd.cli.shared.terminal.wrapping import table_row, terminal_width

_HEAD = ("TIME", "EFFECT", "POLICY", "REQUEST", "USER")
# The columns that a table has room for before it has any row, and the widest ones.
_LEAST = (20, 10, 24, 40, 16)
_MOST = (24, 10, 40, 60, 40)


def row_json(row: DenialRow) -> str:
    """Return a denial as one line."""
    return orjson.dumps(row).decode()


def none_text(page: DenialPage, namespace: str | None, policy: str | None) -> str:
    """Return that there are no denials, and since when."""
    what = f" by policy {policy}" if policy else ""
    where = f" in namespace {namespace}" if namespace else ""
    since = datetime.fromtimestamp(page.complete_since / 1e6, UTC)
    return f"nothing was denied{what}{where} since {since:%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True, slots=True)
class DenialTable:
    """A table whose columns have these widths. A longer cell moves the others of its row."""

    widths: Sequence[int]
    width: int | None

    def head(self) -> str:
        """Return the line above the rows."""
        cells = [f"{cell:{size}}" for cell, size in zip(_HEAD, self.widths, strict=True)]
        return "  ".join((*cells, "MESSAGE"))

    def row(self, row: DenialRow) -> str:
        """Return the lines of one denial."""
        cells = [f"{cell:{size}}" for cell, size in zip(_cells(row), self.widths, strict=True)]
        color = "red" if row.get("effect") == "denied" else "yellow"
        cells[1] = styled(cells[1], fg=color)
        return table_row(cells, _plain(" ".join(_message(row))), self.width)


def table(rows: Sequence[DenialRow]) -> DenialTable:
    """Return a table with room for these rows."""
    cells = [_HEAD, *map(_cells, rows)] if rows else [_HEAD, [" " * each for each in _LEAST]]
    widths = [
        min(most, max(map(len, column)))
        for most, column in zip(_MOST, zip(*cells, strict=True), strict=True)
    ]
    return DenialTable(widths, terminal_width())


def _cells(row: DenialRow) -> list[str]:
    effect = "would deny" if row.get("event") == "would_deny" else row.get("effect", "")
    name = row.get("name") or (f"{row['generateName']}*" if "generateName" in row else "")
    where = "/".join(str(each) for each in (row.get("namespace"), name) if each)
    request = " ".join(str(each) for each in (row.get("operation"), row.get("resource"), where))
    time = f"{str(row.get('time', '')).partition('.')[0]}Z"
    user = row.get("user") or ""
    return [_plain(str(each)) for each in (time, effect, row["policy"], request, user)]


def _message(row: DenialRow) -> Iterator[str]:
    if row.get("event") == "error":
        yield "error:"
    yield str(row.get("message", ""))
    for key, text in (("owner", "owner"), ("rollout", "not enforced"), ("exception", "exception")):
        if row.get(key):
            yield f"({text}: {row[key]})"
    if row.get("dryRun"):
        yield "(dry run)"


def _plain(text: str) -> str:
    """Return a string that moves no cursor and begins no line."""
    return "".join(each if each.isprintable() else " " for each in text)
