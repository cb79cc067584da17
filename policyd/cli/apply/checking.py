"""``policyd apply`` of manifests: reads and checks them, and writes findings and changes."""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice, tee
from pathlib import Path
from typing import NamedTuple

import click

from policyd.cli.apply.checked import ApplyRun, CheckedObject, Tally
from policyd.cli.apply.explain_hint import explain_hint
from policyd.cli.apply.output import write
from policyd.cli.apply.rewriting import Rewritten, RewrittenFiles
from policyd.cli.apply.shared_work import shared
from policyd.cli.shared.manifests import (
    Manifests,
    OldObject,
    Requester,
    echo_assumptions,
    echo_misfits,
    echo_unused_definitions,
    find_manifests,
    is_namespace,
    no_manifests_hint,
    old_objects,
    read_manifests,
)
from policyd.cli.shared.namespaces import NamespaceOptions, echo_unknown
from policyd.cli.shared.output import counted, echo_problems, echo_skipped, within
from policyd.cli.shared.policy_options import echo_failed_operations
from policyd.cli.shared.terminal.progress import with_progress
from policyd.errors import ConfigError, PolicySchemaError, Problem
from policyd.json_types import JSONObject
from policyd.mutation.schemas.schemas import Schemas
from policyd.offline.admitting import Admission, Admitter
from policyd.offline.fields import FieldFinder
from policyd.offline.unknown_namespaces import UnknownNamespaces
from policyd.policy.kinds.definitions import definitions_among
from policyd.policy.kinds.mapping import ResourceMapper
from policyd.policy.kinds.misfits import misfits
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
    def paths(self) -> tuple[Path, ...]:
        """The files and directories to check: of changed files, any in the current directory."""
        return self.resources or (() if self.changed is None else (Path(),))

    @property
    def given(self) -> bool:
        """Whether there is any option."""
        return self != ManifestOptions(())

    def find(self) -> tuple[Manifests, Manifests]:
        """Find the manifests to check, and those that have not changed: they only describe the
        cluster, and their problems are of no interest.
        """
        if self.changed is None:
            return find_manifests(self.paths, self.excluded, skips=self.skips), Manifests()
        differing = changed_files(self.changed, self.paths)

        def differs(name: str) -> bool:
            return os.path.realpath(name) in differing

        return (
            find_manifests(self.paths, self.excluded, skips=self.skips, chosen=differs),
            find_manifests(self.paths, self.excluded, chosen=lambda name: not differs(name)),
        )

    def problems_of(self, manifests: Manifests) -> list[Problem]:
        """Return the problems of the files to check, with the option that helps."""
        option = "" if self.changed is not None else "; --skip-no-objects skips such files"
        return [
            replace(each, hint=each.hint + option) if each.hint.startswith(LEAVE_OUT) else each
            for each in manifests.problems
        ]


class BuiltReview(NamedTuple):
    """The request for an object; ``updated``: there was an old version of it."""

    document: Document
    review: JSONObject
    updated: bool


@dataclass(slots=True)
class ManifestNotes:
    """Remarks about manifests besides the results of their checks.

    ``kinds``: the first object of each. ``objects``: their number in each file. ``unbuilt``: why
    there is no request for an object.
    """

    kinds: dict[tuple[str, str], Document] = field(default_factory=dict)
    objects: Counter[str] = field(default_factory=Counter)
    misfits: list[Problem] = field(default_factory=list)
    unbuilt: list[Problem] = field(default_factory=list)

    def on(self, documents: Iterable[Document], schemas: Schemas) -> Iterator[Document]:
        """Yield the documents, each with its remarks noted."""
        for document in documents:
            self.kinds.setdefault((document.api_version, document.kind), document)
            self.objects[document.file] += 1
            self.misfits += map(document.problem, misfits(document.raw, schemas))
            yield document


def check_manifests(options: ManifestOptions, run: ApplyRun) -> int:
    """Check the manifests, print the result and return the exit status. Manifests are read, checked
    and forgotten, except those that describe the cluster or that policies read.
    """
    requester, report = run.requester, run.report
    manifests, unchanged = options.find()
    documents: Iterable[Document] = manifests.each()
    first = list(islice(documents, 2))
    if not first and not options.skips and options.changed is None:
        echo_skipped(manifests.skipped)
        manifests.problems = options.problems_of(manifests)
        manifests.required()
        missing = f"no manifests {within(options.paths)}"
        hint = no_manifests_hint(manifests, options.paths)
        raise ConfigError(f"{missing}\n  hint: {hint}")
    documents = chain(first, documents)
    old = read_manifests(options.old, options.excluded).required().documents
    before = old_objects(first, old, requester)
    if requester.resource is not None:
        documents = list(documents)
        requester.require_one_kind(documents)
    read = {each.kind for policy in run.policies.policies for each in policy.reads}
    described = manifests.describing(read)
    known = [*unchanged.describing(read), *described]
    crds = definitions_among(each.raw for each in known)
    there = [each.raw for each in known if is_namespace(each)]
    policies = run.policies.with_definitions(crds).with_namespaces(there)
    others = read_manifests(options.reads).required().documents
    built = _built(described, before, requester, policies.mapper, [])
    sent = {id(each.document): each.review["request"]["object"] for each in built}
    objects = [sent.get(id(each)) or each.raw for each in (*others, *known)]
    policies = policies.reading(objects)
    notes = ManifestNotes()
    noted = notes.on(documents, policies.schemas)
    built = _built(noted, before, requester, policies.mapper, notes.unbuilt)
    unknown = UnknownNamespaces(policies, options.namespaces.parts)
    fields = FieldFinder(
        lambda: run.traced().changed(
            lambda each: each.with_definitions(crds).with_namespaces(there).reading(objects)
        )
    )
    defaults = policies.defaults if options.defaults else None
    admitter = Admitter(policies, run.authorizer, defaults=defaults, fields=fields)
    checked: list[CheckedObject] = []
    tally = Tally()
    whole = report.diff or options.mutated or options.output_dir is not None
    for each in _check(admitter, built, options.namespaces, unknown):
        tally.add(each)
        if each.noted or whole or report.verbose or report.form != "text":
            checked.append(each if whole else each.slim(patched=report.form == "json"))
    problems = options.problems_of(manifests) + notes.unbuilt
    tally.skipped_files = manifests.skipped_files
    tally.skipped_documents = manifests.skipped_documents
    tally.unread = len(problems)
    echo_skipped(manifests.skipped)
    echo_unused_definitions(known)
    echo_assumptions(notes.kinds.values(), requester, policies.mapper)
    echo_misfits(notes.misfits)
    echo_unknown(unknown)
    echo_problems(problems, err=True)
    write(report, checked, tally, problems)
    if report.form == "text":
        echo_failed_operations(run.sources, _failures(checked))
    if report.form == "text" and (hint := explain_hint(checked, known, notes.objects)):
        click.echo(hint, err=True)
    status = INVALID if problems else int(tally.fails(report.fail_on))
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
    documents: Iterable[Document],
    before: OldObject,
    requester: Requester,
    mapper: ResourceMapper,
    unbuilt: list[Problem],
) -> Iterator[BuiltReview]:
    """Yield the request for each object. ``unbuilt`` gets the problems of the others."""
    for document in documents:
        old = before(document)
        try:
            review = requester.review(document, old, mapper)
        except PolicySchemaError as error:
            unbuilt += error.problems
            continue
        yield BuiltReview(document, review, old is not None)


def _check(
    admitter: Admitter,
    built: Iterable[BuiltReview],
    namespaces: NamespaceOptions,
    unknown: UnknownNamespaces,
) -> Iterator[CheckedObject]:
    """Yield each object with its result, in order. ``unknown`` gets all requests."""

    def work(review: JSONObject) -> Admission:
        name = review["request"].get("namespace") or ""
        namespace = namespaces.of(name, admitter.policies.namespaces)
        chosen = admitter if namespace is None else admitter.knowing(namespace)
        # Not sent to the process that prints: the patch has ``after``, and findings the causes.
        return replace(chosen.admit(review), after=None, causes=())

    kept, sent = tee(built)
    results = zip(kept, shared(work, (each.review for each in sent)), strict=True)
    for (document, review, updated), admission in with_progress(results, "checking"):
        unknown.add(review)
        yield CheckedObject(document, admission, updated, review["request"]["object"])


def _write(
    options: ManifestOptions, manifests: Manifests, checked: Sequence[CheckedObject], status: int
) -> None:
    """Write the files that mutations changed, or print all; a pipe gets nothing after a failure."""
    if options.output_dir is None and not options.mutated:
        return
    changed = (Rewritten(each.document, each.result) for each in checked)
    files = RewrittenFiles(manifests.files, changed)
    if options.output_dir is not None:
        for path in files.write_changed(options.output_dir, options.paths):
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
