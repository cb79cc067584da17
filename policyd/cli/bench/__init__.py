"""``policyd bench``: a table of commands, each imported only when it is used."""

import click

from policyd.cli.shared.groups import TableGroup

# Name: (module with the click command ``command``, its line in the help).
COMMANDS: dict[str, tuple[str, str]] = {
    "core": (
        "policyd.cli.bench.core",
        "Measure your policies in this process, policy by policy.",
    ),
    "server": (
        "policyd.cli.bench.server",
        "Measure a running server under load, over TLS.",
    ),
}
_EPILOG = """\
Run 'policyd bench COMMAND --help' for the options, examples and exit statuses of a command.
"""


@click.group("bench", cls=TableGroup, table=COMMANDS, epilog=_EPILOG)
def command() -> None:
    """Measure what policies cost."""
