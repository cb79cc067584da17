"""The requests of a run: paced, and sent again when the API server says so.

Ends early after a signal, and when the API server cannot be reached any more: every further request
then fails at once.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TypeVar

from policyd.cluster.commands import Objects
from policyd.cluster.listing import ApiReader, ApiReadError
from policyd.cluster.objects import ObjectError
from policyd.json_types import JSONObject
from policyd.reports.documents import MANAGER
from policyd.reports.pacing import RequestPace

Answer = TypeVar("Answer")
METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
# How often a request is sent that the API server is too busy for, or that conflicts with another.
TRIES = 10
# The longest wait for one of these, in seconds; without Retry-After the shorter one.
LONGEST_PAUSE, USUAL_PAUSE = 60.0, 1.0
# After so many requests in a row without any response the run ends.
MOST_UNANSWERED = 3
_AGAIN = frozenset((HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.CONFLICT))


class ReportRequests:
    """Lists, applies and deletes. ``interrupted``: whether a signal has arrived."""

    def __init__(
        self, objects: Objects, pace: RequestPace, interrupted: Callable[[], bool]
    ) -> None:
        self._objects = objects
        self._pace = pace
        self._interrupted = interrupted
        self._unanswered = 0

    @property
    def interrupted(self) -> bool:
        """Whether a signal ends the run."""
        return self._interrupted()

    @property
    def ended(self) -> str:
        """Why no further request is sent; "" as long as they are."""
        if self._interrupted():
            return "the run was interrupted"
        if self._unanswered >= MOST_UNANSWERED:
            return "the API server does not answer any more"
        return ""

    def get(self, path: str, query: Mapping[str, str] | None = None) -> JSONObject:
        """The JSON object at a path; raises ApiReadError if there is none."""
        return self._read(lambda: self._objects.get(path, query))

    @property
    def metadata(self) -> ApiReader:
        """Lists of objects of which only the metadata is sent."""
        return _Metadata(self)

    def get_metadata(self, path: str, query: Mapping[str, str] | None = None) -> JSONObject:
        """A list with the metadata of its objects, nothing else if the API server can do that."""
        return self._read(lambda: self._objects.get(path, query, METADATA))

    def apply(self, path: str, document: JSONObject) -> None:
        """Server-side apply of a whole report; raises ObjectError."""
        self._sent(lambda: self._objects.apply(path, document, MANAGER, force=True), _AGAIN)

    def delete(self, path: str, uid: str) -> None:
        """Delete the report with this UID; raises ObjectError."""
        self._sent(lambda: self._objects.delete(path, uid=uid), {HTTPStatus.TOO_MANY_REQUESTS})

    def _read(self, send: Callable[[], JSONObject]) -> JSONObject:
        try:
            return self._sent(send, {HTTPStatus.TOO_MANY_REQUESTS})
        except ObjectError as error:
            raise ApiReadError(str(error), error.status, error.body) from None

    def _sent(self, send: Callable[[], Answer], again: frozenset[int] | set[HTTPStatus]) -> Answer:
        """Send a request when its turn has come, and again while its status is in ``again``."""
        tries = 0
        while True:
            self._pace.take()
            if self.ended:
                raise ObjectError(self.ended)
            tries += 1
            try:
                answer = send()
            except ObjectError as error:
                self._unanswered = 0 if error.status else self._unanswered + 1
                if error.status not in again or tries == TRIES:
                    raise
                self._pace.pause(min(error.retry_after or USUAL_PAUSE, LONGEST_PAUSE))
            else:
                self._unanswered = 0
                return answer


class _Metadata:
    """An ApiReader of metadata."""

    def __init__(self, requests: ReportRequests) -> None:
        self._requests = requests

    def get(self, path: str, query: Mapping[str, str] | None = None) -> JSONObject:
        """A list with the metadata of its objects."""
        return self._requests.get_metadata(path, query)
