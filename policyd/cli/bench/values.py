"""Types of the values of options. Parses; measures nothing."""

from collections.abc import Callable
from typing import Any

import click


class Unit(click.ParamType[Any]):
    """A value that a function of ``policyd.option_values`` parses."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError as expected:
            self.fail(f"expected {expected}, got {value!r}", param, ctx)


def share(string: str) -> float:
    """Parse ``10%`` or ``10`` to 0.1; raises ValueError."""
    number = string.strip().removesuffix("%").strip()
    if not number.replace(".", "", 1).isdecimal() or not number.isascii():
        raise ValueError("a percentage like 10%")
    return float(number) / 100
