"""``policyd apply``: manifests judged offline, as the API server would have them judged. Changes
nothing in a cluster.
"""

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter_ns

import click

from policyd.admission.authorizer import Authorizer
from policyd.admission.judging import Judge
from policyd.cli._authorizer import authorizer_option
from policyd.cli._judged import FORMATS, Judged, Style, write
from policyd.cli._manifests import Output, Who, identity, read_manifests, review_of
from policyd.cli._progress import with_progress
from policyd.cli._request import GROUP, NAMESPACE_LABELS, OPERATION, USER
from policyd.errors import ConfigError
from policyd.policy import compiler
from policyd.policy.compiled import Object
from policyd.policy.documents import Document, Sources
from policyd.policy.loader import load

_EPILOG = """\b
Examples:
  policyd apply -p policies/ deploy/
  helm template chart/ | policyd apply -p policies/ -
  policyd apply -p policies/ pod.yaml --old pod-before.yaml --user alice --group dev
  policyd apply -p policies/ deploy/ --diff --output-dir mutated/
  policyd apply -p policies/ deploy/ --format github     # or junit, sarif, json

\b
In GitHub code scanning:
  policyd apply -p policies/ deploy/ --format sarif > policyd.sarif

Exit status: 0 when all are admitted, 1 when one is denied, 2 for bad input or a broken policy.
"""


@click.command("apply", epilog=_EPILOG)
@click.option(
    "-p",
    "--policies",
    "paths",
    multiple=True,
    required=True,
    type=click.Path(exists=True, path_type=Path),
    help="A policy file or directory; may be given more than once.",
)
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
@click.option("--diff", is_flag=True, help="Show what mutations changed (with text).")
@click.option(
    "--output-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the manifests there, mutated, in files of the same names (comments are lost).",
)
@click.option("-v", "--verbose", is_flag=True, help="Name what is admitted, too (with text).")
@click.argument(
    "resources", nargs=-1, required=True, type=click.Path(path_type=Path, allow_dash=True)
)
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
    resources: tuple[Path, ...],
) -> None:
    """Judge the manifests in RESOURCES as if they were created, first mutated and then validated.

    RESOURCES are files and directories of YAML or JSON; - is standard input. Lists are unrolled.
    Labels of namespaces come from Namespace objects among RESOURCES and POLICIES, or from
    --namespace-labels.
    """
    sources = load(paths)
    judge = Judge(compiler.compile_strict(sources), authorizer)
    manifests = read_manifests(resources)
    if not manifests:
        raise ConfigError(f"no manifests in {', '.join(map(str, resources))}")
    who = Who(operation, user, groups)
    before = {identity(each): each.raw for each in read_manifests(old)}
    judged = list(_judged(judge, manifests, before, who, namespace_labels))
    write(form, judged, _descriptions(sources), Style(diff=diff, verbose=verbose))
    if output_dir is not None:
        output = Output(output_dir, resources)
        for each in judged:
            output.add(each.document, each.result)
        for path in output.write():
            click.echo(f"wrote {path}", err=True)
    if not all(each.judgement.allowed for each in judged):
        raise SystemExit(1)


def _judged(
    judge: Judge,
    manifests: list[Document],
    before: dict[tuple[str, str, str, str], Object],
    who: Who,
    labels: dict[str, str] | None,
) -> Iterator[Judged]:
    for document in manifests:
        if document.kind == "Namespace" and not document.group:
            judge = judge.knowing(document.raw)
    for document in with_progress(manifests, "judging"):
        review = review_of(document, before.get(identity(document)), who)
        knowing = judge
        namespace = review["request"].get("namespace")
        if labels is not None and namespace:
            metadata = {"name": namespace, "labels": labels}
            knowing = judge.knowing({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
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
