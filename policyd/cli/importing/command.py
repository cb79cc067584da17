"""``policyd import``: policies of Kyverno, Gatekeeper and the API server as policies of policyd."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from policyd.cli.importing.imported_files import paths_of, require_new_names, suite_path, write
from policyd.cli.importing.live import (
    PRINT_RBAC,
    LiveOptions,
    echo_changes,
    live_options,
    without_unchanged,
)
from policyd.cli.importing.report import COLOURS, ReportedImport, agreement, imports_json
from policyd.cli.importing.texts import policy_text, stream, suite_text
from policyd.cli.results import echo_results
from policyd.cli.shared.kubeconfig import INCOMPLETE
from policyd.cli.shared.manifests import echo_unused_definitions
from policyd.cli.shared.output import counted, echo_json, echo_problems, format_option, warn, within
from policyd.cli.shared.settings import option
from policyd.cli.shared.terminal.progress import with_progress
from policyd.cli.shared.terminal.wrapping import terminal_width
from policyd.cli.shared.version import VERSION, version_of
from policyd.errors import ConfigError
from policyd.importers.all import convert_all
from policyd.importers.checking import checked
from policyd.importers.policies import shadowed
from policyd.importers.proof.imports import ImportIndex
from policyd.importers.proof.proving import prove, rows_of
from policyd.importers.proof.rows import Proof
from policyd.importers.proof.suites import suite_of
from policyd.importers.reading import ImportSources, read_sources
from policyd.migration.source_changes import SourceChange
from policyd.policy.model.kinds import POLICYD_GROUP
from policyd.versions import NEWEST, SPAN, KubernetesVersion

_EPILOG = """\b
Examples:
  policyd import kyverno/                  # show documents and summary
  policyd import kyverno/ -o policies/     # a file for each policy
  policyd import kyverno/ --verify         # run the tests of the source, too
  policyd import constraints/ templates/ -o policies/
  policyd import kyverno/ --strict --verify > /dev/null
  policyd import kyverno/ --format json | \\
      jq -r '.[] | select(.state == "not imported") | .name'

\b
What is in a cluster (requires pip install 'policyd[cluster]'):
  policyd import --cluster -o policies/
  policyd import --cluster -o policies/ --shadow
  policyd import --cluster --context prod -n shop --format json
  policyd import --cluster --since policies/ -o changed/
  policyd import --print-rbac | kubectl apply -f -

\b
What the summary says:
  imported      decides alike
  with remarks  decides alike; other differences are listed below it
  in part       the rules listed below it are missing: keep those in Kyverno
  not imported  would decide differently; the fields at fault are below it

Exit status: 0 on success, 1 if a policy or rule is not imported or has a remark (with --strict) or
a row of a test disagrees (with --verify), 2 if a source or an option is invalid or the cluster
cannot be reached, 3 if part of the cluster could not be read, or a ConfigMap that a policy names.
"""
_OWN = "a Policy is policyd's own kind already: check it with policyd lint, or see policyd export"
_NOTHING = (
    "policyd imports policies of Kyverno (kyverno.io, policies.kyverno.io), Gatekeeper "
    "(templates.gatekeeper.sh, mutations.gatekeeper.sh) and the API server "
    "(admissionregistration.k8s.io)"
)


@click.command("import", epilog=_EPILOG)
@click.argument(
    "paths",
    nargs=-1,
    metavar="[PATHS]...",
    type=click.Path(exists=True, allow_dash=True, path_type=Path),
)
@option(
    "-o, --output-dir DIR",
    "Write a file for each policy to this directory, below the directory of its source, and "
    "beside it a suite (PolicyTest) of what the tests of the source expect. Files that exist are "
    "left alone.",
    to="directory",
)
@option(
    "--kubernetes-version",
    f"Import for clusters of this Kubernetes version ({SPAN}).  [default: the cluster's with "
    f"--cluster, else {NEWEST}]",
    to="version",
    type=VERSION,
)
@option(
    "--strict",
    "Exit with status 1 unless everything is imported without a remark. Remarks that are only "
    "about scans do not count.",
)
@option(
    "--verify",
    "Run the tests of the source (kyverno-test.yaml, suite.yaml of Gatekeeper) with what was "
    "imported, and report the rows that disagree.",
)
@option("--shadow", "Write a rollout that enforces nowhere into every Policy.")
@live_options
@PRINT_RBAC
@format_option(
    "text",
    "yaml",
    "json",
    help="Choose the output format. text prints a summary, and without -o first the documents; "
    "yaml prints the documents, with reasons in comments; json is a list of policies with state, "
    "documents, reasons, remarks and, with --verify or -o, the rows of their tests; with --since "
    "it is an object with these policies and the changes.",
)
def command(
    *,
    paths: tuple[Path, ...],
    directory: Path | None,
    version: KubernetesVersion | None,
    strict: bool,
    verify: bool,
    shadow: bool,
    live: LiveOptions,
    form: str,
) -> None:
    """Import policies of Kyverno, Gatekeeper and the API server.

    A policy that means the same as a Policy of policyd becomes one, with its messages word for
    word. Any other is not imported, and the summary lists every reason, with file and line. If only
    some rules of a policy of Kyverno mean the same, the others are left out, unless that changes
    what the policies decide.

    PATHS are files and directories, or - for standard input. Documents that are no policies, such
    as the manifests beside tests, are passed over. The documents are printed, and the summary goes
    to standard error; with -o the documents are written to files, and the summary is printed.

    With --cluster, the policies of Kyverno and Gatekeeper in a cluster are imported instead, with
    their exceptions. Each Policy names its source with UID and resourceVersion in the annotation
    policyd.dev/imported-from, by which --since finds what changed at the source.
    """
    if directory is not None and form == "yaml":
        raise click.UsageError("--format yaml prints the documents: leave out -o")
    live.check(paths, verify=verify)
    if version is None:
        version = version_of(live.kube) if live.cluster else NEWEST
    read = live.read() if live.cluster else read_sources(paths)
    echo_unused_definitions(read.documents)
    imports = with_progress(convert_all(read.documents), "importing")
    if shadow:
        imports = map(shadowed, imports)
    found = [ReportedImport(checked(each, version)) for each in imports]
    changes = live.changes(found, read)
    if not (found or read.problems or changes):
        own = any(each.group == POLICYD_GROUP for each in read.documents)
        hint = _OWN if own else _NOTHING
        where = "in the cluster" if live.cluster else within(paths)
        raise ConfigError(f"no policies to import {where}\n  hint: {hint}")
    if directory is None and (last := _destination(paths, read)):
        warn(f"{last} has no policies to import; -o {last} writes to it")
    found = without_unchanged(found, changes)
    stray: list[Proof] = []
    if verify or directory is not None:
        found, stray = _proved(read, found, version)
    if directory is None:
        _print(found, form, changes)
    else:
        _write(directory, found, form, changes)
    if verify and form != "json":
        for line in agreement(found, stray, terminal_width(err=directory is None)):
            click.echo(line, err=directory is None)
    if changes is not None and form != "json":
        echo_changes(changes, err=directory is None)
    echo_problems(read.problems, err=True)
    if read.problems:
        raise SystemExit(INCOMPLETE if live.cluster else 2)
    failed = strict and not all(each.imported.same for each in found)
    proofs = (proof for each in found if each.imported.documents for proof in each.proofs)
    if failed or (verify and any(each.state == "disagrees" for each in proofs)):
        raise SystemExit(1)


def _destination(paths: Sequence[Path], read: ImportSources) -> Path | None:
    """Return the last of several paths if it is a directory without sources."""
    if len(paths) < 2 or not paths[-1].is_dir():
        return None
    real = paths[-1].resolve()
    documents = (*read.documents, *read.tests)
    others = (Path(each.file) for each in documents if each.group != POLICYD_GROUP)
    return None if any(each.resolve().is_relative_to(real) for each in others) else paths[-1]


def _proved(
    read: ImportSources, found: Sequence[ReportedImport], version: KubernetesVersion
) -> tuple[list[ReportedImport], list[Proof]]:
    """Return the imports with the rows of the tests that are about them, and the other rows."""
    imports = [each.checked for each in found]
    index = ImportIndex(imports, read.documents, version)
    proofs = list(prove(with_progress(read.tests, "testing"), index))
    rows = zip(imports, rows_of(imports, proofs), strict=True)
    stray = [each for each in proofs if each.imported is None]
    return [ReportedImport(one, about) for one, about in rows], stray


def _print(
    found: Sequence[ReportedImport], form: str, changes: Sequence[SourceChange] | None
) -> None:
    if form == "json":
        echo_json(imports_json(found, {}, changes))
        return
    click.echo(stream(found, reasons=form == "yaml"), nl=False)
    if form == "text":
        echo_results([each.result for each in found], COLOURS, err=True)


def _write(
    directory: Path,
    found: Sequence[ReportedImport],
    form: str,
    changes: Sequence[SourceChange] | None,
) -> None:
    paths = paths_of(found)
    require_new_names(directory, paths)
    texts = _texts(paths)
    written = write(directory, texts)
    if form == "json":
        files = {directory / path: each for path, each in paths.items()}
        echo_json(imports_json(found, files, changes))
    else:
        echo_results([each.result for each in found], COLOURS, err=False)
    unchanged = len(texts) - len(written)
    rest = f"; {unchanged} unchanged" if unchanged else ""
    click.echo(f"wrote {counted(len(written), 'file')} to {directory}{rest}", err=True)


def _texts(paths: Mapping[Path, ReportedImport]) -> dict[Path, str]:
    """Return the text of each file: policies and, where the source has tests, their suites."""
    texts: dict[Path, str] = {}
    for path, each in paths.items():
        texts[path] = policy_text(each)
        suite = suite_of(each.checked, each.proofs, [path.name])
        if suite:
            texts[suite_path(path)] = suite_text(suite)
    return texts
