"""What is recorded of ``POST /policies/validate``, the webhook that checks edits of ConfigMaps."""

from policyd.admission.recorder import Recorder, ShedReason


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
