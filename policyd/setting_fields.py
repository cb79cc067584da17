"""The fields of settings, their values from strings, numbers and lists, and the entries of a config
file.
"""

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import Any

from policyd.errors import ConfigError
from policyd.near_names import nearest


def setting(default: Any, read: Callable[[str], Any], doc: str, *, many: bool = False) -> Any:
    """A field of Settings: its default, the parser of its strings, its help; ``many``: a list."""
    return field(default=default, metadata={"read": read, "doc": doc, "many": many})


def camel(name: str) -> str:
    """The key of a field in a config file: ``maxInFlight`` for ``max_in_flight``."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def read_value(value: object, source: str, how: Mapping[str, Any]) -> Any:
    """Parse a value; lists are lists, or strings with commas in the environment."""
    if not how["many"]:
        return _read_one(value, source, how["read"])
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise ConfigError(f"{source}: expected a list, got {value!r}")
    return tuple(_read_one(item, source, how["read"]) for item in items)


def _read_one(value: object, source: str, read: Callable[[str], Any]) -> Any:
    if not isinstance(value, str | int | float):
        raise ConfigError(f"{source}: expected a string or a number, got {value!r}")
    unquoted = isinstance(value, bool | float)
    kind = "boolean" if isinstance(value, bool) else "number"
    hint = f"; YAML reads it as a {kind}: put it in quotes" if unquoted else ""
    try:
        found = read(str(value))
    except ValueError as error:
        raise ConfigError(f"{source}: expected {error}, got {value!r}{hint}") from None
    if unquoted and isinstance(found, str | Path):
        raise ConfigError(f"{source}: expected a string, got {value!r}{hint}")
    return found


def entries_by_field(
    document: Mapping[str, object], file: str, lines: Mapping[str, int], settings: type
) -> dict[str, tuple[str, object]]:
    """The places and values of a config file by field name of ``settings``; ``maxInFlight`` and
    ``max-in-flight`` are the same. ``lines`` are the lines of the keys, if known.
    """
    names = {each.name.replace("_", ""): each.name for each in fields(settings)}
    keys: dict[str, str] = {}
    found: dict[str, tuple[str, object]] = {}
    for key, value in document.items():
        place = f"{file}:{lines[key]}" if key in lines else file
        plain = str(key).replace("-", "").replace("_", "").lower()
        name = names.get(plain)
        if name is None:
            raise ConfigError(f"{place}: unknown key {key!r}; {_instead(plain, names)}")
        if name in keys:
            raise ConfigError(f"{place}: {keys[name]!r} and {key!r} are the same setting")
        keys[name] = str(key)
        if value is not None:
            found[name] = (f"{place}: {key}", value)
    return found


def _instead(key: str, names: Mapping[str, str]) -> str:
    near = nearest(key, names)
    if near:
        return f"did you mean {camel(names[near])}?"
    return f"expected one of {', '.join(sorted(map(camel, names.values())))}"
