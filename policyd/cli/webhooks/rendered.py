"""Load policies and render their configurations, for commands. Writes nothing."""

from collections.abc import Sequence
from pathlib import Path

from policyd.cli.shared.policy_options import require_policies
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.source.loader import load
from policyd.versions import NEWEST, KubernetesVersion
from policyd.webhooks.rendering.configurations import render
from policyd.webhooks.rendering.options import RenderOptions
from policyd.webhooks.validation.configurations import problems


def compiled(paths: Sequence[Path], version: KubernetesVersion = NEWEST) -> CompiledPolicySet:
    """Return the policies of these paths. Raises PolicyError for broken ones, ConfigError if there
    are none.
    """
    return loaded(paths, version)[1]


def loaded(paths: Sequence[Path], version: KubernetesVersion) -> tuple[Sources, CompiledPolicySet]:
    """Return the sources at these paths too; raises what ``compiled`` raises."""
    sources = require_policies(load(paths, version=version), paths)
    return sources, compiler.compile_strict(sources)


def configurations(policies: CompiledPolicySet, options: RenderOptions) -> list[JSONObject]:
    """Return the configurations. Raises ConfigError with what the API server would refuse."""
    found = render(policies, options)
    wrong = [
        f"{each['kind']} {options.name}: {problem}" for each in found for problem in problems(each)
    ]
    if wrong:
        raise ConfigError("the API server would refuse this:\n  " + "\n  ".join(wrong))
    return found
