"""The requests of a run: limits their rate, and retries them if that may help.

After a signal, and when the API server is no longer reachable, every further request fails at once.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from http import HTTPStatus
from time import monotonic, sleep
from typing import TypeVar

from policyd.cluster.bounds import AnswerTooLarge
from policyd.cluster.client import PASSING
from policyd.cluster.commands import Objects
from policyd.cluster.listing import ApiReader, ApiReadError
from policyd.cluster.objects import ObjectError, UnreadableAnswer
from policyd.json_types import JSONObject
from policyd.reports.report_document import MANAGER
from policyd.token_bucket import TokenBucket

Answer = TypeVar("Answer")
METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
# How often to send a request if the API server is too busy, or if it conflicts with another write.
TRIES = 10
# The longest wait for one of these, in seconds; without Retry-After the shorter one.
LONGEST_PAUSE, USUAL_PAUSE = 60.0, 1.0
# Pauses in seconds after responses of an API server in trouble, such as 503: the list of a whole
# kind is worth more patience than one report, which the next run can write.
READ_PAUSES, WRITE_PAUSES = (1.0, 4.0), (0.05, 0.25)
# The first pause after no response at all; each is twice as long as the previous one. After so many
# seconds and so many requests without any response the run ends: restarting an API server takes
# less. One that has never answered gets as many attempts, but no pauses.
UNANSWERED_PAUSE = 1.0
UNANSWERED_SECONDS, LEAST_UNANSWERED = 30.0, 3
# The longest sleep before checking whether the run should stop.
_SLICE = 0.1
# The API server has not started to process the request, or another writer was faster.
_BUSY = frozenset((HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.CONFLICT))


class RequestPace:
    """Allows ``rate`` requests per second, and after a pause as many at once.

    ``stopped``: whether the run should end, which ends every wait early.
    """

    def __init__(
        self,
        rate: float,
        stopped: Callable[[], bool],
        *,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], None] = sleep,
    ) -> None:
        self._bucket = TokenBucket(max(1.0, rate), 1 / rate, clock)
        self._stopped = stopped
        self._clock = clock
        self._sleep = sleep

    def take(self) -> None:
        """Wait until the next request may be sent."""
        if not self._bucket.take():
            self.pause(self._bucket.wait)
            self._bucket.take()

    def pause(self, seconds: float) -> None:
        """Wait, but not longer than the run."""
        end = self._clock() + seconds
        while not self._stopped() and (left := end - self._clock()) > 0:
            self._sleep(min(left, _SLICE))


class ReportRequests:
    """Lists, applies and deletes. ``interrupted``: whether a signal has arrived."""

    def __init__(
        self, objects: Objects, pace: RequestPace, interrupted: Callable[[], bool]
    ) -> None:
        self._objects = objects
        self._pace = pace
        self._interrupted = interrupted
        self._reached = False
        self._unanswered = 0
        self._silent_since = 0.0

    @property
    def interrupted(self) -> bool:
        """Whether a signal ends the run."""
        return self._interrupted()

    @property
    def ended(self) -> str:
        """Why no further requests are sent; "" while they are."""
        if self._interrupted():
            return "the run was interrupted"
        silent = monotonic() - self._silent_since
        long = not self._reached or silent >= UNANSWERED_SECONDS
        if self._unanswered >= LEAST_UNANSWERED and long:
            return "the API server does not answer any more"
        return ""

    def get(self, path: str, query: Mapping[str, str] | None = None) -> JSONObject:
        """The JSON object at a path; raises ApiReadError if there is none."""
        return self._read(lambda: self._objects.get(path, query))

    @property
    def metadata(self) -> ApiReader:
        """Return a reader that lists only the metadata of objects."""
        return _Metadata(self)

    def apply(self, path: str, document: JSONObject) -> None:
        """Server-side apply of a whole report; raises ObjectError."""
        self._sent(lambda: self._objects.apply(path, document, MANAGER, force=True), WRITE_PAUSES)

    def delete(self, path: str, uid: str, version: str) -> None:
        """Delete the report with this UID and resourceVersion; raises ObjectError."""
        self._sent(
            lambda: self._objects.delete(path, uid=uid, resource_version=version),
            WRITE_PAUSES,
            {HTTPStatus.CONFLICT},
        )

    def _read(self, send: Callable[[], JSONObject]) -> JSONObject:
        try:
            return self._sent(send, READ_PAUSES)
        except AnswerTooLarge as error:
            raise ApiReadError(str(error), too_large=True) from None
        except ObjectError as error:
            raise ApiReadError(str(error), error.status, error.body) from None

    def _sent(
        self,
        send: Callable[[], Answer],
        pauses: Sequence[float],
        final: Collection[int] = (),
    ) -> Answer:
        """Send a request when its turn has come; retry after temporary errors, except those with a
        ``final`` status.
        """
        following, tries = iter(pauses), 0
        while True:
            self._pace.take()
            if self.ended:
                raise ObjectError(self.ended)
            tries += 1
            try:
                answer = send()
            except ObjectError as error:
                self._note_silence(error)
                pause = None if error.status in final else self._pause(error, following)
                if pause is None or tries == TRIES:
                    raise
                self._pace.pause(pause)
            else:
                self._answered()
                return answer

    def _answered(self) -> None:
        self._reached, self._unanswered = True, 0

    def _note_silence(self, error: ObjectError) -> None:
        if error.status or isinstance(error, UnreadableAnswer):
            self._answered()
            return
        if not self._unanswered:
            self._silent_since = monotonic()
        self._unanswered += 1

    def _pause(self, error: ObjectError, pauses: Iterator[float]) -> float | None:
        """Return the seconds until a retry; None for no retry."""
        if self._unanswered:
            pause = min(UNANSWERED_PAUSE * 2 ** (self._unanswered - 1), LONGEST_PAUSE)
            return None if self.ended else pause
        if error.status in _BUSY:
            return min(error.retry_after or USUAL_PAUSE, LONGEST_PAUSE)
        if error.status in PASSING:
            pause = next(pauses, None)
            return None if pause is None else min(max(pause, error.retry_after), LONGEST_PAUSE)
        return None


class _Metadata:
    """An ApiReader of metadata."""

    def __init__(self, requests: ReportRequests) -> None:
        self._requests = requests

    def get(self, path: str, query: Mapping[str, str] | None = None) -> JSONObject:
        """A list with only the metadata of its objects, if the API server supports that."""
        requests = self._requests
        return requests._read(lambda: requests._objects.get(path, query, METADATA))
