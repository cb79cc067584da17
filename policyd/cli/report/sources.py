"""Where ``policyd report`` reads policies and exceptions: the options of the server for ConfigMaps
beside ``-p``.
"""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from policyd import option_values
from policyd.cli.shared.output import warn
from policyd.cli.shared.policy_options import policies_option, require_policies
from policyd.cli.shared.settings import OptionValue, grouped, option
from policyd.cluster import NAMESPACE_FILE, pod_namespace
from policyd.config import Settings
from policyd.errors import ConfigError
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.config_maps.team_exceptions import HeldBack
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.source.loader import load
from policyd.versions import KubernetesVersion

if TYPE_CHECKING:
    from policyd.cluster.listing import ApiReader
    from policyd.reports.config_maps import ConfigMapSelection

_DOCS: dict[str, str] = {each.name: each.metadata["doc"] for each in fields(Settings)}


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The values of the options of this module."""

    paths: tuple[Path, ...] = ()
    policy_configmaps: str = ""
    policy_namespace: str = ""
    exception_configmaps: str = ""
    exception_namespaces: tuple[str, ...] = ()


_SELECTOR = OptionValue("SELECTOR", lambda text: option_values.label_selector(text) if text else "")
_OPTIONS = (
    policies_option(required=False),
    option(
        "--policy-configmaps",
        "Load policies from the ConfigMaps with these labels in --policy-namespace too.",
        default="",
        type=_SELECTOR,
    ),
    option(
        "--policy-namespace NAME",
        "Read --policy-configmaps of this namespace, policyd's own. Defaults to the "
        "namespace of the Pod.",
        default="",
    ),
    option("--exception-configmaps", _DOCS["exception_configmaps"], default="", type=_SELECTOR),
    option(
        "--exception-namespaces",
        _DOCS["exception_namespaces"],
        multiple=True,
        type=OptionValue("GLOB", option_values.namespace_pattern),
    ),
)
sources_options = grouped("given", SourceOptions, _OPTIONS)


def selection_of(given: SourceOptions, *, in_pod: bool) -> "ConfigMapSelection":
    """Return which ConfigMaps to read; raises ConfigError for options that do not fit together."""
    from policyd.reports.config_maps import ConfigMapSelection

    if not given.paths and not given.policy_configmaps:
        raise ConfigError("no policies: set --policies, --policy-configmaps or both")
    if given.policy_namespace and not given.policy_configmaps:
        raise ConfigError("--policy-namespace needs --policy-configmaps")
    if bool(given.exception_configmaps) != bool(given.exception_namespaces):
        raise ConfigError(
            "--exception-configmaps and --exception-namespaces must be set together; one of "
            "them is missing"
        )
    namespace = given.policy_namespace
    if given.policy_configmaps and not namespace:
        if not in_pod:
            raise ConfigError("--policy-configmaps with a kubeconfig needs --policy-namespace")
        namespace = pod_namespace()
        if not namespace:
            raise ConfigError(f"--policy-namespace is not set, and there is no {NAMESPACE_FILE}")
    return ConfigMapSelection(
        given.policy_configmaps,
        namespace,
        given.exception_configmaps,
        given.exception_namespaces,
    )


def load_policies(
    given: SourceOptions,
    version: KubernetesVersion,
    reader: "ApiReader",
    selection: "ConfigMapSelection",
) -> tuple[Sources, CompiledPolicySet]:
    """Return the policies of files and ConfigMaps; raises ConfigError if there are none, or
    ConfigMaps cannot be listed.
    """
    from policyd.reports.config_maps import read_bundles

    places: list[Path | str] = [*given.paths]
    if selection.policies:
        places.append(f"the ConfigMaps {selection.policies} of namespace {selection.namespace}")
    bundles = read_bundles(reader, selection, _warn)
    sources = require_policies(load([*given.paths, *bundles], version=version), places)
    return sources, compiler.compile_strict(sources)


def _warn(held: HeldBack) -> None:
    """Print why a ConfigMap of a team is not used."""
    where = f"ConfigMap {held.name} of namespace {held.namespace}"
    for each in held.errors:
        warn(f"{where} is not used: {each}")
