"""``POST /policies/validate``: the webhook that checks edits of ConfigMaps with policies. Reads the
review within the limits of all reviews; checks nothing.
"""

from collections.abc import Container

from policyd.admission.recorder import NullRecorder, Recorder, ShedReason
from policyd.admission.review import AdmissionResponse
from policyd.config import Settings
from policyd.errors import InternalError
from policyd.http.endpoints import AsyncReviewEvaluator, Reviews
from policyd.http.lifecycle import Lifecycle
from policyd.http.limits import InFlight


class EditRecorder(NullRecorder):
    """Reports what was refused before it was checked. Edits are no admission requests: they are
    rare, and take as long as loading policies does.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def shed(self, reason: ShedReason) -> None:
        """Report a request for which there was no room."""
        self._recorder.shed(reason)

    def rejected(self, status: int, peer: str, path: str, reason: str) -> None:
        """Report a request that was answered with an error."""
        self._recorder.rejected(status, peer, path, reason)


class _Waiting:
    """Makes the endpoint wait for the check."""

    with_lookups: Container[str] = ("validate",)


def edit_reviews(
    settings: Settings,
    check: AsyncReviewEvaluator,
    recorder: Recorder,
    in_flight: InFlight,
    lifecycle: Lifecycle,
) -> Reviews:
    """Return the endpoint; ``check`` answers one review."""
    return Reviews(
        _never,
        _Waiting,
        EditRecorder(recorder),
        in_flight,
        lifecycle,
        timeout=settings.timeout,
        max_body_bytes=settings.max_body_bytes,
        body_timeout=settings.body_timeout,
        evaluate_async=check,
    )


def _never(*_: object, **__: object) -> AdmissionResponse:
    raise InternalError("edits of policies are checked asynchronously")
