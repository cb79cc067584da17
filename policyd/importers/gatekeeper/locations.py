"""``location`` of mutators: ``spec.containers[name: *].args``, as steps. Knows no mutator.

Syntax: Gatekeeper pkg/mutation/path/parser. Names are separated by dots and may be in quotes; a
list step names the key of its items, and the value of it or ``*``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from policyd.importers.model import Refused

_QUOTES = ("'", '"')
_PLAIN = frozenset("-_/")


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
    """Return the steps of a location.

    >>> [step.name or step.key for step in steps('spec.containers[name:*].image', '')]
    ['spec', 'containers', 'name', 'image']
    """
    try:
        found = tuple(_steps(_Characters(location)))
    except ValueError as error:
        raise Refused(path, f"{location} is no location: {error}") from None
    if not found:
        raise Refused(path, "the location is empty")
    return found


class _Characters:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    @property
    def next(self) -> str:
        return self._text[self._at : self._at + 1]

    def take(self, wanted: str = "") -> str:
        taken = self.next
        if not taken or (wanted and taken != wanted):
            expected = repr(wanted) if wanted else "a name"
            raise ValueError(f"expected {expected} at {self._at + 1}")
        self._at += 1
        return taken

    def skip(self) -> None:
        while self.next.isspace():
            self._at += 1

    def word(self) -> tuple[str, bool]:
        """Return a name or value, and whether it is in quotes."""
        self.skip()
        quote = self.next
        text = ""
        if quote in _QUOTES and quote:
            self.take()
            while self.next != quote:
                text += self._escaped() if self.next == "\\" else self.take()
            self.take()
            return text, True
        while self.next.isalnum() or (self.next in _PLAIN and self.next):
            text += self.take()
        if not text:
            raise ValueError(f"expected a name at {self._at + 1}")
        return text, False

    def _escaped(self) -> str:
        self.take()
        return self.take()


def _steps(source: _Characters) -> Iterator[LocationStep]:
    while True:
        yield LocationStep(name=source.word()[0])
        source.skip()
        while source.next == "[":
            source.take()
            yield _list(source)
            source.skip()
        if not source.next:
            return
        source.take(".")


def _list(source: _Characters) -> LocationStep:
    key, _ = source.word()
    source.skip()
    source.take(":")
    source.skip()
    if source.next == "*":
        source.take()
        found = LocationStep(key=key)
    else:
        value, quoted = source.word()
        number = not quoted and value.isdigit()
        found = LocationStep(key=key, value=int(value) if number else value)
    source.skip()
    source.take("]")
    return found
