"""Read the fields of a document that another tool defines, with a clear error for a wrong type."""

from collections.abc import Collection, Iterator

from policyd.importers.proof.rows import TestUnusable
from policyd.json_types import JSON, JSONObject


def text(value: JSONObject, name: str) -> str:
    """Return a string; empty if it is absent."""
    found = value.get(name)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise TestUnusable(f"{name} must be a string")
    return found


def texts(value: JSONObject, name: str) -> list[str]:
    """Return a list of strings; a single string stands for a list of one."""
    found = value.get(name)
    if found is None:
        return []
    listed = found if isinstance(found, list) else [found]
    if not all(isinstance(each, str) for each in listed):
        raise TestUnusable(f"{name} must be a list of strings")
    return listed


def objects(value: JSONObject, name: str) -> list[JSONObject]:
    """Return a list of objects; empty if it is absent."""
    found = value.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise TestUnusable(f"{name} must be a list of objects")
    return found


def mapping(value: JSONObject, name: str) -> JSONObject:
    """Return an object; empty if it is absent."""
    found = value.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise TestUnusable(f"{name} must be an object")
    return found


def unknown(value: JSON, known: Collection[str]) -> Iterator[str]:
    """Yield the names of fields that are not among the known ones."""
    if isinstance(value, dict):
        yield from (name for name in value if name not in known)
