"""``policyd webhooks diff``: how the configurations of a cluster differ. Changes nothing."""

from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import click

from policyd.cli.shared.kubeconfig import CONTEXT, KUBECONFIG
from policyd.cli.shared.output import styled
from policyd.cli.shared.policy_options import policies_option
from policyd.cli.webhooks.in_tree import IN_TREE, in_tree
from policyd.cli.webhooks.options import render_options
from policyd.cli.webhooks.placing import would_change
from policyd.cli.webhooks.rendered import compiled, configurations
from policyd.cli.webhooks.synchronizing import ConfigurationChange, cluster, shown, synchronized
from policyd.placement.placement import PlacementMode
from policyd.policy.source.yaml_output import dump
from policyd.webhooks.rendering.options import RenderOptions

_EPILOG = """\b
Examples:
  policyd webhooks diff -p policies/
  policyd webhooks diff -p policies/ --context prod --name policyd

Exit status: 0 if there is no difference, 1 if there are differences, 2 if the input is invalid or
the cluster cannot be reached.
"""


@click.command("diff", epilog=_EPILOG)
@policies_option()
@render_options
@IN_TREE
@KUBECONFIG
@CONTEXT
def command(
    *,
    paths: tuple[Path, ...],
    options: RenderOptions,
    mode: PlacementMode | None,
    kubeconfig: Path | None,
    context: str | None,
) -> None:
    """Show what policyd webhooks apply would change in a cluster, as a diff.

    The API server computes the result (a server-side dry run); fields of other managers, such as
    a caBundle that cert-manager writes, stay as they are. The permission to patch webhook
    configurations is needed, and with --in-tree that to patch policies and their bindings.
    """
    wanted = configurations(compiled(paths), options) if mode is None else []
    different = False
    with cluster(kubeconfig, context) as objects:
        if mode is None:
            changes = synchronized(objects, wanted, options.name, force=True, dry_run=True)
        else:
            state = in_tree(objects, paths, options, mode, force=True)
            changes = would_change(objects, state, options)
        for change in changes:
            if change.what == "left":
                click.echo(f"note: {change.label} is not needed and not policyd's", err=True)
            elif change.what != "unchanged":
                different = True
                for line in difference(change):
                    click.echo(line)
    raise SystemExit(1 if different else 0)


def difference(change: ConfigurationChange) -> Iterator[str]:
    """Yield the lines of a unified diff."""
    before, after = (
        dump(shown(each)).splitlines() if each is not None else []
        for each in (change.before, change.after)
    )
    lines = unified_diff(
        before, after, f"cluster/{change.label}", f"rendered/{change.label}", lineterm=""
    )
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in lines:
        colour = colours.get(line[:1])
        yield styled(line, fg=colour) if colour else line
