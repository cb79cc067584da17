"""A progress bar on standard error for long work, where a person looks at it."""

import sys
from collections.abc import Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
_MANY = 200  # fewer are done before one could read how far it is


def with_progress(items: Sequence[Item], doing: str) -> Iterable[Item]:
    """The items; the bar moves as they are taken."""
    if len(items) < _MANY or not sys.stderr.isatty():
        return items
    from rich.console import Console
    from rich.progress import track

    return track(items, description=doing, console=Console(stderr=True), transient=True)
