"""Writes changed reports, and deletes obsolete ones.

Every report is one request. The run continues after a failure.
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
    """The objects that the run has scanned completely, so that unused reports may be deleted.

    ``listed`` are the resources (by label) to list; ``incomplete`` those whose list is incomplete,
    with the namespace or "" for all. ``discovered``: whether every resource that the policies match
    is known, so that no policy matches others.
    """

    listed: frozenset[str]
    incomplete: frozenset[tuple[str, str]] = frozenset()
    discovered: bool = True

    def covers(self, report: StoredReport) -> bool:
        """Whether the run has scanned every place where the object of a report could be."""
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
        """Write a report, unless the cluster already has it."""
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
        """Delete the reports that no object used, if the scan covers their objects. ``advance``
        gets the number of examined reports.
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
            # It was deleted, or another client has changed it: a later run handles it.
            if error.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                self._fail(error)
        else:
            self.writes.deleted += 1

    def _fail(self, error: ObjectError) -> None:
        """Record a problem, unless an interruption prevented the request."""
        if error.status or not self.requests.interrupted:
            self.writes.failed += 1
            self.note(str(error))


def _is_leaving(error: ObjectError) -> bool:
    """Whether the object's namespace is deleted or being deleted: its report is useless."""
    if error.status == HTTPStatus.NOT_FOUND:
        return (error.body.get("details") or {}).get("kind") == "namespaces"
    return error.is_of_ending_namespace


def _place(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name
