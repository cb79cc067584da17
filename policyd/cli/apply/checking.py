"""``policyd apply`` of manifests: reads and checks them, and writes findings and changes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns

import click

from policyd.cli.apply.checked import CheckedObject, Tally
from policyd.cli.apply.explain_hint import explain_hint
from policyd.cli.apply.output import ReportOptions, write
from policyd.cli.apply.rewriting import Rewritten, RewrittenFiles
from policyd.cli.shared.manifests import (
    Manifests,
    OldObjects,
    Requester,
    is_namespace,
    read_manifests,
)
from policyd.cli.shared.output import counted, echo_problems, echo_skipped
from policyd.cli.shared.terminal.progress import with_progress
from policyd.errors import ConfigError
from policyd.offline.admitting import Admitter
from policyd.policy.source.documents import Document
from policyd.policy.suite.reviews import namespace

INVALID = 2  # the exit status if a file could not be read


@dataclass(frozen=True, slots=True)
class ManifestOptions:
    """What to check and where to write the results of mutations.

    ``labels`` are those of every namespace. ``mutated``: print the manifests to standard output.
    ``defaults``: evaluate manifests with the API server's defaults.
    """

    resources: tuple[Path, ...]
    old: tuple[Path, ...] = ()
    excluded: tuple[str, ...] = ()
    labels: dict[str, str] | None = None
    output_dir: Path | None = None
    mutated: bool = False
    defaults: bool = True

    @property
    def given(self) -> bool:
        """Whether there is any option."""
        return self != ManifestOptions(())


def check_manifests(
    options: ManifestOptions,
    admitter: Admitter,
    requester: Requester,
    report: ReportOptions,
) -> int:
    """Check the manifests, print the result and return the exit status."""
    manifests = read_manifests(options.resources, options.excluded)
    echo_skipped(manifests.skipped)
    if not manifests.documents:
        manifests.required()
        raise ConfigError(f"no manifests in {', '.join(map(str, options.resources))}")
    old = read_manifests(options.old, options.excluded).required()
    before = OldObjects(manifests, old, requester)
    if options.defaults:
        admitter = admitter.defaulting(each.raw for each in manifests.documents)
    checked = list(_check(admitter, manifests.documents, before, requester, options.labels))
    tally = Tally(
        skipped_files=manifests.skipped_files,
        skipped_documents=manifests.skipped_documents,
        unread=len(manifests.problems),
    )
    for each in checked:
        tally.add(each)
    echo_problems(manifests.problems, err=True)
    write(report, checked, tally, manifests.problems)
    if report.form == "text" and (hint := explain_hint(checked, click.get_current_context())):
        click.echo(hint, err=True)
    status = INVALID if manifests.problems else int(tally.fails(report.fail_on))
    _write(options, manifests, checked, status)
    return status


def _check(
    admitter: Admitter,
    documents: Sequence[Document],
    before: OldObjects,
    requester: Requester,
    labels: dict[str, str] | None,
) -> Iterator[CheckedObject]:
    """Yield each object with its result, in order."""
    for document in documents:
        if is_namespace(document):
            admitter = admitter.knowing(document.raw)
    for document in with_progress(documents, "checking"):
        old_object = before.of(document)
        review = requester.review(document, old_object)
        chosen = admitter
        name = review["request"].get("namespace")
        if labels is not None and name:
            chosen = admitter.knowing(namespace(name, labels))
        started = perf_counter_ns()
        admission = chosen.admit(review)
        seconds = (perf_counter_ns() - started) / 1e9
        sent = review["request"]["object"]
        yield CheckedObject(document, admission, seconds, old_object is not None, sent)


def _write(
    options: ManifestOptions, manifests: Manifests, checked: Sequence[CheckedObject], status: int
) -> None:
    """Write the files that mutations changed, or print all; a pipe gets nothing after a failure."""
    if options.output_dir is None and not options.mutated:
        return
    changed = (Rewritten(each.document, each.result) for each in checked)
    files = RewrittenFiles(manifests.texts, changed)
    if options.output_dir is not None:
        for path in files.write_changed(options.output_dir, options.resources):
            click.echo(f"wrote {path}", err=True)
        if files.unchanged:
            click.echo(f"{counted(files.unchanged, 'file')} unchanged, not written", err=True)
    if options.mutated and status == 0:
        click.echo(files.stream(), nl=False)
