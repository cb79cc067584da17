"""``policyd webhooks``: a table of commands, each imported only when it is used."""

import click

from policyd.cli.shared.groups import TableGroup

# Name: (module with the click command ``command``, its line in the help).
COMMANDS: dict[str, tuple[str, str]] = {
    "render": (
        "policyd.cli.webhooks.render",
        "Print the webhook configurations that your policies need.",
    ),
    "check": (
        "policyd.cli.webhooks.check",
        "Check offline whether webhook configurations reach your policies.",
    ),
    "diff": (
        "policyd.cli.webhooks.diff",
        "Show what apply would change in a cluster.",
    ),
    "apply": (
        "policyd.cli.webhooks.apply",
        "Create or update the configurations in a cluster.",
    ),
    "status": (
        "policyd.cli.webhooks.status",
        "Show by which webhooks of a cluster each policy is reached.",
    ),
    "watch": (
        "policyd.cli.webhooks.watch",
        "Keep the configurations in step with policy files.",
    ),
    "delete": (
        "policyd.cli.webhooks.delete",
        "Delete policyd's configurations from a cluster.",
    ),
    "match": (
        "policyd.cli.webhooks.match",
        "Show which webhooks the API server calls for a request.",
    ),
}
_EPILOG = """\
Run 'policyd webhooks COMMAND --help' for the options, examples and exit statuses of a command.
"""


@click.group("webhooks", cls=TableGroup, table=COMMANDS, epilog=_EPILOG)
def command() -> None:
    """Work with ValidatingWebhookConfigurations and MutatingWebhookConfigurations."""
