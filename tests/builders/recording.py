"""Errors of recording that are counted and not logged. No tests here."""

from policyd.observability.recording import RecordingErrors


def unlogged() -> RecordingErrors:
    """Return counts of no error."""
    return RecordingErrors(lambda message, trace: None)
