"""``policyd apply``: manifests judged offline, as the API server would have them judged; or what is
in a cluster already. Changes nothing in a cluster.
"""

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter_ns

import click

from policyd.admission.authorizer import Authorizer
from policyd.cli.apply.cluster import ClusterOptions, cluster_options, scan_cluster, version_of
from policyd.cli.apply.output import FORMATS, Judged, Style, Tally, write
from policyd.cli.shared.authorizer import authorizer_option
from policyd.cli.shared.manifests import Output, Who, identity, read_manifests
from policyd.cli.shared.policies import policies_option
from policyd.cli.shared.progress import with_progress
from policyd.cli.shared.request import GROUP, NAMESPACE_LABELS, OPERATION, USER
from policyd.cli.shared.version import version_option
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.offline.judging import Judge
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
What is in a cluster already (needs pip install 'policyd[cluster]'):
  policyd apply -p policies/ --cluster
  policyd apply -p policies/ --cluster -n shop -n mail --diff
  policyd apply -p policies/ --cluster --context prod --format json > findings.json

\b
In GitHub code scanning:
  policyd apply -p policies/ deploy/ --format sarif > policyd.sarif

Exit status: 0 when all are admitted, 1 when one is denied, 2 for bad input, a broken policy or a
cluster that cannot be asked, 3 when nothing is denied but not everything in the cluster could be
read.
"""
_OF_MANIFESTS = (
    "RESOURCES, --operation, --old, --namespace-labels and --output-dir are for manifests, not for "
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
    help="Manifests as they were before: what is there is an UPDATE. May be repeated.",
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
    help="text: a table for people; the others are for programs.",
)
@click.option(
    "--diff",
    is_flag=True,
    help="Show what mutations changed; with --cluster, what they would (with text).",
)
@click.option(
    "--output-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the manifests there, mutated, in files of the same names (comments are lost).",
)
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Name what is admitted, too (with text, and with --cluster).",
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
    """Judge the manifests in RESOURCES as if they were created, first mutated and then validated.

    RESOURCES are files and directories of YAML or JSON; - is standard input. Lists are unrolled.
    Labels of namespaces come from Namespace objects among RESOURCES and POLICIES, or from
    --namespace-labels.

    With --cluster the objects in a cluster are judged as they are, as if each were created now:
    validated, not mutated. What the rules of the policies name is read. Pods and the like whose
    owner the same policy judges are left out. Params that are not in POLICIES are read there;
    authorizer checks are asked of the cluster if --user says for whom.
    """
    of_manifests = resources or old or operation or output_dir or namespace_labels is not None
    if cluster is not None and of_manifests:
        raise click.UsageError(_OF_MANIFESTS)
    if version is None:
        version = NEWEST if cluster is None else version_of(cluster)
    sources = load(paths, version=version)
    policies = compiler.compile_strict(sources)
    who, style = Who(operation, user, groups), Style(diff=diff, verbose=verbose)
    about = _descriptions(sources)
    if cluster is not None:
        status = scan_cluster(
            cluster,
            sources=sources,
            policies=policies,
            authorizer=authorizer,
            who=who,
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
    judge, tally = Judge(policies, authorizer), Tally()
    judged = list(_judged(judge, manifests, before, who, namespace_labels))
    for each in judged:
        tally.add(each)
    write(form, judged, about, style, tally)
    if output_dir is not None:
        output = Output(output_dir, resources)
        for each in judged:
            output.add(each.document, each.result)
        for path in output.write():
            click.echo(f"wrote {path}", err=True)
    if tally.denied:
        raise SystemExit(1)


def _judged(
    judge: Judge,
    manifests: list[Document],
    before: dict[tuple[str, str, str, str], JSONObject],
    who: Who,
    labels: dict[str, str] | None,
) -> Iterator[Judged]:
    for document in manifests:
        if document.kind == "Namespace" and not document.group:
            judge = judge.knowing(document.raw)
    for document in with_progress(manifests, "judging"):
        review = who.review(document.raw, before.get(identity(document)))
        knowing = judge
        name = review["request"].get("namespace")
        if labels is not None and name:
            knowing = judge.knowing(namespace(name, labels))
        started = perf_counter_ns()
        judgement = knowing.judge(review)
        yield Judged(document, judgement, (perf_counter_ns() - started) / 1e9)


def _descriptions(sources: Sources) -> dict[str, str]:
    """What each policy is for, by its name."""
    found = {}
    for document in sources.documents:
        spec = document.raw.get("spec")
        if document.is_policy and document.kind != "PolicyTest" and isinstance(spec, dict):
            found[document.name] = str(spec.get("description") or "")
    return found
