"""The log: one line for each denial, warning, error, conflict, exemption and reload, as JSON or
text. docs/reference/log-events.md lists the events and fields.

Lines never contain objects of requests, nor policy messages about confidential ones. ``Bridge``
writes records of Python's ``logging`` (asyncio, Hypercorn, defects of the engine) to the same log.
"""

import asyncio
import logging
import os
import ssl
import time
from collections.abc import Callable, Mapping
from traceback import format_exception
from typing import Any, Literal, Protocol

import orjson

from policyd.admission.recorder import PolicyEvent
from policyd.admission.review import AdmissionRequest
from policyd.bounded_text import MAX_LOGGED_CHARS, bounded, encodable
from policyd.observability.about import Value, fields_of, message_of_event, named, timestamp
from policyd.observability.log_writer import LogWriter, standard_error
from policyd.observability.recording import RecordingErrors, unfailing

LogLevel = Literal["info", "warning", "error"]


class Stream(Protocol):
    """Accepts lines and never blocks: a ``LogWriter``."""

    def write(self, line: bytes, /) -> object: ...
    def flush(self) -> object: ...


def log_form(given: str) -> str:
    """Return the form of the log; the default is text at a terminal, else JSON."""
    return given or ("text" if os.isatty(2) else "json")


def background_log(form: str) -> "tuple[Log, LogWriter]":
    """A log to standard error, and the writer that serves it. ``form``: empty for the default."""
    writer = LogWriter(standard_error())
    log = Log(writer, log_form(form))

    def line(count: int, why: str) -> bytes:
        message = f"{count} log lines are missing here: {why}"
        return log.line("warning", "log", message, {"lost": count})

    writer.report_losses(line)
    return log, writer


class Log:
    """Writes lines to a stream. No method raises: ``errors`` counts failures.

    Lines about policies stay in the buffer until ``flush``, so that many denials of one request
    need only one system call.
    """

    def __init__(
        self,
        stream: Stream,
        form: str = "json",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._stream = stream
        self._line = _text_line if form == "text" else _json_line
        self._clock = clock
        self._waiting = False
        self.errors = RecordingErrors(self._report)
        # Fields of every line: with several processes, the number of this one.
        self.always: dict[str, Value] = {}

    @unfailing("log")
    def write(self, level: LogLevel, event: str, message: str, **fields: Value) -> None:
        """Write one line at once; fields that are empty or None are left out."""
        self._put(level, event, message, fields)
        self._stream.flush()

    @unfailing("log")
    def flush(self) -> None:
        """Write the lines that ``about`` has buffered."""
        if self._waiting:
            self._waiting = False
            self._stream.flush()

    def line(self, level: LogLevel, event: str, message: str, fields: Mapping[str, Value]) -> bytes:
        """The bytes of a line, for fields with any content."""
        shown: dict[str, Value] = {
            key: _bounded(value) for key, value in fields.items() if value not in (None, "", [])
        }
        shown |= self.always
        message = bounded(message, MAX_LOGGED_CHARS)
        head = {"time": timestamp(self._clock()), "level": level, "event": event}
        try:
            return self._line(head, message, shown) + b"\n"
        except (TypeError, ValueError):  # half a surrogate, an integer beyond 64 bits
            clean = {key: _clean(value) for key, value in shown.items()}
            return self._line(head, encodable(message), clean) + b"\n"

    def _put(self, level: LogLevel, event: str, message: str, fields: Mapping[str, Value]) -> None:
        self._stream.write(self.line(level, event, message, fields))

    @unfailing("log")
    def about(self, request: AdmissionRequest, event: PolicyEvent) -> None:
        """Log a policy's effect on a request: a denial, a warning, an error, a conflict, an
        exemption, or the effect that its rollout prevented.
        """
        message = message_of_event(request, event)
        fields = fields_of(named(request), event)
        self._put(_LEVELS.get(event.what, "warning"), event.what, message, fields)
        self._waiting = True

    def _report(self, message: str, trace: str) -> None:
        """Log a failure to record something; may fail."""
        self._put("error", "recording", message, {"traceback": trace})
        self._stream.flush()


_LEVELS: dict[str, LogLevel] = {
    "denial": "info",
    "warning": "info",
    "exemption": "info",
    "would_deny": "info",
    "would_mutate": "info",
    "error": "error",
}


class Bridge(logging.Handler):
    """Writes records of Python's logging to a Log."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log
        self.errors = log.errors

    @unfailing("log")
    def emit(self, record: logging.LogRecord) -> None:
        """Write a record as one line; a traceback becomes a field."""
        trace = "".join(format_exception(*record.exc_info)) if record.exc_info else None
        level: LogLevel = "error" if record.levelno >= logging.ERROR else "warning"
        self._log.write(level, "log", record.getMessage(), logger=record.name, traceback=trace)


def _bounded(value: Value) -> Value:
    return bounded(value, MAX_LOGGED_CHARS) if isinstance(value, str) else value


def _clean(value: Value) -> Value:
    """The value in a form that every encoder accepts."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, list):
        return [encodable(str(each)) for each in value]
    return encodable(str(value))


def _json_line(head: dict[str, str], message: str, fields: dict[str, Value]) -> bytes:
    return orjson.dumps({**head, **fields, "message": message}, default=str)


def _text_line(head: dict[str, str], message: str, fields: dict[str, Value]) -> bytes:
    """``TIME LEVEL EVENT MESSAGE key=value ...``; no value can start a new line."""
    shown = " ".join(f"{key}={_plain(value)}" for key, value in fields.items())
    start = f"{head['time']} {head['level'].upper():7} {head['event']}"
    return f"{start} {_plain(message)} {shown}".rstrip().encode()


def _plain(value: Value) -> str:
    """The value without quotes if it is printable and contains no quotes, else as JSON."""
    shown = value if isinstance(value, str) else orjson.dumps(value).decode()
    return shown if shown.isprintable() and '"' not in shown else orjson.dumps(shown).decode()


def unhandled(log: Log) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """Return a loop's exception handler, which does not log errors of disconnected clients."""

    def handle(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, ssl.SSLError | OSError | TimeoutError):
            log.write("error", "defect", context.get("message", ""), exception=repr(error))

    return handle
