"""``policyd webhooks apply``: writes the configurations that policies need to a cluster."""

from collections.abc import Sequence
from pathlib import Path
from time import sleep

import click

from policyd.cli.shared.kubeconfig import CONTEXT, KUBECONFIG
from policyd.cli.shared.output import styled
from policyd.cli.shared.policy_options import policies_option
from policyd.cli.shared.terminal.wrapping import echo_wrapped
from policyd.cli.webhooks.in_tree import IN_TREE, in_tree
from policyd.cli.webhooks.options import FORCE, render_options
from policyd.cli.webhooks.placing import Placing, would_change
from policyd.cli.webhooks.rendered import compiled, configurations
from policyd.cli.webhooks.synchronizing import ConfigurationChange, cluster, synchronized
from policyd.json_types import JSONObject
from policyd.placement.placement import PlacementMode
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.webhooks.reach.policy_reach import reach
from policyd.webhooks.rendering.options import RenderOptions

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
@policies_option()
@render_options
@IN_TREE
@KUBECONFIG
@CONTEXT
@click.option("--dry-run", is_flag=True, help="Print what would change, and change nothing.")
@FORCE
def command(
    *,
    paths: tuple[Path, ...],
    options: RenderOptions,
    mode: PlacementMode | None,
    kubeconfig: Path | None,
    context: str | None,
    dry_run: bool,
    force: bool,
) -> None:
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
    if mode is None:
        policies = compiled(paths)
        wanted = configurations(policies, options)
        with cluster(kubeconfig, context) as objects:
            for change in synchronized(objects, wanted, options.name, force=force, dry_run=dry_run):
                _print(change, dry_run=dry_run)
        _warn_of_gaps(policies, wanted)
        return
    with cluster(kubeconfig, context) as objects:
        state = in_tree(objects, paths, options, mode, force=force)
        placing = Placing(objects, state, options, force=force, pause=_pause, note=_note)
        for change in would_change(objects, state, options) if dry_run else placing.run():
            _print(change, dry_run=dry_run)
    policies = state.policies.without(state.plan.placement.in_tree)
    _warn_of_gaps(policies, configurations(policies, options))


def _pause(seconds: float) -> bool:
    sleep(seconds)
    return True


def _note(text: str) -> None:
    echo_wrapped(text, err=True)


def _print(change: ConfigurationChange, *, dry_run: bool) -> None:
    if change.what == "left":
        text = f"{change.label} is not needed by any policy, but it is not policyd's"
        echo_wrapped(f"{styled('warning', fg='yellow')}: {text}", err=True)
    else:
        click.echo(f"{change.label} {change.what}{' (dry run)' if dry_run else ''}")


def _warn_of_gaps(policies: CompiledPolicySet, wanted: Sequence[JSONObject]) -> None:
    for found in reach(policies, wanted):
        for gap in found.gaps:
            text = f"{found.kind} {found.policy} is {found.state}: {gap}"
            echo_wrapped(f"{styled('warning', fg='yellow')}: {text}", err=True)
