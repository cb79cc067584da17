"""``policyd bench``: a table of commands, each imported only when it is used."""

import click

from policyd.cli.shared.groups import TableGroup, modules_in

# Module with the click command ``command``: its line in the help.
COMMANDS = {
    "core": "Measure your policies in this process, policy by policy.",
    "server": "Measure a running server under load, over TLS.",
}
_ELSEWHERE = {("core",): "policies run", ("server",): "http load serve webhook"}
_EPILOG = """\
Run 'policyd bench COMMAND --help' for the options, examples and exit statuses of a command.
"""


@click.group(
    "bench",
    cls=TableGroup,
    table=modules_in(__name__, COMMANDS),
    elsewhere=_ELSEWHERE,
    epilog=_EPILOG,
)
def command() -> None:
    """Measure what policies cost."""
