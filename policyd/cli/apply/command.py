"""``policyd apply``: checks manifests offline as admission would, or the objects in a cluster.
Changes nothing in the cluster.
"""

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter_ns

import click

from policyd.admission.authorizer import Authorizer
from policyd.cli.apply.cluster import ClusterOptions, cluster_options, scan_cluster, version_of
from policyd.cli.apply.output import FORMATS, CheckedObject, Tally, TextOptions, write
from policyd.cli.shared.authorizer import authorizer_option
from policyd.cli.shared.manifests import OutputDirectory, Requester, identity, read_manifests
from policyd.cli.shared.policies import policies_option, require_policies
from policyd.cli.shared.progress import with_progress
from policyd.cli.shared.request import GROUP, NAMESPACE_LABELS, OPERATION, USER
from policyd.cli.shared.version import version_option
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.offline.admitting import Admitter
from policyd.policy.compile import compiler
from policyd.policy.source.documents import Document, Sources
from policyd.policy.source.loader import load
from policyd.policy.suite.reviews import namespace
from policyd.versions import NEWEST, KubernetesVersion

_EPILOG = """\b
Examples:
  policyd apply -p policies/ deploy/
  helm template chart/ | policyd apply -p policies/ -
  policyd apply -p policies/ pod.yaml --old pod-before.yaml --user alice --group dev
  policyd apply -p policies/ deploy/ --diff --output-dir mutated/
  policyd apply -p policies/ deploy/ --format github     # or junit, sarif, json

\b
What is in a cluster (requires pip install 'policyd[cluster]'):
  policyd apply -p policies/ --cluster
  policyd apply -p policies/ --cluster -n shop -n mail --diff
  policyd apply -p policies/ --cluster --context prod --format json > findings.json

\b
In GitHub code scanning:
  policyd apply -p policies/ deploy/ --format sarif > policyd.sarif

Exit status: 0 if every object is admitted, 1 if at least one is denied, 2 if the input or a policy
is invalid or the cluster cannot be reached, 3 if no object is denied but part of the cluster could
not be read.
"""
_OF_MANIFESTS = (
    "RESOURCES, --operation, --old, --namespace-labels and --output-dir cannot be combined with "
    "--cluster"
)


@click.command("apply", epilog=_EPILOG)
@policies_option()
@OPERATION
@click.option(
    "--old",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    help="Read old versions of the manifests from this file or directory; objects found there are "
    "checked as UPDATEs. May be repeated.",
)
@USER
@GROUP
@NAMESPACE_LABELS
@authorizer_option
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    default="text",
    show_default=True,
    help="Choose the output format. text is a table; the others are for programs.",
)
@click.option(
    "--diff",
    is_flag=True,
    help="Show what mutations change, as a diff (with --format text).",
)
@click.option(
    "--output-dir",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="PATH",
    help="Write the mutated manifests to files of the same names in this directory (comments are "
    "lost).",
)
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="List admitted objects too (with --format text or --cluster).",
)
@cluster_options
@version_option(of_cluster=True)
@click.argument("resources", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
def command(
    *,
    paths: tuple[Path, ...],
    operation: str | None,
    old: tuple[Path, ...],
    user: str | None,
    groups: tuple[str, ...],
    namespace_labels: dict[str, str] | None,
    authorizer: Authorizer | None,
    form: str,
    diff: bool,
    output_dir: Path | None,
    verbose: bool,
    cluster: ClusterOptions | None,
    version: KubernetesVersion | None,
    resources: tuple[Path, ...],
) -> None:
    """Check manifests offline, or scan a live cluster.

    Each manifest in RESOURCES is checked as if it were created now: mutated, then validated.
    RESOURCES are files and directories of YAML or JSON; - is standard input. The items of a List
    are checked one by one. Namespace labels come from --namespace-labels or from Namespace objects
    in RESOURCES or in the policies.

    With --cluster, the objects in a cluster are checked instead, as if each were created now as it
    is: validated, but not mutated. Only the resources that the policies match are read. Objects
    created by a controller are skipped if the same policy checks their owner. Params that the
    policy files do not contain are read from the cluster. Authorizer checks query the cluster if
    --user is given.
    """
    of_manifests = resources or old or operation or output_dir or namespace_labels is not None
    if cluster is not None and of_manifests:
        raise click.UsageError(_OF_MANIFESTS)
    if version is None:
        version = NEWEST if cluster is None else version_of(cluster)
    sources = require_policies(load(paths, version=version), paths)
    policies = compiler.compile_strict(sources)
    requester, style = Requester(operation, user, groups), TextOptions(diff=diff, verbose=verbose)
    about = _descriptions(sources)
    if cluster is not None:
        status = scan_cluster(
            cluster,
            sources=sources,
            policies=policies,
            authorizer=authorizer,
            requester=requester,
            form=form,
            style=style,
            about=about,
        )
        raise SystemExit(status)
    if not resources:
        raise click.UsageError("Missing argument 'RESOURCES...' (or --cluster).")
    manifests = read_manifests(resources)
    if not manifests:
        raise ConfigError(f"no manifests in {', '.join(map(str, resources))}")
    before = {identity(each): each.raw for each in read_manifests(old)}
    admitter, tally = Admitter(policies, authorizer), Tally()
    checked = list(_check(admitter, manifests, before, requester, namespace_labels))
    for each in checked:
        tally.add(each)
    write(form, checked, about, style, tally)
    if output_dir is not None:
        output = OutputDirectory(output_dir, resources)
        for each in checked:
            output.add(each.document, each.result)
        for path in output.write():
            click.echo(f"wrote {path}", err=True)
    if tally.denied:
        raise SystemExit(1)


def _check(
    admitter: Admitter,
    manifests: list[Document],
    before: dict[tuple[str, str, str, str], JSONObject],
    requester: Requester,
    labels: dict[str, str] | None,
) -> Iterator[CheckedObject]:
    for document in manifests:
        if document.kind == "Namespace" and not document.group:
            admitter = admitter.knowing(document.raw)
    for document in with_progress(manifests, "checking"):
        review = requester.review(document.raw, before.get(identity(document)))
        chosen = admitter
        name = review["request"].get("namespace")
        if labels is not None and name:
            chosen = admitter.knowing(namespace(name, labels))
        started = perf_counter_ns()
        admission = chosen.admit(review)
        yield CheckedObject(document, admission, (perf_counter_ns() - started) / 1e9)


def _descriptions(sources: Sources) -> dict[str, str]:
    """Map the names of policies to their descriptions."""
    found = {}
    for document in sources.documents:
        spec = document.raw.get("spec")
        if document.is_policy and document.kind != "PolicyTest" and isinstance(spec, dict):
            found[document.name] = str(spec.get("description") or "")
    return found
