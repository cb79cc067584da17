"""Reads the findings that another product only audits, from its reports in the cluster. Sends only
GET requests.

A report describes a stored object, but does not name its version. So it counts for a reviewed
object only if the stored one has the same content and has not changed since.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from urllib.parse import quote

from policyd._core.json.equality import equal
from policyd.cluster.listing import ApiReader, ApiReadError, list_path, unread
from policyd.comparison.findings import Level, RuleFinding, RuleName, own_rule
from policyd.errors import ConfigError
from policyd.json_types import JSON, JSONObject, object_in
from policyd.policy.kinds.served_resource import Served
from policyd.reports.apis import APIS

_SOURCE = "kyverno"  # the prefix of the sources of Kyverno's results
_LEVELS: dict[str, Level] = {
    "fail": "audits", "warn": "audits", "pass": "admits", "skip": "admits",
}  # fmt: skip
# The metadata that a request decides; the API server sets the rest.
_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")


@dataclass(frozen=True, slots=True)
class AuditReports:
    """The reports of reviewed objects, read one by one: Kyverno names a report by the UID of its
    object.
    """

    reader: ApiReader

    def findings(
        self, request: JSONObject, obj: JSON, names: Collection[RuleName]
    ) -> list[RuleFinding]:
        """Return the results of these rules for an object of a request: the last result of each
        policy with that name, except those that may be about an older version. Raises ConfigError.
        """
        named = object_in(obj, "metadata")
        uid, namespace = str(named.get("uid") or ""), str(named.get("namespace") or "")
        if not uid or request.get("subResource"):
            return []
        results: dict[tuple[str, RuleName], tuple[RuleFinding, float]] = {}
        for api in APIS.values():
            report = self._got(api.resource(namespace), namespace, uid)
            for policy, finding, seconds in _findings(report):
                key = (policy, finding.name)
                if finding.name in names and (key not in results or results[key][1] < seconds):
                    results[key] = finding, seconds
        if not results:
            return []
        of = request["resource"]
        resource = Served(of.get("group", ""), of["version"], of["resource"], "", True)
        # A request to create an object with generateName has no name.
        stored = self._got(resource, namespace, str(request.get("name") or named.get("name") or ""))
        metadata = object_in(stored, "metadata")
        if metadata.get("uid") != uid or not equal(_content(stored), _content(object_in(obj))):
            return []
        changed = _changed(metadata)
        older = {finding.name for finding, seconds in results.values() if seconds <= changed}
        return [finding for finding, _ in results.values() if finding.name not in older]

    def _got(self, resource: Served, namespace: str, name: str) -> JSONObject:
        """Return an object; an empty one if there is none."""
        path = f"{list_path(resource, quote(namespace, safe=''))}/{quote(name, safe='')}"
        try:
            return self.reader.get(path)
        except ApiReadError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return {}
            problem = unread(f"get {resource.label}", error)
            hint = f"\n  hint: {problem.hint}" if problem.hint else ""
            raise ConfigError(f"{problem.message}{hint}") from None


def _findings(report: JSONObject) -> Iterator[tuple[str, RuleFinding, float]]:
    for each in report.get("results") or ():
        level, source = _LEVELS.get(each.get("result")), str(each.get("source")).lower()
        if level and source.startswith(_SOURCE):
            # A policy in CEL has no rules; one of its results has the rule "exception".
            rule = own_rule(each.get("rule") or "") if source == _SOURCE else ""
            name = RuleName(each["policy"].rpartition("/")[2], rule)
            finding = RuleFinding(name, level, each.get("message") or "")
            yield each["policy"], finding, object_in(each, "timestamp").get("seconds") or 0


def _content(obj: JSONObject) -> JSONObject:
    metadata = object_in(obj, "metadata")
    kept = {each: metadata[each] for each in _METADATA if metadata.get(each)}
    return {**obj, "metadata": kept, "status": None}


def _changed(metadata: JSONObject) -> float:
    """Return the last known change of an object apart from its status."""
    times = [
        each["time"]
        for each in metadata.get("managedFields") or ()
        if each.get("time") and not each.get("subresource")
    ]
    times.append(metadata.get("creationTimestamp") or "1970-01-01T00:00:00Z")
    return max(datetime.fromisoformat(each).timestamp() for each in times)
