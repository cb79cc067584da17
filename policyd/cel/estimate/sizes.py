"""Sizes for estimates that the expression does not determine: measured in data, or assumed."""

from collections.abc import Iterator, Mapping

from policyd._core.eval.estimates import Range
from policyd.cel.estimate.cost import SizePath, Sizes
from policyd.cel.types.types import Type


def measured(variables: Mapping[str, object]) -> Sizes:
    """Return the sizes of the variables' values; intermediate results are unknown."""

    def sizes(path: SizePath, kind: Type) -> Range | None:
        if not path or path[0] not in variables:
            return None
        values = [variables[path[0]]]
        for step in path[1:]:
            values = [part for value in values for part in _parts(value, step)]
        found = [_size(value) for value in values]
        return Range(min(found, default=0), max(found, default=0))

    return sizes


def assumed(size: int) -> Sizes:
    """Assume at most this many items or characters in every unknown value except numbers."""
    bound = Range(0, size)
    one = Range(1, 1)

    def sizes(path: SizePath, kind: Type) -> Range | None:
        return one if kind.name in ("bool", "int", "uint", "double") else bound

    return sizes


def _size(value: object) -> int:
    return len(value) if isinstance(value, str | bytes | list | dict) else 1


def _parts(value: object, step: str) -> Iterator[object]:
    """Yield the values that a path step leads to: ``@items``, ``@keys``, ``@values`` or a field."""
    if isinstance(value, list):
        yield from range(len(value)) if step == "@indices" else value
    elif isinstance(value, dict):
        if step == "@keys":
            yield from value
        elif step.startswith("@"):
            yield from value.values()
        elif step in value:
            yield value[step]
