"""A fake API server that also serves reports: what is applied and deleted there. No tests here."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson
from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.ownership import MANAGED_BY
from policyd.reports.apis import OPENREPORTS, ReportApi
from policyd.reports.report_document import HASH, RESOURCE
from tests.cluster.contents import READ, Contents
from tests.cluster.fake import ApiServer, Call, Reply, refusal

OWN = {MANAGED_BY: "policyd"}
PODS = "/api/v1/pods"
REPORTS = "/apis/openreports.io/v1alpha1"


@dataclass
class Reporting(Contents):
    """Contents with reports of these APIs, by the paths of reports. ``calls_for`` filters what came
    in. ``page`` limits lists of reports, too.
    """

    apis: list[ReportApi] = field(default_factory=lambda: [OPENREPORTS])
    reports: dict[str, JSONObject] = field(default_factory=dict)
    writes: list[tuple[str, str]] = field(default_factory=list)
    _uids: Iterator[int] = field(default_factory=count)

    def answer(self, call: Call) -> Reply:
        path = urlsplit(call.path).path
        special = self.special(call)
        if special is not None:
            return special
        if path == "/version":
            return Reply({"gitVersion": "v1.37.1"})
        for api in self.apis:
            if path == f"/apis/{api.api_version}":
                return Reply({"kind": "APIResourceList", "resources": list(_resources(api))})
            if path.startswith(f"/apis/{api.api_version}/"):
                return self._report(call, path)
        if path.startswith(("/apis/openreports.io", "/apis/wgpolicyk8s.io")):
            return refusal(404, "the server could not find the requested resource")
        return super().answer(call)

    def stored(self, namespace: str, name: str, content: str, resource: str = "pods") -> JSONObject:
        """Store a report of an earlier run."""
        within = f"namespaces/{namespace}/reports" if namespace else "clusterreports"
        made: JSONObject = {
            "metadata": {
                "name": name,
                **({"namespace": namespace} if namespace else {}),
                "uid": f"report-{next(self._uids)}",
                "resourceVersion": "1",
                "labels": {**OWN, RESOURCE: resource},
                "annotations": {HASH: content},
            }
        }
        self.reports[f"/apis/openreports.io/v1alpha1/{within}/{name}"] = made
        return made

    @property
    def names(self) -> list[str]:
        """The names of the reports that are there, which are UIDs of objects."""
        return sorted(path.rpartition("/")[2] for path in self.reports)

    def _report(self, call: Call, path: str) -> Reply:
        if call.method == "PATCH":
            uid = self.reports.get(path, {}).get("metadata", {}).get("uid")
            stored = {**call.body, "metadata": {**call.body["metadata"]}}
            stored["metadata"]["uid"] = uid or f"report-{next(self._uids)}"
            stored["metadata"]["resourceVersion"] = str(2 + next(self._uids))
            self.reports[path] = stored
            self.writes.append(("apply", path.rpartition("/")[2]))
            return Reply(stored, 200 if uid else 201)
        if call.method == "DELETE":
            found = self.reports.get(path)
            if found is None:
                return refusal(404, "not found")
            conditions = call.body["preconditions"]
            assert conditions["uid"]
            if any(found["metadata"][name] != value for name, value in conditions.items()):
                return refusal(409, "the precondition does not match")
            del self.reports[path]
            self.writes.append(("delete", path.rpartition("/")[2]))
            return Reply({"kind": "Status", "status": "Success"})
        return self._reports(call, path)

    def _reports(self, call: Call, path: str) -> Reply:
        query = dict(parse_qsl(urlsplit(call.path).query))
        key, _, value = query["labelSelector"].partition("=")
        prefix, _, resource = path.rpartition("/")
        found = {
            at: each
            for at, each in sorted(self.reports.items())
            if at.startswith(f"{prefix}/")
            and at.rpartition("/")[0].endswith(f"/{resource}")
            and each["metadata"].get("labels", {}).get(key) == value
            and at > query.get("continue", "")
        }
        if "PartialObjectMetadataList" in call.headers["Accept"]:
            found = {at: {"metadata": each["metadata"]} for at, each in found.items()}
        part = list(found)[: min(int(query["limit"]), self.page)]
        metadata: JSONObject = {"resourceVersion": "7"}
        if len(part) < len(found):
            metadata["continue"] = part[-1]
        items = [found[at] for at in part]
        return Reply({"kind": "List", "metadata": metadata, "items": items})


def _resources(api: ReportApi) -> Iterator[JSONObject]:
    for each in (api.namespaced, api.cluster):
        yield {
            "name": each.resource,
            "kind": each.kind,
            "namespaced": each.namespaced,
            "verbs": READ,
        }


@dataclass
class Reporter:
    """Runs ``policyd report`` against a server."""

    server: ApiServer
    folder: Path

    def __call__(self, *documents: JSONObject, flags: tuple[str, ...] = ()) -> Result:
        """Report with some policies; no waiting for turns unless the flags say so."""
        done = self._run(documents, flags)
        ended: Any = done.exception
        assert ended is None or isinstance(ended, SystemExit), ended
        return done

    def error(self, *documents: JSONObject, flags: tuple[str, ...] = ()) -> str:
        """The error of the settings or of the cluster with which a run ends."""
        done = self._run(documents, flags)
        assert isinstance(done.exception, ConfigError), done.output
        return str(done.exception)

    def _run(self, documents: tuple[JSONObject, ...], flags: tuple[str, ...]) -> Result:
        file = self.folder / "policies.yaml"
        file.write_bytes(b"\n---\n".join(map(orjson.dumps, documents)))
        arguments = ["report", "-p", str(file), "--qps", "100000", *flags]
        return CliRunner().invoke(policyd, arguments)


Answering = Callable[[Call], Reply | None]


def once(matches: Callable[[Call], bool], reply: Reply) -> Answering:
    """Answer the first call that matches; the others are as ever."""
    left = [reply]

    def answer(call: Call) -> Reply | None:
        return left.pop() if left and matches(call) else None

    return answer


def page_expires(contents: Reporting, path: str, at: str, later: str) -> Answering:
    """410 for the page of a list that begins at ``at``; it goes on at ``later``, "" for not."""
    gone = refusal(410, "The provided continue parameter is too old")
    body = {**gone.body, **({"metadata": {"continue": later}} if later else {})}

    def answer(call: Call) -> Reply | None:
        matches = call.path.startswith(f"{path}?") and call.path.endswith(f"continue={at}")
        return Reply(body, 410) if matches else None

    return answer
