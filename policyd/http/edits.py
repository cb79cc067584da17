"""``POST /policies/validate``: the webhook that checks edits of ConfigMaps with policies. Reads the
review within the limits of all reviews; checks nothing.
"""

from collections.abc import Callable

from policyd.admission.recorder import Recorder, ShedReason
from policyd.config import Settings
from policyd.http.endpoints import Reviews
from policyd.http.evaluators import ReviewEvaluator
from policyd.http.lifecycle import Lifecycle
from policyd.http.limits import InFlight


class EditRecorder(Recorder):
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


def edit_reviews(
    settings: Settings,
    check: ReviewEvaluator,
    recorder: Recorder,
    in_flight: InFlight,
    lifecycle: Lifecycle,
    *,
    make: Callable[..., Reviews],
) -> Reviews:
    """Return the endpoint, of the class that ``make`` is of; ``check`` answers one review."""
    return make(
        check,
        EditRecorder(recorder),
        in_flight,
        lifecycle,
        timeout=settings.timeout,
        max_body_bytes=settings.max_body_bytes,
        body_timeout=settings.body_timeout,
    )
