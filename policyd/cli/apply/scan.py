"""``policyd apply --cluster``: checks the objects in a cluster as if each were created now.

Objects are read page by page, and only those with findings are kept. Nothing is written to the
cluster.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from time import perf_counter_ns
from typing import Any, Protocol

from policyd.admission.authorizer import Authorizer, Failure
from policyd.admission.engine import Webhook
from policyd.admission.lookups.namespaces import LookedUpNamespaces, NamespaceName
from policyd.admission.lookups.params import KindOf, LookedUpParams, ParamsOf
from policyd.cli.apply.checked import CheckedObject, Tally
from policyd.cli.shared.manifests import Requester
from policyd.cli.shared.terminal.progress import Advance
from policyd.cluster.listing import ApiReader, ApiReadError, Page, list_path, pages, served
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.offline.admitting import Admission, Admitter
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.live.reach import ListedResource, PolicyKey, Reach, Served
from policyd.policy.source.documents import Document, Sources
from policyd.policy.suite.reviews import build_review

_NAMESPACES = Served("", "v1", "namespaces", "Namespace", False)


class ScanReader(ApiReader, Protocol):
    """Reads objects, and params of any kind; returns the reason where it cannot."""

    def kind(self, question: KindOf) -> tuple[Served, ...] | Failure:
        """Look up the resource of a params kind; empty if it is not served."""

    def params(self, question: ParamsOf) -> tuple[JSONObject, ...] | Failure:
        """Look up params that no document contains."""


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """What to scan and report.

    ``changes``: also report what mutations would change. ``everything``: also keep objects without
    findings. ``owned``: also check objects created by controllers.
    """

    namespaces: tuple[str, ...] = ()
    owned: bool = False
    changes: bool = False
    everything: bool = False


@dataclass(slots=True)
class ScanReport:
    """The result of a scan.

    ``unread``: what could not be read, with the reason. ``idle``: policies that match no request of
    the scan. ``left_out``: the number of objects skipped because their owners were checked.
    """

    checked: list[CheckedObject] = field(default_factory=list)
    tally: Tally = field(default_factory=lambda: Tally("would change"))
    unread: list[str] = field(default_factory=list)
    idle: list[str] = field(default_factory=list)
    left_out: int = 0


class ClusterScan:
    """One pass over a cluster. Each object is checked as if ``requester`` created it."""

    def __init__(
        self,
        reader: ScanReader,
        *,
        sources: Sources,
        policies: CompiledPolicySet,
        authorizer: Authorizer | None,
        requester: Requester,
        options: ScanOptions,
    ) -> None:
        self._reader = reader
        self._who = requester
        self._options = options
        self._webhooks: tuple[Webhook, ...] = ("validate",)
        self._policies = [each for each in policies.policies if each.bindings and each.validation]
        if options.changes:
            self._policies += [
                each for each in policies.policies if each.bindings and each.mutation
            ]
        self._reach = Reach(sources, (each.sort_key for each in self._policies))
        self._namespaces: dict[str, JSONObject] = {}
        self._admitter = Admitter(
            policies,
            authorizer,
            namespaces=LookedUpNamespaces(self._namespace),
            params=LookedUpParams(policies.params, reader.kind, reader.params),
        )
        # The kinds of objects that each policy has checked: (group, kind).
        self._seen: dict[PolicyKey, set[tuple[str, str]]] = {}
        self.report = ScanReport()

    def run(self, advance: Advance) -> ScanReport:
        """Read and check everything. Raises ConfigError if the cluster cannot be queried at all."""
        try:
            resources = served(self._reader, self._reach.names_group, self._missed)
            targets = self._reach.targets(resources)
        except ApiReadError as error:
            raise ConfigError(f"cannot discover the cluster's resources: {error}") from None
        self._read_namespaces()
        if self._options.namespaces:
            targets = [each for each in targets if self._is_within(each.served)]
        reached = frozenset[PolicyKey]().union(*(target.policies for target in targets))
        idle = {each.name for each in self._policies if each.sort_key not in reached}
        self.report.idle += sorted(idle)
        for target in targets:
            self._scan(target, advance)
        return self.report

    def _missed(self, what: str) -> None:
        self.report.unread.append(what)

    # Namespaces

    def _read_namespaces(self) -> None:
        """Read all Namespaces, or those selected. Raises ConfigError if one of these is missing."""
        try:
            if not self._options.namespaces:
                for page in pages(self._reader, list_path(_NAMESPACES)):
                    self._namespaces |= {each["metadata"]["name"]: each for each in page.items}
        except ApiReadError:
            pass  # each Namespace is then looked up when a policy needs it
        for name in self._options.namespaces:
            found = self._namespace(NamespaceName(name))
            if isinstance(found, Failure):
                raise ConfigError(f"--namespace {name}: {found.why}")

    def _namespace(self, question: NamespaceName) -> JSONObject | Failure:
        known = self._namespaces.get(question.name)
        if known is not None:
            return known
        try:
            found = self._reader.get(f"{list_path(_NAMESPACES)}/{question.name}")
        except ApiReadError as error:
            return Failure(str(error))
        self._namespaces[question.name] = found
        return found

    def _is_within(self, resource: Served) -> bool:
        return resource.namespaced or resource == _NAMESPACES

    # Objects

    def _scan(self, target: ListedResource, advance: Advance) -> None:
        """Check every object of a resource; report what cannot be read and continue."""
        doing, done = f"checking {target.served.label}", 0
        for where, listed in self._lists(target.served):
            try:
                for page in listed:
                    advance(doing, done, done + len(page.items) + page.remaining)
                    for item in page.items:
                        self._check(item, target)
                    done += len(page.items)
            except ApiReadError as error:
                self._missed(f"cannot list {target.served.label}{where}: {error}")
        if done:
            for key in target.policies:
                self._seen.setdefault(key, set()).add((target.served.group, target.served.kind))

    def _lists(self, resource: Served) -> Iterator[tuple[str, Iterator[Page]]]:
        """Yield lists of pages, each with the words for its namespace in messages."""
        names = dict.fromkeys(self._options.namespaces)
        if not names:
            yield "", pages(self._reader, list_path(resource))
        elif resource == _NAMESPACES:
            yield "", iter([Page([self._namespaces[name] for name in names], 0)])
        else:
            for name in names:
                yield f" in {name}", pages(self._reader, list_path(resource, name))

    def _check(self, item: JSONObject, target: ListedResource) -> None:
        keys = self._policies_for(item, target)
        if not keys:
            self.report.left_out += 1
            return
        document = _document(item, target.served)
        review = self._review(document, target.served)
        started = perf_counter_ns()
        admission = self._evaluate(review, lambda policy: policy.sort_key in keys)
        checked = CheckedObject(document, admission, (perf_counter_ns() - started) / 1e9)
        self.report.tally.add(checked)
        found = checked.findings or admission.ignored or admission.held
        if found or admission.patch or self._options.everything:
            self.report.checked.append(checked if admission.patch else _slim(checked))

    def _policies_for(self, item: JSONObject, target: ListedResource) -> frozenset[PolicyKey]:
        """The policies that check the object: not those that have checked its owner's kind."""
        if self._options.owned:
            return target.policies
        for owner in item["metadata"].get("ownerReferences") or ():
            if owner.get("controller"):
                group = str(owner.get("apiVersion", "")).rpartition("/")[0]
                kind = (group, str(owner.get("kind")))
                checked_owner = {key for key in target.policies if kind in self._seen.get(key, ())}
                return target.policies - checked_owner
        return target.policies

    def _evaluate(self, review: JSONObject, only: Callable[[CompiledPolicy], bool]) -> Admission:
        """Check the object as it is; if wanted, also find what mutations would change."""
        admission = self._admitter.admit(review, self._webhooks, only)
        if not self._options.changes:
            return admission
        changed = self._admitter.admit(review, ("mutate",), only)
        refused = admission if changed.allowed else changed
        return replace(
            admission,
            allowed=admission.allowed and changed.allowed,
            message=admission.message or refused.message,
            code=admission.code or refused.code,
            violations=(*changed.violations, *admission.violations),
            warnings=(*changed.warnings, *admission.warnings),
            ignored=(*changed.ignored, *admission.ignored),
            held=(*changed.held, *admission.held),
            matched=tuple(dict.fromkeys((*changed.matched, *admission.matched))),
            patch=changed.patch,
        )

    def _review(self, document: Document, resource: Served) -> JSONObject:
        overrides: dict[str, Any] = {
            "resource": {
                "group": resource.group,
                "version": resource.version,
                "resource": resource.resource,
            },
            "userInfo": self._who.user_info,
        }
        if resource != _NAMESPACES:  # the namespace of a Namespace is its own name
            overrides["namespace"] = document.namespace
        return build_review(document.raw, operation="CREATE", overrides=overrides)


def _document(item: JSONObject, resource: Served) -> Document:
    """Build the document of an object; lists omit apiVersion and kind of their items."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    typed = {"apiVersion": resource.api_version, "kind": resource.kind}
    return Document(
        kind=resource.kind,
        api_version=resource.api_version,
        name=str(metadata.get("name") or ""),
        namespace=str(metadata.get("namespace") or ""),
        file="",
        index=0,
        raw={**typed, **item, "metadata": metadata},
    )


def _slim(checked: CheckedObject) -> CheckedObject:
    """Drop the object: all objects of a cluster may not fit in memory."""
    return CheckedObject(
        replace(checked.document, raw={}), replace(checked.admission, after=None), checked.seconds
    )
