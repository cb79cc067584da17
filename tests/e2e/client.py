"""A client of the API server that shows what a person at a keyboard would see. No tests here."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.client import HTTPResponse, HTTPSConnection
from time import monotonic
from typing import Any
from urllib.parse import urlencode, urlsplit

from policyd.policy.kinds.plural import plural as plural_of
from tests.e2e.cluster import Cluster
from tests.server.process import until

WARNING = re.compile(r'299 - "((?:[^"\\]|\\.)*)"')
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
PATIENCE = 240.0  # seconds for one answer
# API servers close a connection that is idle for 90 s; on a busy machine a test may do that.
REUSED_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: ``body`` is the object, or the Status of an error."""

    status: int
    body: Any
    warnings: tuple[str, ...]
    audit_id: str

    @property
    def message(self) -> str:
        """The message of a Status."""
        return str(self.body["message"])

    @property
    def causes(self) -> list[str]:
        """The messages of a Status' causes."""
        return [each["message"] for each in self.body.get("details", {}).get("causes", [])]


class Client:
    """An administrator on one keep-alive connection, for one thread; with ``headers`` that name
    somebody else (``Impersonate-User``), that one.
    """

    def __init__(self, cluster: Cluster, headers: Iterable[tuple[str, str]] = ()) -> None:
        self._headers = tuple(headers)
        at = urlsplit(cluster.server)
        context = cluster.client_context()
        self._connection = HTTPSConnection(at.netloc, context=context, timeout=PATIENCE)
        self._used = monotonic()

    def close(self) -> None:
        """Hang up; the next request connects again."""
        self._connection.close()

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        content: str = "application/json",
        **query: str,
    ) -> Answer:
        """One request; an error status is an answer, not an exception. Bytes are sent as they are."""
        sent = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        answer, text = self._exchange(method, path, sent, content, query)
        warnings = answer.headers.get_all("Warning", [])
        return Answer(
            answer.status,
            json.loads(text) if text.startswith(b"{") else {"message": text.decode()},
            tuple(_unquote(match) for each in warnings for match in WARNING.findall(each)),
            answer.headers.get("Audit-Id", ""),
        )

    def post(self, path: str, text: bytes, **query: str) -> tuple[int, str]:
        """POST of JSON that Python may not be able to write or read: the status and the answer's text."""
        answer, text = self._exchange("POST", path, text, "application/json", query)
        return answer.status, text.decode()

    def _exchange(
        self, method: str, path: str, sent: bytes, content: str, query: Mapping[str, str]
    ) -> tuple[HTTPResponse, bytes]:
        if query:
            path += ("&" if "?" in path else "?") + urlencode(query)
        if monotonic() - self._used > REUSED_SECONDS:
            self._connection.close()
        self._connection.putrequest(method, path)
        for name, value in (("Content-Type", content), *self._headers):
            self._connection.putheader(name, value)
        self._connection.putheader("Content-Length", str(len(sent)))
        self._connection.endheaders(sent)
        answer = self._connection.getresponse()
        text = answer.read()
        self._used = monotonic()
        return answer, text

    def create(self, thing: Mapping[str, Any], **query: str) -> Answer:
        """POST of an object."""
        return self.send("POST", collection(thing), thing, **query)

    def made(self, thing: Mapping[str, Any], **query: str) -> Any:
        """POST of an object that nobody may refuse; the object as it was stored."""
        answer = self.create(thing, **query)
        assert answer.status == 201, answer.message
        return answer.body

    def get(self, thing: Mapping[str, Any]) -> Answer:
        """The object as it is stored."""
        return self.send("GET", path_of(thing))

    def replace(self, thing: Mapping[str, Any], subresource: str = "", **query: str) -> Answer:
        """PUT of an object, or of a subresource of it."""
        return self.send("PUT", path_of(thing) + subresource, thing, **query)

    def patch(
        self, thing: Mapping[str, Any], change: object, content: str = MERGE, **query: str
    ) -> Answer:
        """PATCH of the object that ``thing`` names."""
        return self.send("PATCH", path_of(thing), change, content, **query)

    def delete(self, thing: Mapping[str, Any], **query: str) -> Answer:
        """DELETE at once."""
        return self.send("DELETE", path_of(thing), None, **{"gracePeriodSeconds": "0", **query})

    def deleted(self, thing: Mapping[str, Any]) -> None:
        """DELETE at the end of a test, which may have deleted the object itself."""
        answer = self.delete(thing)
        assert answer.status in (200, 202, 404), answer.message


def collection(thing: Mapping[str, Any]) -> str:
    """The path that objects of its kind are created at; a namespace in it means a namespaced kind."""
    version = thing["apiVersion"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = thing["metadata"].get("namespace")
    plural = plural_of(thing["kind"])
    return f"{base}/namespaces/{namespace}/{plural}" if namespace else f"{base}/{plural}"


def path_of(thing: Mapping[str, Any]) -> str:
    """The path of one object."""
    return f"{collection(thing)}/{thing['metadata']['name']}"


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def audit(api: Cluster, audit_id: str) -> dict[str, str]:
    """The annotations of one request in the API server's audit log."""
    log = api.folder / "audit.log"

    def found() -> list[Any]:
        lines = [line for line in log.read_text().splitlines() if audit_id in line]
        return [json.loads(line) for line in lines]

    annotations: dict[str, str] = until(found, "the audit event")[0]["annotations"]
    return annotations
