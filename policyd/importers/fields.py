"""Read fields of source documents whose form nobody has checked yet. Knows no kind."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from policyd.importers.model import Refused
from policyd.json_types import JSON, JSONObject

_Item = TypeVar("_Item")


def objects(value: JSON, path: str) -> list[JSONObject]:
    """Return the items of a list of objects, none for null; raises Refused for anything else."""
    return _list(value, dict, "a list of objects", path)


def items(
    value: JSONObject, field: str, path: str, known: Iterable[str]
) -> Iterator[tuple[JSONObject, str]]:
    """Yield the objects of the list in a field of ``value``, which is at ``path``, each with its
    path. Raises Refused for anything else, and for fields of theirs that are not ``known``.
    """
    below = _below(path, field)
    for index, each in enumerate(objects(value.get(field), below)):
        here = f"{below}[{index}]"
        require_fields(each, known, here)
        yield each, here


def object_at(
    value: JSONObject, field: str, path: str = "", known: Iterable[str] | None = None
) -> JSONObject:
    """Return the object in a field of ``value``, which is at ``path``; empty if there is none.

    Raises Refused for anything else, and for fields of it that are not ``known``, if these are
    given.
    """
    found: JSONObject = _field(value, field, dict, "an object", path) or {}
    if known is not None:
        require_fields(found, known, _below(path, field))
    return found


def string_at(value: JSONObject, field: str, path: str = "") -> str:
    """Return the string in a field of ``value``, which is at ``path``; empty if there is none.

    Raises Refused for anything else.
    """
    return _field(value, field, str, "a string", path) or ""


def _field(value: JSONObject, field: str, kind: type[_Item], what: str, path: str) -> _Item | None:
    found = value.get(field)
    if found is not None and not isinstance(found, kind):
        raise Refused(_below(path, field), f"expected {what}")
    return found


def strings(value: JSON, path: str) -> list[str]:
    """Return the items of a list of strings, none for null; raises Refused for anything else."""
    return _list(value, str, "a list of strings", path)


def _list(value: JSON, kind: type[_Item], what: str, path: str) -> list[_Item]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, kind) for each in value):
        raise Refused(path, f"expected {what}")
    return value


def strings_at(value: JSONObject, field: str, path: str = "") -> list[str]:
    """Return the list of strings in a field of ``value``, which is at ``path``; a string stands
    for a list of one.
    """
    found = value.get(field)
    return [found] if isinstance(found, str) else strings(found, _below(path, field))


def require_fields(value: JSONObject, known: Iterable[str], path: str) -> None:
    """Raise Refused for a field that is not known: it may restrict or widen the policy."""
    for field in sorted(value.keys() - set(known)):
        raise Refused(_below(path, field), f"the field {field} is not known here")


def _below(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field


def tidy(expression: str) -> str:
    """Return an expression without spaces at the ends of its lines, and at its own.

    >>> tidy("a ||  \\n  b\\n")
    'a ||\\n  b'
    """
    if "'''" in expression or '"""' in expression:
        return expression.strip()
    return "\n".join(line.rstrip() for line in expression.strip().splitlines())


def enclosed(expression: str) -> str:
    """Return an expression in parentheses, which a comment at its end must not hide."""
    return f"({expression}\n)" if "//" in expression else f"({expression})"


def conjunction(expressions: Sequence[str]) -> str:
    """Return CEL that is true if all of these are; without any, an empty string."""
    return " && ".join(map(enclosed, expressions)) if len(expressions) > 1 else "".join(expressions)


def one_line(message: str) -> str:
    """Return a message without line breaks, which messages of policies cannot have."""
    return " ".join(line.strip() for line in message.strip().splitlines())
