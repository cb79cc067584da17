"""When output has colors: ``--color``, NO_COLOR, FORCE_COLOR. Prints nothing."""

import os
from collections.abc import Mapping

import click

_CHOICES: Mapping[str, bool | None] = {"auto": None, "always": True, "never": False}


def preferred(environment: Mapping[str, str] = os.environ) -> bool | None:
    """Return what the environment requests; None: colors in terminals only.

    NO_COLOR (no-color.org) overrides FORCE_COLOR (force-color.org); empty variables do not count,
    and FORCE_COLOR=0 means no colors.
    """
    if environment.get("NO_COLOR"):
        return False
    forced = environment.get("FORCE_COLOR")
    return forced != "0" if forced else None


def _choose(context: click.Context, _: click.Parameter, choice: str | None) -> None:
    if choice is not None:
        context.color = preferred() if choice == "auto" else _CHOICES[choice]


def color_option() -> click.Option:
    """Return the option ``--color``, which every command has."""
    return click.Option(
        ["--color"],
        metavar="WHEN",
        type=click.Choice(list(_CHOICES)),
        callback=_choose,
        expose_value=False,
        is_eager=True,
        help="Color the output: auto (in terminals, or as NO_COLOR and FORCE_COLOR say), always or "
        "never.",
    )
