"""Limits the length of strings from requests, replaces characters that encoders refuse, and formats
the text of a cause or finding.

Messages of policies go into responses, the log, captures and audit annotations, and an error may
quote a key of a megabyte. Nothing here depends on the meaning of a string.
"""

from collections.abc import Mapping, Sequence
from typing import Any

# Characters of one message, error or reason. Kubernetes limits a messageExpression to 5 KiB.
MAX_MESSAGE_CHARS = 8 * 2**10
# Characters of a denial's message, which combines all denials; the first one is always included.
MAX_STATUS_CHARS = 2 * 2**10
# Characters of all further causes in one response; the first cause is always included.
MAX_CAUSES_CHARS = 64 * 2**10
# Characters of one value in a log line; tracebacks are the longest.
MAX_LOGGED_CHARS = 16 * 2**10


def bounded(string: str, limit: int = MAX_MESSAGE_CHARS) -> str:
    """The string, or its beginning and the number of characters left out."""
    if len(string) <= limit:
        return string
    return f"{string[:limit]}… ({len(string) - limit} more characters)"


def few(names: Sequence[str], most: int) -> str:
    """The names, or the first of them and the number of others."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def cause_text(cause: Mapping[str, Any]) -> str:
    """A cause of a Status as kubectl prints it: the field, if it is known, before the message."""
    return ": ".join(cause[key] for key in ("field", "message") if cause.get(key))


def with_field(field: str, message: str) -> str:
    """Return the message with its field in front, unless the message already names the field."""
    named = not field or message.startswith(field) or f"({field}" in message
    return message if named else f"{field}: {message}"


def encodable(string: str) -> str:
    """The string with U+FFFD in place of unpaired surrogates, which UTF-8 cannot encode."""
    return string.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def encodable_tree(value: Any) -> Any:
    """A JSON value with strings that every encoder accepts; for values that an encoder refused."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(key): encodable_tree(item) for key, item in value.items()}
    return [encodable_tree(item) for item in value] if isinstance(value, list) else value
