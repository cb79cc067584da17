"""``policyd apply`` of manifests: reads and checks them, and writes findings and changes."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import click

from policyd.cli.apply.checked import ApplyRun, CheckedObject, FilePlace, Tally
from policyd.cli.apply.explain_hint import explain_hint
from policyd.cli.apply.output import write
from policyd.cli.apply.rewriting import Rewritten, RewrittenFiles
from policyd.cli.apply.shared_work import shared
from policyd.cli.shared.manifests import (
    Manifests,
    OldObjects,
    Requester,
    definitions_of,
    echo_assumptions,
    echo_misfits,
    is_namespace,
    no_manifests_hint,
    read_manifests,
)
from policyd.cli.shared.namespaces import NamespaceOptions
from policyd.cli.shared.output import counted, echo_problems, echo_skipped, within
from policyd.cli.shared.policy_options import echo_failed_operations
from policyd.cli.shared.terminal.progress import with_progress
from policyd.errors import ConfigError, PolicySchemaError, Problem
from policyd.json_types import JSONObject
from policyd.offline.admitting import Admission, Admitter
from policyd.offline.fields import FieldFinder
from policyd.policy.kinds.mapping import ResourceMapper
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.splitting import LEAVE_OUT

INVALID = 2  # the exit status if a file could not be read


@dataclass(frozen=True, slots=True)
class ManifestOptions:
    """What to check and where to write the results of mutations.

    ``mutated``: print the manifests to standard output. ``defaults``: evaluate manifests with the
    API server's defaults. ``skips``: named files may have no object. ``changed``: check only what
    differs from this commit. ``reads``: other objects that the reads of policies find.
    """

    resources: tuple[Path, ...]
    old: tuple[Path, ...] = ()
    excluded: tuple[str, ...] = ()
    namespaces: NamespaceOptions = field(default_factory=NamespaceOptions)
    output_dir: Path | None = None
    mutated: bool = False
    defaults: bool = True
    skips: bool = False
    changed: str | None = None
    reads: tuple[Path, ...] = ()

    @property
    def given(self) -> bool:
        """Whether there is any option."""
        return self != ManifestOptions(())

    def read(self) -> tuple[Manifests, Manifests]:
        """Read the manifests to check, and those that have not changed: they only describe the
        cluster, and their problems are of no interest.
        """
        if self.changed is None:
            manifests = read_manifests(self.resources, self.excluded, skips=self.skips)
            manifests.problems = [_with_option(each) for each in manifests.problems]
            return manifests, Manifests()
        differing = changed_files(self.changed, self.resources)

        def differs(name: str) -> bool:
            return os.path.realpath(name) in differing

        return (
            read_manifests(self.resources, self.excluded, skips=self.skips, chosen=differs),
            read_manifests(self.resources, self.excluded, chosen=lambda name: not differs(name)),
        )


def _with_option(problem: Problem) -> Problem:
    if not problem.hint.startswith(LEAVE_OUT):
        return problem
    return replace(problem, hint=f"{problem.hint}; --skip-no-objects skips such files")


class BuiltReview(NamedTuple):
    """The request for an object; ``updated``: there was an old version of it."""

    document: Document
    review: JSONObject
    updated: bool


def check_manifests(options: ManifestOptions, run: ApplyRun) -> int:
    """Check the manifests, print the result and return the exit status."""
    requester, report = run.requester, run.report
    manifests, unchanged = options.read()
    echo_skipped(manifests.skipped)
    if not manifests.documents and not options.skips and options.changed is None:
        manifests.required()
        missing = f"no manifests {within(options.resources)}"
        hint = no_manifests_hint(manifests, options.resources)
        raise ConfigError(f"{missing}\n  hint: {hint}")
    old = read_manifests(options.old, options.excluded).required()
    requester.require_one_kind(manifests.documents)
    known = [*unchanged.documents, *manifests.documents]
    crds = definitions_of(known)
    policies = run.policies.with_definitions(crds)
    echo_assumptions(manifests.documents, requester, policies.mapper)
    echo_misfits(manifests.documents, policies.schemas)
    before = OldObjects(manifests, old, requester)
    built = _built(manifests, before, requester, policies.mapper)
    defaults = policies.defaults if options.defaults else None
    there = [
        each.raw
        for each in (*unchanged.documents, *(review.document for review in built))
        if is_namespace(each)
    ]
    sent = {id(each.document): each.review["request"]["object"] for each in built}
    others = read_manifests(options.reads).required().documents
    objects = [sent.get(id(each)) or each.raw for each in (*others, *known)]
    policies = policies.with_namespaces(there).reading(objects)
    options.namespaces.echo_unknown(policies, [each.review for each in built])
    fields = FieldFinder(
        lambda: run.traced().changed(
            lambda each: each.with_definitions(crds).with_namespaces(there).reading(objects)
        )
    )
    admitter = Admitter(policies, run.authorizer, defaults=defaults, fields=fields)
    checked = list(_check(admitter, built, options.namespaces))
    tally = Tally(
        skipped_files=manifests.skipped_files,
        skipped_documents=manifests.skipped_documents,
        unread=len(manifests.problems),
    )
    for each in checked:
        tally.add(each)
    echo_problems(manifests.problems, err=True)
    write(report, checked, tally, manifests.problems)
    if report.form == "text":
        echo_failed_operations(run.sources, _failures(checked))
    if report.form == "text" and (hint := explain_hint(checked, known)):
        click.echo(hint, err=True)
    status = INVALID if manifests.problems else int(tally.fails(report.fail_on))
    _write(options, manifests, checked, status)
    return status


def _failures(checked: Iterable[CheckedObject]) -> Iterator[tuple[list[str], str, JSONObject]]:
    """Yield what could not be evaluated: the policy, the message and the kind of the object."""
    for each in checked:
        group, _, version = each.document.api_version.rpartition("/")
        kind: JSONObject = {"group": group, "version": version, "kind": each.document.kind}
        yield from (([one.policy], one.message, kind) for one in each.findings if one.error)
        yield from (([one.policy], one.message, kind) for one in each.admission.ignored)


def _built(
    manifests: Manifests, before: OldObjects, requester: Requester, mapper: ResourceMapper
) -> list[BuiltReview]:
    """Return the request for each object. Problems are added to the files' problems."""
    built: list[BuiltReview] = []
    for document in manifests.documents:
        old = before.of(document)
        try:
            review = requester.review(document, old, mapper)
        except PolicySchemaError as error:
            manifests.problems += error.problems
            continue
        built.append(BuiltReview(document, review, old is not None))
    return built


def _check(
    admitter: Admitter, built: Sequence[BuiltReview], namespaces: NamespaceOptions
) -> Iterator[CheckedObject]:
    """Yield each object with its result, in order."""

    def work(each: BuiltReview) -> tuple[Admission, dict[str, FilePlace]]:
        name = each.review["request"].get("namespace") or ""
        namespace = namespaces.of(name, admitter.policies.namespaces)
        chosen = admitter if namespace is None else admitter.knowing(namespace)
        admission = replace(chosen.admit(each.review), after=None)  # the patch has it
        return admission, CheckedObject(each.document, admission).find_places()

    results = shared(work, built)
    for each in with_progress(built, "checking"):
        admission, places = next(results)
        sent = each.review["request"]["object"]
        yield CheckedObject(each.document, admission, each.updated, sent, places)


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


_SECONDS = 60.0  # for each command of git


def changed_files(ref: str, paths: Sequence[Path]) -> frozenset[str]:
    """Return the real paths of the files in the working tree that differ from a commit, and of
    untracked ones, except ignored ones. Raises ConfigError if git cannot say so of all ``paths``.
    """
    top = os.fsdecode(_git("rev-parse", "--show-toplevel").removesuffix(b"\n"))
    for path in paths:
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(top)):
            raise ConfigError(f"--changed: {path} is outside of the working tree {top}")
    commit = _commit(ref)
    # The user's setting would print names relative to the working directory.
    compare = ("-c", "diff.relative=false", "diff", "--name-only", "-z", "--diff-filter=d", commit)
    untracked = ("ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", ":/")
    names = [*_git(*compare).split(b"\0"), *_git(*untracked).split(b"\0")]
    return frozenset(os.path.realpath(Path(top, os.fsdecode(name))) for name in names if name)


def _commit(ref: str) -> str:
    """Return the hash of a commit, which git cannot take for a path or an option."""
    if not ref.startswith("-"):
        with suppress(ConfigError):
            return _git("rev-parse", "--verify", ref + "^{commit}").decode().strip()
    hint = "fetch it, such as by git fetch origin; in CI clone with the history (fetch-depth: 0)"
    hint = f"--changed HEAD {ref}" if Path(ref).exists() else hint
    raise ConfigError(f"--changed {ref}: no such commit\n  hint: {hint}")


def _git(*arguments: str) -> bytes:
    """Run git in the working directory and return what it prints."""
    git = shutil.which("git")
    if git is None:
        raise ConfigError("--changed needs git, which is not installed")
    command = [git, "--no-optional-locks", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"--changed: cannot run git: {error}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
        raise ConfigError(f"--changed: {said or f'git ended with status {done.returncode}'}")
    return done.stdout
