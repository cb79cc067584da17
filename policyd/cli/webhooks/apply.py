"""``policyd webhooks apply``: writes the configurations that policies need to a cluster."""

from time import sleep

import click

from policyd.cli.shared.output import warn
from policyd.cli.shared.policy_options import loaded
from policyd.cli.shared.settings import option
from policyd.cli.shared.terminal.wrapping import echo_wrapped
from policyd.cli.webhooks.in_tree import in_tree
from policyd.cli.webhooks.options import FORCE, WebhookOptions, webhook_options
from policyd.cli.webhooks.placing import Placing, would_change
from policyd.cli.webhooks.synchronizing import (
    cluster,
    configurations,
    synchronized,
)
from policyd.webhooks.reach.policy_reach import reach

_EPILOG = """\b
Examples:
  policyd webhooks apply -p policies/ --ca-file ca.crt
  policyd webhooks apply -p policies/ --dry-run
  policyd webhooks apply -p policies/ --context prod --name policyd \\
      --service policyd/policyd:443
  policyd webhooks apply -p policies/ --force-conflicts
  policyd webhooks apply -p policies/ --in-tree auto

Exit status: 0 on success, 2 if the input is invalid, the cluster cannot be reached, or another
manager owns a field (see --force-conflicts).
"""


@click.command("apply", epilog=_EPILOG)
@webhook_options
@option("--dry-run", "Print what would change, and change nothing.")
@FORCE
def command(*, given: WebhookOptions, dry_run: bool, force: bool) -> None:
    """Create or update the webhook configurations that your policies need.

    This is a server-side apply by the field manager policyd: fields of other managers, such as a
    caBundle that cert-manager writes, stay as they are. A configuration of the same name that is no
    longer needed is deleted if it has policyd's labels and policyd manages it.

    With --in-tree, policies that the API server can enforce itself are also applied as
    ValidatingAdmissionPolicies and MutatingAdmissionPolicies. They leave the rules of the webhooks
    some 20 s later, when every API server enforces them; the command waits for that.

    Apply the configurations after policyd is ready: with failurePolicy Fail, requests are denied
    while nothing answers.
    """
    options, mode = given.options, given.mode
    if mode is None:
        policies = loaded(given.paths)[1]
        wanted = configurations(policies, options)
    with cluster(given.kube) as objects:
        if mode is None:
            changes = synchronized(objects, wanted, options.name, force=force, dry_run=dry_run)
        else:
            state = in_tree(objects, given, mode, force=force)
            policies = state.policies.without(state.plan.placement.in_tree)
            placing = Placing(objects, state, options, force=force, pause=_pause, note=_note)
            changes = would_change(objects, state, options) if dry_run else placing.run()
        for change in changes:
            if change.what == "left":
                warn(f"{change.label} is not needed by any policy, but it is not policyd's")
            else:
                click.echo(f"{change.label} {change.what}{' (dry run)' if dry_run else ''}")
    for found in reach(policies, configurations(policies, options)):
        for gap in found.gaps:
            warn(f"{found.kind} {found.policy} is {found.state}: {gap}")


def _pause(seconds: float) -> bool:
    sleep(seconds)
    return True


def _note(text: str) -> None:
    echo_wrapped(text, err=True)
