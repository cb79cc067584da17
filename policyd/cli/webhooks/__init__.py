"""``policyd webhooks``: a table of commands, each imported only when it is used."""

import click

from policyd.cli.shared.groups import TableGroup, modules_in

# Module with the click command ``command``: its line in the help.
COMMANDS = {
    "render": "Print the webhook configurations that your policies need.",
    "rbac": "Print the roles that the reads and params of your policies need.",
    "check": "Check offline whether webhook configurations reach your policies.",
    "diff": "Show what apply would change in a cluster.",
    "apply": "Create or update the configurations in a cluster.",
    "status": "Show by which webhooks of a cluster each policy is reached.",
    "watch": "Keep the configurations in step with policy files.",
    "delete": "Delete policyd's configurations from a cluster.",
    "match": "Show which webhooks the API server calls for a request.",
}
_ELSEWHERE = {
    ("apply",): "create install register update",
    ("check",): "lint test validate verify",
    ("delete",): "remove uninstall",
    ("match",): "explain trace why",
    ("rbac",): "permissions role roles",
    ("render",): "export generate print template",
    ("status",): "describe get list show",
    ("watch",): "sync",
}
_EPILOG = """\
Run 'policyd webhooks COMMAND --help' for the options, examples and exit statuses of a command.
"""


@click.group(
    "webhooks",
    cls=TableGroup,
    table=modules_in(__name__, COMMANDS),
    elsewhere=_ELSEWHERE,
    epilog=_EPILOG,
)
def command() -> None:
    """Work with ValidatingWebhookConfigurations and MutatingWebhookConfigurations."""
