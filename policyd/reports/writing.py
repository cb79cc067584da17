"""Write the reports that changed, and delete those that nothing needs any more.

Every report is one request. A failure is noted, and the run goes on.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus

from policyd.cluster.objects import ObjectError
from policyd.reports.apis import ReportApi
from policyd.reports.paced_requests import ReportRequests
from policyd.reports.report_document import ReportDocument
from policyd.reports.stored_reports import KnownReports, StoredReport, report_path
from policyd.reports.summary import ReportWrites


@dataclass(frozen=True, slots=True)
class ScanCoverage:
    """The objects of which the run knows everything, so that unused reports may be deleted.

    ``listed`` are the resources (by their label) that were to be listed; ``incomplete`` those that
    could not be listed to the end, with the namespace or "" for all. ``discovered``: whether every
    resource that the policies match is known, so that no policy is about the others.
    """

    listed: frozenset[str]
    incomplete: frozenset[tuple[str, str]] = frozenset()
    discovered: bool = True

    def covers(self, report: StoredReport) -> bool:
        """Whether the object of a report was looked for everywhere where it could be."""
        if {(report.resource, ""), (report.resource, report.namespace)} & self.incomplete:
            return False
        return report.resource in self.listed or self.discovered


@dataclass(slots=True)
class ReportWriter:
    """Writes and deletes reports, and counts in ``writes``. ``note`` gets each problem;
    ``announce`` each change that a dry run does not make.
    """

    requests: ReportRequests
    known: KnownReports
    note: Callable[[str], None]
    announce: Callable[[str], None]
    writes: ReportWrites
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    # Where writing is forbidden: the resource of reports and the namespace.
    _forbidden: set[tuple[str, str]] = field(default_factory=set)

    def write(self, report: ReportDocument) -> None:
        """Write a report, unless the cluster has it already."""
        namespace, name = report.object.namespace, report.name
        if self.known.keep(namespace, name, report.content_hash):
            self.writes.unchanged += 1
            return
        if self.writes.dry_run:
            counts = ", ".join(f"{count} {word}" for word, count in report.counts.items() if count)
            about = f"{report.object.kind} {_place(namespace, report.object.name)}"
            served = report.api.resource(namespace).label
            self.announce(f"would write {served} {_place(namespace, name)}: {about}: {counts}")
            self.writes.written += 1
            return
        at = (report.api.resource(namespace).resource, namespace)
        if at in self._forbidden:
            self.writes.failed += 1
            return
        try:
            path = report_path(report.api, namespace, name)
            self.requests.apply(path, report.written_at(self.now()))
        except ObjectError as error:
            if not _is_leaving(error):
                self._fail(error)
                if error.status == HTTPStatus.FORBIDDEN:
                    self._forbidden.add(at)
        else:
            self.writes.written += 1

    def clean_up(
        self,
        stored: Iterable[StoredReport],
        coverage: ScanCoverage,
        api: ReportApi,
        advance: Callable[[int], None],
    ) -> None:
        """Delete the reports among these that no object used, where all objects are known.
        ``advance`` gets the number of those examined.
        """
        examined = 0
        for each in stored:
            if self.requests.ended:
                return
            if not self.known.is_stale(each.namespace, each.name, each.content_hash):
                continue
            if coverage.covers(each):
                self._delete(each, report_path(api, each.namespace, each.name))
            examined += 1
            advance(examined)

    def _delete(self, report: StoredReport, path: str) -> None:
        if self.writes.dry_run:
            self.announce(f"would delete {path.lstrip('/')}")
            self.writes.deleted += 1
            return
        try:
            self.requests.delete(path, report.uid, report.version)
        except ObjectError as error:
            # It is gone, or somebody has changed it since, which a later run looks at.
            if error.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                self._fail(error)
        else:
            self.writes.deleted += 1

    def _fail(self, error: ObjectError) -> None:
        """Note a problem. A request that an interruption prevented is none."""
        if error.status or not self.requests.interrupted:
            self.writes.failed += 1
            self.note(str(error))


def _is_leaving(error: ObjectError) -> bool:
    """Whether the object's namespace is being deleted, or gone: its report is of no use."""
    if error.status == HTTPStatus.NOT_FOUND:
        return (error.body.get("details") or {}).get("kind") == "namespaces"
    return error.is_of_ending_namespace


def _place(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name
