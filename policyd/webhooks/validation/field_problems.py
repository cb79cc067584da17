"""Problems of fields, with the messages of apimachinery's ``field.Error``. Checks nothing."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from policyd._core.go.printing import JSON_ESCAPES
from policyd._core.go.strings import quote
from policyd.json_types import JSON


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """One problem. ``field`` is a path such as ``webhooks[0].name``, or "" for an unreadable
    configuration; ``reason`` is a cause's reason in a Status (FieldValueInvalid).
    """

    field: str
    reason: str
    text: str

    def __str__(self) -> str:
        return f"{self.field}: {self.text}" if self.field else self.text


def required(field: str, detail: str = "") -> FieldProblem:
    """Return the problem of a missing value."""
    return FieldProblem(field, "FieldValueRequired", _detailed("Required value", detail))


def forbidden(field: str, detail: str) -> FieldProblem:
    """Return the problem of a value that must not be set."""
    return FieldProblem(field, "FieldValueForbidden", _detailed("Forbidden", detail))


def internal(field: str, detail: str) -> FieldProblem:
    """Return the problem of a value that the API server fails to check."""
    return FieldProblem(field, "InternalError", _detailed("Internal error", detail))


def invalid(field: str, value: JSON, details: Iterable[str]) -> Iterator[FieldProblem]:
    """Yield a problem for each reason why a value is invalid."""
    for detail in details:
        text = _detailed(f"Invalid value: {_shown(value)}", detail)
        yield FieldProblem(field, "FieldValueInvalid", text)


def duplicate(field: str, value: JSON) -> FieldProblem:
    """Return the problem of a repeated value."""
    return FieldProblem(field, "FieldValueDuplicate", f"Duplicate value: {_shown(value)}")


def too_many(field: str, count: int, most: int) -> FieldProblem:
    """Return the problem of a list with too many items."""
    text = f"Too many: {count}: must have at most {most} items"
    return FieldProblem(field, "FieldValueTooMany", text)


def too_long(field: str, most: int) -> FieldProblem:
    """Return the problem of a value with too many bytes."""
    text = f"Too long: may not be more than {most} bytes"
    return FieldProblem(field, "FieldValueTooLong", text)


def unsupported(field: str, value: str, values: Sequence[str]) -> Iterator[FieldProblem]:
    """Yield the problem of an unsupported value."""
    if value not in values:
        listed = ", ".join(map(quote, values))
        text = f"Unsupported value: {as_json(value)}: supported values: {listed}"
        yield FieldProblem(field, "FieldValueNotSupported", text)


def as_json(value: JSON) -> str:
    """Format a value like Go's json.Marshal."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.translate(JSON_ESCAPES)


def _shown(value: JSON) -> str:
    return quote(value) if isinstance(value, str) else as_json(value)


def _detailed(text: str, detail: str) -> str:
    return f"{text}: {detail}" if detail else text
