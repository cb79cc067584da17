"""``location`` of mutators: ``spec.containers[name: *].args``, as steps. Knows no mutator.

Syntax: Gatekeeper pkg/mutation/path/parser. Names are separated by dots and may be in quotes; a
list step names the key of its items, and the value of it or ``*``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from policyd.importers.model import Refused

_NAME = r"""(?:"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|[\w/-]++)"""
_ITEM = rf"\[\s*+({_NAME})\s*+:\s*+(\*|{_NAME})\s*+\]\s*+"
_ITEMS = re.compile(_ITEM, re.DOTALL)
_STEP = re.compile(rf"\s*+(?P<name>{_NAME})\s*+(?P<items>(?:{_ITEM})*+)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class LocationStep:
    """A field ``name``; or, with ``key``, the items of the list before it: the one whose key has
    ``value``, or all of them (None).
    """

    name: str = ""
    key: str = ""
    value: str | int | None = None

    @property
    def is_list(self) -> bool:
        return bool(self.key)

    @property
    def is_glob(self) -> bool:
        """Whether it stands for all items."""
        return self.is_list and self.value is None


def steps(location: str, path: str) -> tuple[LocationStep, ...]:
    """Return the steps of a location. Raises Refused, with ``path``, for any other text.

    >>> [step.name or step.key for step in steps('spec.containers[name:*].image', '')]
    ['spec', 'containers', 'name', 'image']
    """
    try:
        return tuple(_steps(location))
    except ValueError as error:
        raise Refused(path, f"{location} is no location: {error}") from None


def _steps(text: str) -> Iterator[LocationStep]:
    at = 0
    while True:
        found = _STEP.match(text, at)
        if found is None:
            raise ValueError(f"expected a name at {at + 1}")
        yield LocationStep(name=_plain(found["name"]))
        for key, value in _ITEMS.findall(found["items"]):
            item: str | int | None = None if value == "*" else _plain(value)
            yield LocationStep(key=_plain(key), value=int(value) if value.isdigit() else item)
        at = found.end()
        if at == len(text):
            return
        if text[at] != ".":
            raise ValueError(f"expected . or [KEY: VALUE] at {at + 1}")
        at += 1


def _plain(name: str) -> str:
    return _ESCAPED.sub(r"\1", name[1:-1]) if name[0] in "\"'" else name
