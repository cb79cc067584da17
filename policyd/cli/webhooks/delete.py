"""``policyd webhooks delete``: deletes policyd's configurations from a cluster."""

from collections.abc import Sequence

import click

from policyd.cli.shared.kubeconfig import Kubeconfig, kubeconfig_options
from policyd.cli.shared.output import warn
from policyd.cli.shared.settings import option
from policyd.cli.webhooks.in_tree import served_in, stored_documents
from policyd.cli.webhooks.synchronizing import (
    OURS,
    ConfigurationChange,
    cluster,
    current,
    every,
    has_labels,
)
from policyd.cluster.commands import Objects
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.placement.placed_documents import REGISTRATION, annotations_in, is_binding, key_of
from policyd.placement.placed_documents import RESOURCES as POLICIES
from policyd.placement.placed_documents import path_of as document_path
from policyd.webhooks.configuration_paths import RESOURCES, path_of

_EPILOG = """\b
Examples:
  policyd webhooks delete policyd
  policyd webhooks delete policyd --yes
  policyd webhooks delete --all --context prod

Exit status: 0 if the configurations are gone (also if there were none), 1 if you do not confirm, 2
if a configuration is not policyd's or the cluster cannot be reached.
"""


@click.command("delete", epilog=_EPILOG)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@option(
    "--all", "Delete every configuration with policyd's labels, whatever its name.", to="everything"
)
@option("-y, --yes", "Skip the confirmation.")
@kubeconfig_options
def command(*, names: tuple[str, ...], everything: bool, yes: bool, kube: Kubeconfig) -> None:
    """Delete webhook configurations of policyd, of both kinds, and the documents that were placed
    in the API server for them (--in-tree).

    Requests are then admitted without policyd: no policy is enforced any more. Only objects with
    policyd's labels are deleted.
    """
    if everything == bool(names):
        raise click.UsageError("give either the NAME of the configurations or --all")
    with cluster(kube) as objects:
        found = [
            ConfigurationChange(kind, each["metadata"]["name"], "deleted", each, None)
            for kind in RESOURCES
            for each in (
                filter(has_labels, every(objects, kind))
                if everything
                else filter(None, (current(objects, path_of(kind, name)) for name in names))
            )
        ]
        for change in found:
            if change.before is not None and not has_labels(change.before):
                raise ConfigError(
                    f"{change.label} does not have the labels of policyd ({OURS})\n"
                    f"  hint: delete it with kubectl delete {change.kind.lower()} {change.name}"
                )
        found += _placed(objects, names)
        if not found:
            click.echo("there is nothing to delete", err=True)
            return
        if not yes:
            for change in found:
                click.echo(change.label, err=True)
            if not click.confirm("Delete them? No policy is enforced without them.", err=True):
                raise SystemExit(1)
        for change in found:
            if change.before is not None and (change.kind in POLICIES or not everything):
                objects.delete(_path(change.before), uid=change.before["metadata"]["uid"])
        if everything:
            for kind in dict.fromkeys(change.kind for change in found):
                if kind in RESOURCES:
                    objects.delete_collection(path_of(kind), OURS)
        for change in found:
            click.echo(f"{change.label} deleted")


def _placed(objects: Objects, names: Sequence[str]) -> list[ConfigurationChange]:
    """Return the placed documents of these configurations, or of all; bindings come first."""
    from policyd.cluster.objects import ObjectError

    try:
        stored = stored_documents(objects, served_in(objects))
    except ObjectError as error:
        if error.reason != "Forbidden":
            raise
        warn(f"documents that were placed in the API server, if any, stay: {error}")
        return []
    mine = [
        each
        for each in stored.values()
        if has_labels(each)
        and (registration := annotations_in(each).get(REGISTRATION))
        and (not names or registration in names)
    ]
    mine.sort(key=lambda each: not is_binding(each["kind"]))
    return [ConfigurationChange(*key_of(each), "deleted", each, None) for each in mine]


def _path(found: JSONObject) -> str:
    kind, name = key_of(found)
    return path_of(kind, name) if kind in RESOURCES else document_path(found)
