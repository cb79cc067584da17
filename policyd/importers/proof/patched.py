"""Compare a mutated object with the one that a test expects, as Kyverno does: what is empty counts
as absent. Mutates nothing.
"""

from policyd.json_types import JSON, JSONObject
from policyd.policy.suite.expectations import same

_SHOWN = 5  # differing fields that a reason names


def differences(expected: JSONObject, found: JSON) -> list[str]:
    """Return the paths of the fields that differ; none if the objects are the same.

    The namespace of an object that names none is ``default``.
    """
    paths = list(_differing(_tidy(_placed(expected)), _tidy(_placed(found)), ""))
    return paths if len(paths) <= _SHOWN else [*paths[:_SHOWN], f"{len(paths) - _SHOWN} more"]


def _placed(value: JSON) -> JSON:
    """Return an object without its namespace if that is ``default``."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(metadata, dict) or metadata.get("namespace") != "default":
        return value
    return {**value, "metadata": {k: v for k, v in metadata.items() if k != "namespace"}}


def _tidy(value: JSON) -> JSON:
    """Return a value without null, empty objects and empty lists in it."""
    if isinstance(value, dict):
        tidied = {key: _tidy(each) for key, each in value.items()}
        return {key: each for key, each in tidied.items() if not _is_empty(each)}
    if isinstance(value, list):
        return [each for each in map(_tidy, value) if not _is_empty(each)]
    return value


def _is_empty(value: JSON) -> bool:
    return value is None or value in ({}, [])


def _differing(expected: JSON, found: JSON, path: str) -> list[str]:
    if isinstance(expected, dict) and isinstance(found, dict):
        names = dict.fromkeys((*expected, *found))
        return [
            each
            for name in names
            for each in _differing(
                expected.get(name), found.get(name), f"{path}.{name}".lstrip(".")
            )
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [each for i, (a, b) in pairs for each in _differing(a, b, f"{path}[{i}]")]
    return [] if same(expected, found) else [path or "the object"]
