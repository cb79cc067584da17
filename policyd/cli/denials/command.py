"""``policyd denials``: reads the recent denials of a server, and follows them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click
import orjson

from policyd.admin_port import AdminPort
from policyd.cli.denials.pages import DenialPage, DenialPages, DenialRow, follow
from policyd.cli.shared.output import echo_json, format_option, styled
from policyd.cli.shared.settings import option
from policyd.cli.shared.terminal.wrapping import echo_wrapped, table_row, terminal_width
from policyd.http.denials import MOST

_EPILOG = """\b
Examples:
  policyd denials
  policyd denials --namespace shop --policy no-privileged
  policyd denials -f --limit 20
  policyd denials --admin http://10.0.0.7:8080 --token-file token
  policyd denials --format json |
      jq -r '.denials[] | select(.user == "ann") | .message'

To reach the admin port of a Pod in a cluster, run kubectl port-forward first:
each Pod has its own denials.

Exit status: 0 on success, also if nothing was denied and after Ctrl-C with -f, 2 if the server
cannot be reached, refuses, or is not policyd.
"""


@click.command("denials", epilog=_EPILOG)
@option("--admin URL", "Read the admin port of this server.", default="http://127.0.0.1:8080")
@option("--token-file FILE", "Send the token in this file.")
@option("-n, --namespace NAME", "Show the denials in this namespace.")
@option("--policy NAME", "Show the denials of this policy.")
@option(
    "--limit NUMBER", "Show this many, the latest ones.", type=click.IntRange(1, MOST), default=MOST
)
@option("-f, --follow", "Go on with new ones until Ctrl-C.", to="follows")
@format_option("text", "json")
def command(
    *,
    admin: str,
    token_file: Path | None,
    namespace: str | None,
    policy: str | None,
    limit: int,
    follows: bool,
    form: str,
) -> None:
    """Show recent denials of a running server, and denials that a rollout suppressed.

    A server keeps the last 200 denials of all its workers in memory. It shows them to clients on
    the same machine, kubectl port-forward among them, or to clients with the token of
    --admin-token-file.

    With -f, restarts and short outages of the server are reported on standard error; JSON then has
    one denial a line.
    """
    pages = DenialPages(AdminPort(admin, token_file, "--token-file"), namespace, policy)
    page = pages.read(limit=limit)
    if form == "json" and not follows:
        echo_json(page.document)
        return
    if not page.rows and not follows:
        echo_wrapped(none_text(page, namespace, policy), err=True)
        return
    rows = table(page.rows)
    show = orjson.dumps if form == "json" else rows.row
    try:
        if form == "text":
            click.echo(rows.head())
        for row in page.rows:
            click.echo(show(row))
        if follows:
            follow(pages, page, lambda row: click.echo(show(row)))
    except KeyboardInterrupt:
        if not follows:
            raise


_HEAD = ("TIME", "EFFECT", "POLICY", "REQUEST", "USER")
# The columns that a table has room for before it has any row, and the widest ones.
_LEAST = (20, 10, 24, 40, 16)
_MOST = (24, 10, 40, 60, 40)


def none_text(page: DenialPage, namespace: str | None, policy: str | None) -> str:
    """Return that there are no denials, and since when."""
    what = f" by policy {policy}" if policy else ""
    where = f" in namespace {namespace}" if namespace else ""
    since = datetime.fromtimestamp(page.complete_since / 1e6, UTC)
    from_when = f"since {since:%Y-%m-%dT%H:%M:%SZ}"
    return f"nothing was denied{what}{where} {from_when}; each replica has its own denials"


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
