"""``policyd denials``: reads the recent denials of a server, and follows them."""

from pathlib import Path

import click

from policyd.admin_port import AdminPort
from policyd.cli.denials.output import none_text, row_json, table
from policyd.cli.denials.pages import DenialPages, follow
from policyd.cli.shared.output import echo_json, format_option
from policyd.cli.shared.settings import FILE
from policyd.cli.shared.terminal.wrapping import echo_wrapped
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
@click.option(
    "--admin",
    default="http://127.0.0.1:8080",
    show_default=True,
    metavar="URL",
    help="Read the admin port of this server.",
)
@click.option(
    "--token-file",
    type=FILE,
    help="Send the token in this file.",
)
@click.option("-n", "--namespace", metavar="NAME", help="Show the denials in this namespace.")
@click.option("--policy", metavar="NAME", help="Show the denials of this policy.")
@click.option(
    "--limit",
    type=click.IntRange(1, MOST),
    default=MOST,
    show_default=True,
    metavar="NUMBER",
    help="Show this many, the latest ones.",
)
@click.option("-f", "--follow", "follows", is_flag=True, help="Go on with new ones until Ctrl-C.")
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
    show = row_json if form == "json" else rows.row
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
