"""Progress bars on standard error for long work, where a person looks at them."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")
Advance = Callable[[str, int, int], None]
_MANY = 200  # fewer are done before one could read how far it is


def with_progress(items: Sequence[Item], doing: str) -> Iterable[Item]:
    """The items; the bar moves as they are taken."""
    if len(items) < _MANY or not sys.stderr.isatty():
        return items
    from rich.console import Console
    from rich.progress import track

    return track(items, description=doing, console=Console(stderr=True), transient=True)


@contextmanager
def counting() -> Iterator[Advance]:
    """For work of which nobody knows at first how much it is: gives what is called with what is
    done now, how much of it is done, and how much there is.
    """
    if not sys.stderr.isatty():
        yield lambda doing, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda doing, done, total: bar.update(
            task, description=doing, completed=done, total=total
        )
