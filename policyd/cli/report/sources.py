"""Where ``policyd report`` reads policies and exceptions: the options of the server for ConfigMaps
beside ``-p``.
"""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from policyd import units
from policyd.cli.shared.output import styled
from policyd.cli.shared.policies import policies_option, require_policies
from policyd.cluster.pod import NAMESPACE_FILE, pod_namespace
from policyd.config import Settings
from policyd.errors import ConfigError
from policyd.policy.live.team_exceptions import HeldBack
from policyd.policy.source.documents import Sources
from policyd.policy.source.loader import load
from policyd.versions import KubernetesVersion

if TYPE_CHECKING:
    from policyd.cluster.listing import ApiReader
    from policyd.reports.config_maps import ConfigMapSelection

_DOCS: dict[str, str] = {each.name: each.metadata["doc"] for each in fields(Settings)}


def sources_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``paths``, ``policy_configmaps``, ``policy_namespace``, ``exception_configmaps`` and
    ``exception_namespaces`` to a command.
    """
    options = (
        policies_option(required=False),
        click.option(
            "--policy-configmaps",
            default="",
            metavar="SELECTOR",
            callback=_checked(units.label_selector),
            help="Load policies from the ConfigMaps with these labels in --policy-namespace too.",
        ),
        click.option(
            "--policy-namespace",
            default="",
            metavar="NAME",
            help="Read --policy-configmaps of this namespace, policyd's own. Defaults to the "
            "namespace of the Pod.",
        ),
        click.option(
            "--exception-configmaps",
            default="",
            metavar="SELECTOR",
            callback=_checked(units.label_selector),
            help=_DOCS["exception_configmaps"],
        ),
        click.option(
            "--exception-namespaces",
            multiple=True,
            metavar="GLOB",
            callback=_all_checked(units.namespace_pattern),
            help=_DOCS["exception_namespaces"],
        ),
    )
    for each in reversed(options):
        command = each(command)
    return command


def selection_of(
    paths: tuple[Path, ...],
    policy_configmaps: str,
    policy_namespace: str,
    exception_configmaps: str,
    exception_namespaces: tuple[str, ...],
    *,
    in_pod: bool,
) -> "ConfigMapSelection":
    """Return which ConfigMaps to read; raises ConfigError for options that do not fit together."""
    from policyd.reports.config_maps import ConfigMapSelection

    if not paths and not policy_configmaps:
        raise ConfigError("no policies: set --policies, --policy-configmaps or both")
    if policy_namespace and not policy_configmaps:
        raise ConfigError("--policy-namespace needs --policy-configmaps")
    if bool(exception_configmaps) != bool(exception_namespaces):
        raise ConfigError(
            "--exception-configmaps and --exception-namespaces must be set together; one of "
            "them is missing"
        )
    namespace = policy_namespace
    if policy_configmaps and not namespace:
        if not in_pod:
            raise ConfigError("--policy-configmaps with a kubeconfig needs --policy-namespace")
        namespace = pod_namespace()
        if not namespace:
            raise ConfigError(f"--policy-namespace is not set, and there is no {NAMESPACE_FILE}")
    return ConfigMapSelection(
        policy_configmaps, namespace, exception_configmaps, exception_namespaces
    )


def read_sources(
    reader: "ApiReader",
    paths: tuple[Path, ...],
    selection: "ConfigMapSelection",
    version: KubernetesVersion,
) -> Sources:
    """Return all policies and exceptions of a run; raises ConfigError if there are no policies, or
    ConfigMaps cannot be listed.
    """
    from policyd.reports.config_maps import read_bundles

    sources = load([*paths, *read_bundles(reader, selection, _warn)], version=version)
    read = [*map(str, paths)]
    if selection.policies:
        read.append(f"the ConfigMaps {selection.policies} of namespace {selection.namespace}")
    return require_policies(sources, read)


def _warn(held: HeldBack) -> None:
    """Print why a ConfigMap of a team is not used."""
    where = f"ConfigMap {held.name} of namespace {held.namespace}"
    for each in held.errors:
        click.echo(
            f"{styled('warning', fg='yellow')}: {where} is not used: {each}",
            err=True,
        )


def _checked(read: Callable[[str], str]) -> Callable[..., str]:
    """Return a callback that parses the value of an option, if it has one."""

    def check(context: click.Context, parameter: click.Parameter, value: str) -> str:
        try:
            return read(value) if value else ""
        except ValueError as error:
            raise click.BadParameter(f"expected {error}, got {value!r}") from None

    return check


def _all_checked(read: Callable[[str], str]) -> Callable[..., tuple[str, ...]]:
    """Return a callback that parses each value of an option."""
    one = _checked(read)

    def check(
        context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
    ) -> tuple[str, ...]:
        return tuple(one(context, parameter, each) for each in values)

    return check
