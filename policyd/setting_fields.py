"""A field of settings, and its value from what a source has: a string, a number or a list; and the
entries of a config file.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any

from policyd.errors import ConfigError


def setting(default: Any, read: Callable[[str], Any], doc: str, *, many: bool = False) -> Any:
    """A field of Settings: its default, the parser of its string, its help; ``many``: a list."""
    return field(default=default, metadata={"read": read, "doc": doc, "many": many})


def camel(name: str) -> str:
    """The key of a field in a config file: ``maxInFlight`` for ``max_in_flight``."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def read_value(value: object, source: str, how: Mapping[str, Any]) -> Any:
    """A value from its string; a list is a list, or a string with commas in the environment."""
    if not how["many"]:
        return _read_one(value, source, how["read"])
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise ConfigError(f"{source}: expected a list, got {value!r}")
    return tuple(_read_one(item, source, how["read"]) for item in items)


def _read_one(value: object, source: str, read: Callable[[str], Any]) -> Any:
    if not isinstance(value, str | int | float):
        raise ConfigError(f"{source}: expected a string or a number, got {value!r}")
    try:
        return read(str(value))
    except ValueError as error:
        raise ConfigError(f"{source}: expected {error}, got {value!r}") from None


def entries_by_field(
    document: Mapping[str, object], file: str, fields: Iterable[str]
) -> dict[str, tuple[str, object]]:
    """The entries of a config file by the name of one of these fields; ``maxInFlight`` and
    ``max-in-flight`` are the same.
    """
    names = {each.replace("_", ""): each for each in fields}
    found: dict[str, tuple[str, object]] = {}
    for key, value in document.items():
        name = names.get(str(key).replace("-", "").replace("_", "").lower())
        if name is None:
            known = ", ".join(sorted(map(camel, names.values())))
            raise ConfigError(f"{file}: unknown key {key!r}; expected one of {known}")
        if name in found:
            raise ConfigError(f"{file}: {found[name][0]!r} and {key!r} are the same setting")
        if value is not None:
            found[name] = (str(key), value)
    return found
