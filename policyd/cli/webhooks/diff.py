"""``policyd webhooks diff``: how the configurations of a cluster differ. Changes nothing."""

from collections.abc import Iterator

import click

from policyd.cli.shared.output import colored_diff, diff_lines
from policyd.cli.shared.policy_options import loaded
from policyd.cli.webhooks.in_tree import in_tree
from policyd.cli.webhooks.options import WebhookOptions, webhook_options
from policyd.cli.webhooks.placing import would_change
from policyd.cli.webhooks.synchronizing import (
    ConfigurationChange,
    cluster,
    configurations,
    shown,
    synchronized,
)
from policyd.policy.source.yaml_output import dump

_EPILOG = """\b
Examples:
  policyd webhooks diff -p policies/
  policyd webhooks diff -p policies/ --context prod --name policyd

Exit status: 0 if there is no difference, 1 if there are differences, 2 if the input is invalid or
the cluster cannot be reached.
"""


@click.command("diff", epilog=_EPILOG)
@webhook_options
def command(*, given: WebhookOptions) -> None:
    """Show what policyd webhooks apply would change in a cluster, as a diff.

    The API server computes the result (a server-side dry run); fields of other managers, such as
    a caBundle that cert-manager writes, stay as they are. The permission to patch webhook
    configurations is needed, and with --in-tree that to patch policies and their bindings.
    """
    options, mode, different = given.options, given.mode, False
    wanted = configurations(loaded(given.paths)[1], options) if mode is None else []
    with cluster(given.kube) as objects:
        if mode is None:
            changes = synchronized(objects, wanted, options.name, force=True, dry_run=True)
        else:
            state = in_tree(objects, given, mode, force=True)
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
    names = (f"cluster/{change.label}", f"rendered/{change.label}")
    yield from colored_diff(diff_lines(before, after, *names))
