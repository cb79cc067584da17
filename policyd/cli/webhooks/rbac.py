"""``policyd webhooks rbac``: prints the roles that policies need. Applies nothing."""

from pathlib import Path

import click

from policyd.cli.shared.output import echo_objects, format_option
from policyd.cli.shared.policy_options import loaded, policies_option
from policyd.cli.shared.settings import option
from policyd.policy.source.yaml_output import dump
from policyd.webhooks.rendering.permissions import roles

_EPILOG = """\b
Examples:
  policyd webhooks rbac -p policies/
  policyd webhooks rbac -p policies/ | kubectl apply --server-side -f -
  policyd webhooks rbac -p policies/ --namespace guard --service-account guard
  policyd webhooks rbac -p policies/ --format json | jq '.items[].rules'

\b
What is printed, each with a binding to the service account:
  ClusterRole      kinds that are read in any namespace or in the
                   namespace of the request, and kinds without namespaces
  Role             kinds that are read in one namespace only

Reads need list and watch, params also get. The other permissions of policyd
come from its chart.

Exit status: 0 on success, 2 if a policy or an option is invalid.
"""


@click.command("rbac", epilog=_EPILOG)
@policies_option()
@option("-n, --namespace NAME", "The namespace of the service account.", default="policyd")
@option(
    "--service-account NAME",
    "The service account of policyd; the roles are named NAME-reads.",
    to="account",
    default="policyd",
)
@format_option("yaml", "json")
def command(*, paths: tuple[Path, ...], namespace: str, account: str, form: str) -> None:
    """Print the permissions that the reads and params of your policies need.

    policyd follows these kinds by list and watch. Without the permission a policy that reads them
    cannot be evaluated, and its failurePolicy decides.
    """
    found, doubts = roles(loaded(paths)[1], account, namespace)
    for each in doubts:
        click.echo(f"note: {each}", err=True)
    if not found:
        click.echo("note: no policy reads other objects or params: no role is needed", err=True)
    echo_objects(found, map(dump, found), form)
