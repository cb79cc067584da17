"""Click options made from the fields of Settings: one field, one flag."""

from collections.abc import Callable
from dataclasses import Field, fields
from typing import Any

import click

from policyd.config import PREFIX, Settings

SHORT = {"policies": "-p"}


def settings_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command a flag for each setting; what is not given is None (or an empty tuple)."""
    for each in reversed(fields(Settings)):
        function = _option(each)(function)
    return function


def _option(each: Field[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    flag = "--" + each.name.replace("_", "-")
    names = [SHORT[each.name], flag] if each.name in SHORT else [flag]
    doc = f"{each.metadata['doc']}  [{PREFIX}{each.name.upper()}{_default(each.default)}]"
    if isinstance(each.default, bool):
        return click.option(f"{flag}/--no-{flag[2:]}", each.name, default=None, help=doc)
    many = each.metadata["many"]
    return click.option(*names, each.name, multiple=many, default=None, metavar="VALUE", help=doc)


def _default(value: object) -> str:
    """The default as a person would write it; nothing for none."""
    return "" if value in (None, (), False) else f"; default {value}"
