"""A checked object, the options of its output and the counts of all results. Prints nothing."""

from dataclasses import dataclass, field, replace
from typing import Any

import click
import jsonpatch

from policyd.admission.lookups.authorizer import Authorizer
from policyd.cli.shared.kubeconfig import Kubeconfig
from policyd.cli.shared.manifests import Requester
from policyd.cli.shared.output import counted
from policyd.cli.shared.reports import Rules
from policyd.json_types import JSONObject, object_in
from policyd.offline.admitting import Admission, Violation
from policyd.offline.tracing import TracedPolicies
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.policy.source.places import Origin

FilePlace = tuple[int, int]  # line and column
FAIL_ON = ("warn", "error", "would-deny")


@dataclass(frozen=True, slots=True)
class CheckedObject:
    """An object and the result of its check; an object of a cluster has no file.

    ``updated``: an old version of it was given. ``sent``: the object of the request, which has a
    namespace; None if it is the document's. ``places``: of fields, as far as they were looked up.
    """

    document: Document
    admission: Admission
    updated: bool = False
    sent: JSONObject | None = None
    places: dict[str, FilePlace] = field(default_factory=dict)

    def place(self, field: str = "") -> FilePlace:
        """Return line and column of a field in the file, or of its nearest parent; 0 and 0 if there
        is no file to look it up in.
        """
        if field not in self.places:
            known = self.document.file not in ("", "-")
            self.places[field] = self.document.field_place(field) if known else (0, 0)
        return self.places[field]

    def slim(self, *, patched: bool = False) -> "CheckedObject":
        """Return the same without the object: all objects may not fit in memory. Its names, the
        places of findings and, if ``patched``, the patch are kept for the output.
        """
        ignored = [each.field for each in self.admission.ignored]
        for name in ["", *(each.field for each in self.findings), *ignored]:
            self.place(name)
        metadata = object_in(self.document.raw, "metadata")
        named = {"metadata": {"generateName": metadata.get("generateName")}}
        document = replace(self.document, raw=named, origin=Origin())
        patch = self.admission.patch if patched else ()
        admission = replace(self.admission, after=None, patch=patch)
        return replace(self, document=document, admission=admission, sent=None)

    @property
    def noted(self) -> bool:
        """Whether there is something to report besides its admission and its patch."""
        return bool(self.findings or self.admission.ignored or self.admission.held)

    @property
    def result(self) -> JSONObject:
        """The manifest with the changes of mutations; its keys keep their order."""
        if not self.admission.patch:
            return self.document.raw
        operations: Any = self.admission.patch
        raw = self.document.raw
        sent = raw if self.sent is None else self.sent
        changed: JSONObject = jsonpatch.apply_patch(sent, operations)
        return _without_added(changed, sent, raw)

    @property
    def findings(self) -> tuple[Violation, ...]:
        """The findings of the policies, plus the denial if none of them caused it."""
        admission = self.admission
        if admission.allowed or any(each.outcome == "deny" for each in admission.violations):
            return admission.violations
        return (*admission.violations, Violation("", "", "", "deny", admission.message, True))

    @property
    def erred(self) -> bool:
        """Whether the object is denied, and an error is a reason for it."""
        return any(each.error and each.outcome == "deny" for each in self.findings)

    @property
    def would_be_denied(self) -> bool:
        """Whether only rollouts save the object from a denial."""
        return self.admission.allowed and any(e.outcome == "would_deny" for e in self.findings)

    @property
    def other_errors(self) -> int:
        """The number of errors that deny nothing: under Warn, Audit or failurePolicy Ignore."""
        spared = sum(each.error and each.outcome != "deny" for each in self.findings)
        return spared + len(self.admission.ignored)


def _without_added(changed: JSONObject, sent: JSONObject, raw: JSONObject) -> JSONObject:
    """Return the changed object without the namespace that only the request has."""
    namespace = object_in(sent, "metadata").get("namespace")
    if (
        "namespace" in object_in(raw, "metadata")
        or object_in(changed, "metadata").get("namespace") != namespace
    ):
        return changed
    metadata = {
        key: value for key, value in object_in(changed, "metadata").items() if key != "namespace"
    }
    if not metadata and "metadata" not in raw:
        return {key: value for key, value in changed.items() if key != "metadata"}
    return {**changed, "metadata": metadata} if "metadata" in changed else changed


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """How to report results, in which ``form``; ``fail_on``: see ``Tally.fails``. ``diff`` and
    ``verbose``: what to show in addition to denials, warnings and audits. ``err``: print to
    standard error.
    """

    form: str
    rules: Rules
    fail_on: tuple[str, ...] = ()
    diff: bool = False
    verbose: bool = False
    err: bool = False


@dataclass(frozen=True, slots=True)
class ApplyRun:
    """The policies that check the objects of manifests or of a cluster, compiled from ``sources``.
    If they are ``enforced``, every rollout counts as finished.
    """

    sources: Sources
    policies: CompiledPolicySet
    authorizer: Authorizer | None
    requester: Requester
    report: ReportOptions
    enforced: bool

    def traced(self) -> TracedPolicies:
        """Return the policies as ``FieldFinder`` needs them."""
        found = TracedPolicies.of_sources(self.sources)
        return found.changed(lambda each: each.enforced) if self.enforced else found


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """The values of ``cluster_options``. ``cluster``: whether to scan one; without ``scanned``
    namespaces, it is all of them, and cluster-scoped objects; ``owned``: also what controllers
    created.
    """

    cluster: bool
    kube: Kubeconfig
    scanned: tuple[str, ...]
    owned: bool

    def __post_init__(self) -> None:
        """Raise UsageError for what only a scan can have."""
        if not self.cluster and (any(self.kube) or self.owned):
            raise click.UsageError("--kubeconfig, --context and --owned require --cluster")
        if not self.cluster and len(self.scanned) > 1:
            raise click.UsageError("--namespace may be repeated only with --cluster")

    @property
    def default_namespace(self) -> str | None:
        """The namespace of manifests that name none."""
        return None if self.cluster else next(iter(self.scanned), None)


@dataclass(slots=True)
class Tally:
    """Counts of objects and results. ``changed`` is the word for objects with a patch; ``errors``
    are objects that an error denies, not in ``denied``. ``would_deny`` and ``would_mutate`` are
    objects that would be denied or changed if every rollout were over.
    """

    changed: str = "mutated"
    objects: int = 0
    denied: int = 0
    errors: int = 0
    mutated: int = 0
    would_deny: int = 0
    would_mutate: int = 0
    warnings: int = 0
    other_errors: int = 0
    skipped_files: int = 0
    skipped_documents: int = 0
    unread: int = 0

    def add(self, checked: CheckedObject) -> None:
        """Count one object."""
        self.objects += 1
        if not checked.admission.allowed:
            self.errors += checked.erred
            self.denied += not checked.erred
        self.mutated += bool(checked.admission.patch)
        self.would_deny += checked.would_be_denied
        self.would_mutate += bool(checked.admission.held)
        self.warnings += sum(finding.outcome == "warn" for finding in checked.findings)
        self.other_errors += checked.other_errors

    def fails(self, fail_on: tuple[str, ...]) -> bool:
        """Whether the results call for exit status 1: a denial, or what ``FAIL_ON`` names."""
        return bool(
            self.denied
            or self.errors
            or ("warn" in fail_on and self.warnings)
            or ("error" in fail_on and self.other_errors)
            or ("would-deny" in fail_on and self.would_deny)
        )

    @property
    def summary(self) -> str:
        """The counts on one line."""
        admitted = self.objects - self.denied - self.errors
        parts = [f"{admitted} admitted", f"{self.denied} denied"]
        parts += [counted(self.errors, "error")] if self.errors else []
        parts += [f"{self.mutated} {self.changed}"] if self.mutated else []
        parts += [f"{self.would_deny} would be denied"] if self.would_deny else []
        parts += [f"{self.would_mutate} would be mutated"] if self.would_mutate else []
        parts += [counted(self.warnings, "warning")] if self.warnings else []
        if self.other_errors:
            parts.append(f"{counted(self.other_errors, 'error')} without effect")
        line = f"{counted(self.objects, 'object')}: {', '.join(parts)}"
        if self.skipped_files:
            line += f"; {counted(self.skipped_files, 'file')} skipped: not a Kubernetes object"
        if self.skipped_documents:
            skipped = counted(self.skipped_documents, "document")
            line += f"; {skipped} skipped: not a Kubernetes object"
        if self.unread:
            line += f"; {counted(self.unread, 'problem')} in the files"
        return line
