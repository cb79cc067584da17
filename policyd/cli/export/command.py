"""``policyd export``: policies as documents that the API server evaluates. Applies nothing."""

from collections.abc import Sequence
from pathlib import Path

import click

from policyd.cli.export.exported_files import require_outside, write
from policyd.cli.export.exported_text import files, stream
from policyd.cli.export.report import COLOURS, ReportedPolicy, policies_json, reported
from policyd.cli.results import echo_results
from policyd.cli.shared.output import counted, echo_json, format_option
from policyd.cli.shared.policy_options import policies_option, policy_names, require_policies
from policyd.cli.shared.settings import option
from policyd.cli.shared.version import VERSION
from policyd.errors import ConfigError
from policyd.export import exported_policies as export
from policyd.export.model import ExportedPolicy
from policyd.export.static import static
from policyd.near_names import nearest_or_listed
from policyd.placement.planning import ExcludedNamespaces
from policyd.policy.compile import compiler
from policyd.policy.model.names import dns_subdomain
from policyd.policy.source.loader import load
from policyd.versions import NEWEST, SPAN, KubernetesVersion
from policyd.webhooks.rendering.options import RenderOptions

_EPILOG = """\b
Examples:
  policyd export -p policies/                     # show documents and summary
  policyd export -p policies/ | kubectl apply -f -
  policyd export -p policies/ -o in-tree/         # a file for each policy
  policyd export -p policies/ require-limits      # only this policy
  policyd export -p policies/ --kubernetes-version 1.34 -o in-tree/
  policyd export -p policies/ --strict > in-tree.yaml
  policyd export -p policies/ --exclude-namespace kube-system \\
      --exclude-namespace monitoring
  policyd export -p policies/ --static -o manifests/
  policyd export -p policies/ --format json | \\
      jq -r '.[] | select(.state == "not exported") | .name'

\b
What the summary says:
  exported         decides alike in the API server, with the same message
  with remarks     decides alike; other differences are listed below it
  partly exported  of validations and mutations, only one is exported
  not exported     would decide differently; the fields at fault are below it

\b
With --static, for kube-apiserver --admission-control-config-file:
  DIR/validating/  staticManifestsDir of ValidatingAdmissionPolicy
  DIR/mutating/    staticManifestsDir of MutatingAdmissionPolicy

Exit status: 0 on success, 1 if a policy is not or only partly exported (with --strict), 2 if a
policy or an option is invalid.
"""


@click.command("export", epilog=_EPILOG)
@policies_option()
@option(
    "--kubernetes-version",
    f"Export for API servers of this Kubernetes version ({SPAN}): the versions of APIs and "
    "what they can evaluate depend on it.",
    to="version",
    type=VERSION,
    default=NEWEST,
)
@option(
    "-o, --output-dir DIR",
    "Write a file for each policy to this directory, and remove the files of former exports "
    "that are not needed any more. Files of others are left alone.",
    to="directory",
)
@option(
    "--static",
    "Write manifests that API servers read from their disks (manifest-based admission "
    "control, Kubernetes 1.36 or newer).",
    to="as_static",
)
@option(
    "-n, --namespace NAME",
    "Leave out this namespace, policyd's own, as the webhooks do; '' leaves out none.",
    default="policyd",
)
@option(
    "--exclude-namespace NAME...",
    "Leave out this namespace; may be repeated. Name those that the webhooks leave out; '' "
    "leaves out none.",
    to="excluded",
    default=RenderOptions().excluded_namespaces,
)
@option("--strict", "Exit with status 1 unless everything is exported.")
@format_option(
    "text",
    "yaml",
    "json",
    help="Choose the output format. text prints a summary, and without -o first the documents; "
    "yaml prints the documents, with reasons in comments; json is a list of policies with state, "
    "documents, reasons and remarks.",
)
@click.argument("names", nargs=-1, metavar="[POLICY]...", shell_complete=policy_names)
def command(
    *,
    paths: tuple[Path, ...],
    version: KubernetesVersion,
    directory: Path | None,
    as_static: bool,
    namespace: str,
    excluded: tuple[str, ...],
    strict: bool,
    form: str,
    names: tuple[str, ...],
) -> None:
    """Export policies as documents for the API server to enforce.

    A Policy becomes a ValidatingAdmissionPolicy or a MutatingAdmissionPolicy with its binding, or
    both; policies of these kinds stay as they are. The API server then decides as policyd does, for
    the same requests and with the same message. A policy that would not mean exactly the same is
    not exported, and the summary lists every reason.

    Bindings leave out the namespaces that the webhooks leave out: kube-system and policyd's own.
    They leave out these Namespace objects as well, but no other cluster-scoped object.

    POLICY are names of policies; without any, all are exported. The documents are printed, and the
    summary goes to standard error; with -o the documents are written to files, and the summary is
    printed.
    """
    if directory is not None and form == "yaml":
        raise click.UsageError("--format yaml prints the documents: leave out -o")
    for name in filter(None, (namespace, *excluded)):
        for error in dns_subdomain(name):
            raise click.UsageError(f"{name!r} is no name of a namespace: {error}")
    sources = require_policies(load(paths, version=version), paths)
    options = RenderOptions(namespace=namespace, excluded_namespaces=excluded)
    namespaces = ExcludedNamespaces(compiler.compile_strict(sources), options)
    everything = namespaces.left_out(export.exported(sources))
    placed = static(everything, version) if as_static else everything
    found = reported(_chosen(placed, names), sources)
    paths_in: dict[Path, list[ReportedPolicy]] = {}
    if directory is not None:
        require_outside(directory, paths)
        left = {each.name for each in everything} - {*names} if names else set()
        texts, within = files(found, version, static=as_static)
        removed = write(directory, texts, frozenset(left))
        paths_in = {directory / path: each for path, each in within.items()}
    elif form != "json":
        click.echo(stream(found, version, reasons=form == "yaml"), nl=False)
    if form == "json":
        echo_json(policies_json(found, paths_in))
    elif form == "text":
        _print_summary(found, namespaces, err=directory is None)
    if directory is not None:
        for each in removed:
            click.echo(f"removed {each}", err=True)
        click.echo(f"wrote {counted(len(texts), 'file')} to {directory}", err=True)
    if strict and any(not each.whole for each in found):
        raise SystemExit(1)


def _chosen(policies: Sequence[ExportedPolicy], names: Sequence[str]) -> list[ExportedPolicy]:
    """Return the policies of these names, or all. Raises ConfigError for an unknown name."""
    known = sorted({each.name for each in policies})
    for name in names:
        if name not in known:
            raise ConfigError(f"{name}: no such policy; {nearest_or_listed(name, known)}")
    return [each for each in policies if not names or each.name in names]


def _print_summary(
    found: Sequence[ReportedPolicy], namespaces: ExcludedNamespaces, *, err: bool
) -> None:
    echo_results([each.result for each in found], COLOURS, err=err)
    left_out = {
        name
        for each in found
        for part in each.policy.parts
        if part.documents
        for name in namespaces.of((each.policy.name, part.webhook))
    }
    if left_out:
        listed = ", ".join(sorted(left_out))
        click.echo(f"bindings leave out the namespaces {listed}, as webhooks do", err=err)
