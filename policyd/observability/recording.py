"""Keeps failures of recording away from responses: catches and counts all exceptions.

The counts are the metric ``policyd_recording_errors_total``; each part logs one line per minute.
"""

from collections.abc import Callable
from functools import wraps
from traceback import format_tb
from typing import Any, TypeVar, cast, get_args

from policyd.admission.recorder import RecordingPart
from policyd.observability.throttle import Throttle

PARTS: tuple[RecordingPart, ...] = get_args(RecordingPart)
LINES_SECONDS = 60.0


class RecordingErrors:
    """Counts failures to record, by part. ``report`` logs a message with a traceback."""

    def __init__(self, report: Callable[[str, str], None]) -> None:
        self.counts: dict[str, int] = dict.fromkeys(PARTS, 0)
        self._report = report
        self._lines = Throttle(LINES_SECONDS)
        self._noting = False

    def note(self, part: RecordingPart, error: Exception) -> None:
        """Count an error, and log it if the log works, without its message, which may quote an
        object.
        """
        self.counts[part] += 1
        if self._noting:  # the log failed to report what failed
            return
        self._noting = True
        try:
            times = self._lines.count(part)
            if times:
                message = f"{part}: {type(error).__qualname__} in {times} calls"
                self._report(message, "".join(format_tb(error.__traceback__)))
        except Exception:
            self.counts["log"] += 1
        finally:
            self._noting = False


_Method = TypeVar("_Method", bound=Callable[..., object])


def unfailing(part: RecordingPart) -> Callable[[_Method], _Method]:
    """Make a method return None instead of raising, and count the error in ``self.errors``. For
    methods that may return None.
    """

    def made(method: _Method) -> _Method:
        @wraps(method)
        def unfailing_method(self: Any, *args: object, **named: object) -> object:
            try:
                return method(self, *args, **named)
            except Exception as error:
                self.errors.note(part, error)
                return None

        return cast(_Method, unfailing_method)

    return made
