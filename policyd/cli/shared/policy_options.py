"""The options ``-p`` and ``--enforce-all``, and the policies of a command, with the error if there
are none; and what a shell completes from files, whose problems it does not report.
"""

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import click

from policyd.cli.shared.output import echo_problems, echo_warning, within
from policyd.cli.shared.policy_arguments import holds_policies
from policyd.cli.shared.settings import AddOption, ExistingPath, option
from policyd.errors import ConfigError, Problem
from policyd.json_types import JSONObject
from policyd.mutation.schemas.schemas import Gvk
from policyd.policy.compile import compiler
from policyd.policy.compile.bindings import unbound
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.kinds import POLICY_KINDS
from policyd.policy.source.files import read
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.policy.source.loader import load
from policyd.policy.source.splitting import split
from policyd.versions import NEWEST, KubernetesVersion

_MOST_KINDS = 5  # that the message lists
_MOST_BYTES = 2**22  # that are read to complete a word
NO_POLICIES_HINT = (
    "a policy is a Policy of policyd.dev/v1, or a ValidatingAdmissionPolicy or "
    "MutatingAdmissionPolicy of admissionregistration.k8s.io/v1; of directories only *.yaml, "
    "*.yml and *.json files are read"
)


_POLICIES = ExistingPath(
    "Name a file or directory of policies, or write policies: [PATH] in policyd.yaml."
)


def policies_option(
    text: str = "Load policies from this file or directory; may be repeated.",
    *,
    required: bool = True,
) -> AddOption:
    """Add the argument ``paths`` to a command; ``text`` is its help."""
    return option(
        "-p, --policies", text, to="paths", multiple=True, required=required, type=_POLICIES
    )


def policy_paths(kind: click.Path) -> AddOption:
    """Add the argument ``paths`` to a command that reads only policies, as PATHS. The default is
    ``policies`` of the project file, or else the working directory.
    """
    return click.argument("paths", nargs=-1, type=kind, default=(Path(),), metavar="[PATHS]...")


def enforce_all_option(
    text: str = "Evaluate the policies as if every rollout were over.",
) -> AddOption:
    """Add the argument ``enforce_all`` to a command; ``text`` is its help."""
    return option("--enforce-all", text)


def loaded(
    paths: Sequence[Path], version: KubernetesVersion = NEWEST
) -> tuple[Sources, CompiledPolicySet]:
    """Load and compile the policies of these paths. Raises PolicyError for broken ones, ConfigError
    if there are none.
    """
    sources = require_policies(load(paths, version=version), paths)
    return sources, compiler.compile_strict(sources)


def echo_unbound(sources: Sources) -> None:
    """Print warnings for policies without a binding, which admit every request."""
    for problem in unbound(sources):
        echo_warning(problem)


def echo_failed_operations(
    sources: Sources, failures: Iterable[tuple[Collection[str], str, JSONObject]]
) -> None:
    """Print the JSON Patch operations that failed on a missing path, on standard error.
    ``failures``: names of policies, the message and the kind of the request.
    """
    found: dict[Problem, None] = {}
    for names, message, kind in failures:
        if "JSON Patch: " in message:
            from policyd.policy.lint.mutations.failed import failed_operations  # which types

            gvk = Gvk(*(str(kind.get(each, "")) for each in Gvk._fields))
            found |= dict.fromkeys(failed_operations(sources, names, message, gvk))
    echo_problems(found, err=True)


def require_policies(sources: Sources, paths: Iterable[Path | str]) -> Sources:
    """Return the sources of these paths; raises ConfigError if they hold no policy: nothing could
    be denied, and the command would report success. Problems of the sources are left to the caller.
    """
    missing = "" if sources.problems else without_policies(sources, paths)
    if missing:
        raise ConfigError(f"{missing}\n  hint: {_swapped(paths) or NO_POLICIES_HINT}")
    return sources


def _swapped(paths: Iterable[Path | str]) -> str:
    """Return the command with ``-p`` and an argument exchanged if the argument holds policies."""
    context = click.get_current_context(silent=True)
    if context is None:
        return ""
    arguments = [each for each in context.command.params if isinstance(each, click.Argument)]
    given = [context.params.get(str(each.name)) for each in arguments if each.name != "paths"]
    listed = [file for each in given for file in (each if isinstance(each, tuple) else (each,))]
    files = [
        str(file if isinstance(file, str | Path) else getattr(file, "name", "-")) for file in listed
    ]
    if not files or not all(map(holds_policies, files)):
        return ""
    flags = [word for file in files for word in ("-p", file)]
    words = [*context.command_path.split(), *flags, *map(str, paths)]
    return f"policies are given with -p: {shlex.join(words)}"


def without_policies(sources: Sources, paths: Iterable[Path | str]) -> str:
    """Return what the paths hold instead of policies; empty if there are any."""
    if sources.of_kind(*POLICY_KINDS):
        return ""
    counts = Counter(document.kind for document in sources.documents).most_common()
    found = [f"{number} {kind}" if number == 1 else f"{number} × {kind}" for kind, number in counts]
    if len(found) > _MOST_KINDS:
        found[_MOST_KINDS:] = [f"{len(found) - _MOST_KINDS} other kinds"]
    listed = ", ".join(found) or "no documents"
    return f"no policies {within(paths)}: found {listed}"


def documents(paths: Iterable[Path | str]) -> Iterator[Document]:
    """Yield the documents of files and directories, as far as they can be read, for a shell that
    completes words. Reads no standard input and no pipe.
    """
    files, _ = read([each for each in paths if str(each) != "-"], pipes=False, most=_MOST_BYTES)
    for file in files:
        yield from split(file.name, file.data)[0]


def policy_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the names of policies for a shell: of ``-p``, or of the project."""
    return sorted(
        each.name
        for each in documents(context.params.get("paths") or ())
        if each.is_policy and each.kind in POLICY_KINDS and each.name.startswith(incomplete)
    )
