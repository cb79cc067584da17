"""What another product only audits, as its reports in the cluster show it. Sends only GET requests.

A report is about an object as it is stored, and does not say which version of it. So it counts for
a reviewed object only if the stored one has the same content, and has not changed since.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from urllib.parse import quote

from policyd._core.json.equality import equal
from policyd.cluster.listing import ApiReader, ApiReadError, list_path, pages, unread
from policyd.comparison.findings import Level, RuleFinding, RuleName, own_rule
from policyd.errors import ConfigError
from policyd.json_types import JSON, JSONObject, object_in
from policyd.policy.kinds.served_resource import Served
from policyd.reports.apis import APIS

_SOURCE = "kyverno"  # what the sources of Kyverno's results begin with
_LEVELS: dict[str, Level] = {
    "fail": "audits", "warn": "audits", "pass": "admits", "skip": "admits",
}  # fmt: skip
# The metadata that a request decides; the API server sets the rest.
_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")


@dataclass(frozen=True, slots=True)
class AuditReports:
    """The results of all reports, by the UID of their object and the rule: of each policy that has
    the name, the last one, with its time in seconds.
    """

    reader: ApiReader
    _results: dict[tuple[str, RuleName], dict[str, tuple[RuleFinding, float]]] = field(
        default_factory=dict
    )

    def read(self) -> "AuditReports":
        """Read the reports of the APIs that the cluster serves. Raises ConfigError."""
        for api in APIS.values():
            for resource in (api.namespaced, api.cluster):
                for report in self._listed(resource):
                    uid = str(object_in(report, "scope").get("uid") or "")
                    for policy, finding, seconds in _findings(report):
                        known = self._results.setdefault((uid, finding.name), {})
                        if policy not in known or known[policy][1] < seconds:
                            known[policy] = finding, seconds
        return self

    def findings(self, request: JSONObject, obj: JSON, name: RuleName) -> list[RuleFinding]:
        """Return what is reported of a rule for an object of a request; nothing if that is not
        known. Raises ConfigError.
        """
        named = object_in(obj, "metadata")
        uid = str(named.get("uid") or "")
        results = self._results.get((uid, name), {}).values()
        if not results or request.get("subResource"):
            return []
        # A request to create an object with generateName has no name.
        stored = self._stored(request, str(request.get("name") or named.get("name") or ""))
        metadata = object_in(stored, "metadata")
        same = metadata.get("uid") == uid and equal(_content(stored), _content(object_in(obj)))
        changed = _changed(metadata)
        current = same and all(seconds > changed for _, seconds in results)
        return [finding for finding, _ in results] if current else []

    def _listed(self, resource: Served) -> Iterator[JSONObject]:
        try:
            for page in pages(self.reader, list_path(resource)):
                yield from page.items
        except ApiReadError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise _failed(f"list {resource.resource}.{resource.group}", error) from None

    def _stored(self, request: JSONObject, name: str) -> JSONObject:
        of = request["resource"]
        resource = Served(of.get("group", ""), of["version"], of["resource"], "", True)
        listed = list_path(resource, quote(request.get("namespace") or "", safe=""))
        try:
            return self.reader.get(f"{listed}/{quote(name, safe='')}")
        except ApiReadError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return {}
            raise _failed(f"get {of['resource']}", error) from None


def _findings(report: JSONObject) -> Iterator[tuple[str, RuleFinding, float]]:
    for each in report.get("results") or ():
        level = _LEVELS.get(each.get("result"))
        if level and str(each.get("source")).lower().startswith(_SOURCE):
            policy, rule = each["policy"], own_rule(each.get("rule") or "")
            name = RuleName(policy.rpartition("/")[2], rule)
            finding = RuleFinding(name, level, each.get("message") or "")
            yield policy, finding, object_in(each, "timestamp").get("seconds") or 0


def _content(obj: JSONObject) -> JSONObject:
    metadata = object_in(obj, "metadata")
    kept = {each: metadata[each] for each in _METADATA if metadata.get(each)}
    return {**obj, "metadata": kept, "status": None}


def _changed(metadata: JSONObject) -> float:
    """Return when an object was last changed, but for its status, as far as it says."""
    times = [
        each["time"]
        for each in metadata.get("managedFields") or ()
        if each.get("time") and not each.get("subresource")
    ]
    times.append(metadata.get("creationTimestamp") or "1970-01-01T00:00:00Z")
    return max(datetime.fromisoformat(each).timestamp() for each in times)


def _failed(what: str, error: ApiReadError) -> ConfigError:
    problem = unread(what, error)
    return ConfigError(problem.message + (f"\n  hint: {problem.hint}" if problem.hint else ""))
