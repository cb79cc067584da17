"""How long texts may get that are made of a request, and Unicode that every encoder takes.

What policies say goes into answers, the log, captures and audit annotations; an error may quote a
key of a megabyte. Nothing here knows what a text is about.
"""

from typing import Any

# Characters of one message, error or reason. Kubernetes takes 5 KiB from a messageExpression.
MAX_TEXT_CHARS = 8 * 2**10
# Characters of all further causes of one answer; the first is always there.
MAX_CAUSES_CHARS = 64 * 2**10
# Characters of one value in a line of the log; a traceback is the longest.
MAX_LOGGED_CHARS = 16 * 2**10


def bounded(text: str, limit: int = MAX_TEXT_CHARS) -> str:
    """The text, or its beginning and how much is left out."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit} more characters)"


def encodable(text: str) -> str:
    """The text with U+FFFD for each half of a surrogate pair, which UTF-8 cannot carry."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def encodable_tree(value: Any) -> Any:
    """JSON whose texts every encoder takes; for the rare one that an encoder refused."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(key): encodable_tree(item) for key, item in value.items()}
    return [encodable_tree(item) for item in value] if isinstance(value, list) else value
