"""A report as a document: its fields, its bounds and its hash. Sends nothing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

import orjson

from policyd.json_types import JSONObject
from policyd.ownership import MANAGED_BY
from policyd.reports.apis import ReportApi
from policyd.reports.results import ReportResult
from policyd.reports.summary import RESULTS

MANAGER = "policyd-report"
SOURCE = "policyd"
# The labels of every report: who wrote it, and the resource of its object, such as
# deployments.apps.
LABEL_SELECTOR = f"{MANAGED_BY}={SOURCE}"
RESOURCE = "policyd.dev/resource"
HASH = "policyd.dev/report-hash"
LEFT_OUT = "policyd.dev/results-left-out"
# One report stays well below the 1.5 MiB that etcd accepts: further results are left out.
MAX_RESULTS = 200
MAX_RESULT_BYTES = 256 * 1024
_MAX_LABEL = 63
_HASH_CHARS = 32
_TAIL_CHARS = 8


@dataclass(frozen=True, slots=True)
class ReportedObject:
    """The object of a report. ``resource`` is the label value of its resource."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource: str


@dataclass(frozen=True, slots=True)
class ReportDocument:
    """A report without the times of its results, which are not part of its ``content_hash``."""

    api: ReportApi
    object: ReportedObject
    content: JSONObject
    content_hash: str
    counts: Mapping[str, int]

    @property
    def name(self) -> str:
        """Return the name of the report: the UID of the object."""
        return self.object.uid

    def written_at(self, now: datetime) -> JSONObject:
        """Return the document to apply; all results get this time."""
        time = {"seconds": int(now.timestamp()), "nanos": 0}
        metadata: JSONObject = self.content["metadata"]
        annotations = {**metadata.get("annotations", {}), HASH: self.content_hash}
        return {
            **self.content,
            "metadata": {**metadata, "annotations": annotations},
            "results": [{**each, "timestamp": time} for each in self.content["results"]],
        }


def report_of(
    api: ReportApi, reported: ReportedObject, results: Sequence[ReportResult]
) -> ReportDocument:
    """Return the report of an object; ``results`` are sorted, and not empty."""
    listed = _bounded([_result(each) for each in results])
    counted = Counter(each.result for each in results)
    counts = {str(each): counted[each] for each in RESULTS}
    served = api.resource(reported.namespace)
    reference = {
        "apiVersion": reported.api_version,
        "kind": reported.kind,
        "name": reported.name,
        "uid": reported.uid,
    }
    within = {"namespace": reported.namespace} if reported.namespace else {}
    left_out = len(results) - len(listed)
    content: JSONObject = {
        "apiVersion": served.api_version,
        "kind": served.kind,
        "metadata": {
            "name": reported.uid,
            **within,
            "labels": {MANAGED_BY: SOURCE, RESOURCE: reported.resource},
            "ownerReferences": [reference],
            **({"annotations": {LEFT_OUT: str(left_out)}} if left_out else {}),
        },
        "scope": {**reference, **within},
        "summary": counts,
        "results": listed,
    }
    return ReportDocument(api, reported, content, _hash(content), counts)


def resource_label(group: str, resource: str) -> str:
    """Return the value of the label RESOURCE; a name that is too long is cut and gets a hash."""
    name = f"{resource}.{group}" if group else resource
    if len(name) <= _MAX_LABEL:
        return name
    digest = sha256(name.encode()).hexdigest()[:_TAIL_CHARS]
    return f"{name[: _MAX_LABEL - _TAIL_CHARS - 1]}-{digest}"


def _result(result: ReportResult) -> JSONObject:
    fields: dict[str, Any] = {
        "source": SOURCE,
        "policy": result.policy[0],
        "rule": result.rule,
        "result": result.result,
        "message": result.message,
        "category": result.category,
        "severity": result.severity,
        "properties": dict(result.properties),
    }
    return {key: value for key, value in fields.items() if value}


def _bounded(results: list[JSONObject]) -> list[JSONObject]:
    """Return the first results, up to the limits of a report."""
    size = 0
    for number, each in enumerate(results[:MAX_RESULTS]):
        size += len(orjson.dumps(each))
        if size > MAX_RESULT_BYTES:
            return results[:number]
    return results[:MAX_RESULTS]


def _hash(content: JSONObject) -> str:
    return sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()[:_HASH_CHARS]
