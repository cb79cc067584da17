"""One run of ``policyd report``: scans a cluster, writes reports, and deletes obsolete ones.

Objects are read, evaluated and reported one by one. The memory of a run does not grow with their
number, except for two short hashes of each report that the cluster has (``known``).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic

from policyd.admission.applicable import LookupSources
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.lookups.params import LookedUpParams
from policyd.cluster.listing import ApiReadError
from policyd.cluster.scanned_reads import ScannedReads
from policyd.cluster.scanning import ParamReader, Scan, ScannedObject, ScanProgress
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.kinds.match_targets import ListedResource, MatchTargets, PolicyKey
from policyd.policy.kinds.served_resource import Served, storage_of
from policyd.policy.source.loaded_documents import Sources
from policyd.reports.apis import served_api
from policyd.reports.evaluating import ObjectEvaluator, ObjectResults
from policyd.reports.paced_requests import ReportRequests
from policyd.reports.report_document import ReportedObject, report_of, resource_label
from policyd.reports.results import ReportResult, facts_of
from policyd.reports.stored_reports import (
    KnownReports,
    ReportScope,
    StoredReport,
    stored_reports,
)
from policyd.reports.summary import MOST_PROBLEMS, ReportWrites, Summary
from policyd.reports.tally import ReportTally
from policyd.reports.writing import ReportWriter, ScanCoverage

_NOTHING = ObjectResults((), frozenset())


@dataclass(frozen=True, slots=True)
class ReportRunOptions:
    """The objects to scan (see ``Scan``), and the reports to write. ``api``: an apiVersion of
    reports, "" for the served one. ``user_info`` is the user of the requests.
    """

    user_info: JSONObject
    namespaces: tuple[str, ...] = ()
    owned: bool = False
    api: str = ""
    dry_run: bool = False


class ReportRun:
    """One run. ``cluster`` is the address of the API server, for the summary; ``announce`` is
    called with each change that a dry run would make.
    """

    def __init__(
        self,
        requests: ReportRequests,
        params: ParamReader,
        *,
        sources: Sources,
        policies: CompiledPolicySet,
        authorizer: Authorizer | None,
        options: ReportRunOptions,
        cluster: str,
        announce: Callable[[str], None],
    ) -> None:
        self._requests = requests
        self._options = options
        self._cluster = cluster
        checked = [each for each in policies.policies if each.bindings and each.validation]
        self._facts = facts_of(sources, checked)
        self._scan = Scan(
            requests,
            MatchTargets(sources, self._facts),
            user_info=options.user_info,
            namespaces=options.namespaces,
            owned=options.owned,
        )
        lookups = LookupSources(
            authorizer,
            self._scan.namespaces(),
            LookedUpParams(policies.params, params.kind, params.params),
            ScannedReads(requests, params.kind),
        )
        self._evaluator = ObjectEvaluator(policies, self._facts, lookups)
        self._tally = ReportTally()
        self._known = KnownReports()
        self._api = served_api(requests, options.api)
        writes = ReportWrites(dry_run=options.dry_run)
        self._writer = ReportWriter(requests, self._known, self._tally.note, announce, writes)
        self._idle = frozenset[PolicyKey]()

    def run(self, advance: ScanProgress) -> Summary:
        """Scan, write and delete. Raises ConfigError if the cluster cannot be queried at all."""
        started, clock = datetime.now(UTC), monotonic()
        version = self._version()
        try:
            self._run(advance)
        except ConfigError:
            if not self._requests.interrupted:
                raise
        if self._requests.ended and not self._requests.interrupted:
            self._tally.note(self._requests.ended)
        return self._summary(started, monotonic() - clock, version)

    def _run(self, advance: ScanProgress) -> None:
        targets = self._scan.start()
        discovered = not self._scan.unread
        reached = frozenset[PolicyKey]().union(*(each.policies for each in targets))
        self._idle = frozenset(self._facts) - reached
        scope = ReportScope(self._options.namespaces, self._scan.uids_of_namespaces())
        try:
            for number, each in enumerate(self._stored(scope)):
                advance("reading reports", number, number + 1)
                self._known.add(each.namespace, each.name, each.content_hash)
        except ApiReadError as error:
            raise ConfigError(f"cannot list the reports of earlier runs: {error}") from None
        families = _families(targets)
        for label, family in families.items():
            self._report(label, family, advance)
            if self._requests.ended:
                return
        incomplete = frozenset(
            (_label(served), namespace) for served, namespace in self._scan.incomplete
        )
        coverage = ScanCoverage(frozenset(families), incomplete, discovered)
        self._clean_up(scope, coverage, advance)

    def _report(self, label: str, family: list[ListedResource], advance: ScanProgress) -> None:
        """Report the objects of a resource, in all versions in which policies match it."""
        held: dict[str, tuple[ReportResult, ...]] = {}
        for target in family:
            last = target is family[-1]
            for found in self._scan.objects(target, advance):
                if self._requests.ended:
                    return
                self._check(found, label, held, last=last)

    def _check(
        self,
        found: ScannedObject,
        label: str,
        held: dict[str, tuple[ReportResult, ...]],
        *,
        last: bool,
    ) -> None:
        """Evaluate an object; write its report after its last version. ``held`` are the results of
        previous versions.
        """
        reported = _reported(found, label)
        evaluation = _NOTHING
        if found.policies:
            evaluation = self._evaluator.evaluate(found.review, found.policies)
        self._tally.count(reported, evaluation)
        results = (*held.pop(reported.uid, ()), *evaluation.results)
        if not last:
            if results:
                held[reported.uid] = results
            return
        if found.policies or results:
            self._tally.count_object(reported.namespace)
        else:
            self._tally.owned += 1
        if results and reported.uid:
            ordered = sorted(results, key=lambda each: each.sort_key)
            self._writer.write(report_of(self._api, reported, ordered))

    def _clean_up(self, scope: ReportScope, coverage: ScanCoverage, advance: ScanProgress) -> None:
        stale = self._known.stale
        if not stale:
            return
        try:
            self._writer.clean_up(
                self._stored(scope),
                coverage,
                self._api,
                lambda done: advance("deleting reports", done, stale),
            )
        except ApiReadError as error:
            self._tally.note(f"cannot list the reports of earlier runs: {error}")

    def _stored(self, scope: ReportScope) -> Iterator[StoredReport]:
        return stored_reports(self._requests.metadata, self._api, scope)

    def _version(self) -> str:
        try:
            return str(self._requests.get("/version").get("gitVersion") or "")
        except ApiReadError:
            return ""

    def _summary(self, started: datetime, seconds: float, version: str) -> Summary:
        tally, options = self._tally, self._options
        problems = (*self._scan.unread, *tally.problems)
        return Summary(
            cluster=self._cluster,
            cluster_version=version,
            api=self._api.api_version,
            started=started,
            seconds=seconds,
            namespaces=options.namespaces,
            objects=tally.objects,
            owned=tally.owned,
            results=tally.results,
            policies=tally.by_policy(self._facts, self._idle),
            by_namespace=tally.by_namespace(),
            findings=tuple(tally.sample.findings),
            more_findings=tally.sample.more,
            reports=self._writer.writes,
            problems=problems[:MOST_PROBLEMS],
            more_problems=tally.more_problems + len(problems[MOST_PROBLEMS:]),
            interrupted=self._requests.interrupted,
        )


def _families(targets: list[ListedResource]) -> dict[str, list[ListedResource]]:
    """Return the targets by the label of their objects: targets with the same label are versions of
    the same objects.
    """
    families: dict[str, list[ListedResource]] = {}
    for each in targets:
        families.setdefault(_label(each.served), []).append(each)
    return families


def _label(served: Served) -> str:
    return resource_label(*storage_of(served))


def _reported(found: ScannedObject, label: str) -> ReportedObject:
    document = found.document
    uid = str(document.raw["metadata"].get("uid") or "")
    return ReportedObject(
        document.api_version, document.kind, document.namespace, document.name, uid, label
    )
