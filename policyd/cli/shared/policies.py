"""The option ``-p``: paths of policies. Reads none of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def policies_option(
    text: str = "Load policies from this file or directory; may be repeated.",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the argument ``paths`` to a command; ``text`` is its help."""
    return click.option(
        "-p",
        "--policies",
        "paths",
        multiple=True,
        required=True,
        type=click.Path(exists=True, path_type=Path),
        metavar="PATH",
        help=text,
    )
