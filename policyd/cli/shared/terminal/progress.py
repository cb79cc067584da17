"""Progress bars on standard error, shown only in a terminal."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from itertools import chain, islice
from typing import TypeVar

Item = TypeVar("Item")
Advance = Callable[[str, int, int], None]
_MANY = 200  # fewer finish before a bar could be read


def with_progress(items: Iterable[Item], doing: str) -> Iterable[Item]:
    """Iterate over the items and advance the bar; a stream of items has no known end."""
    waiting = iter(items)
    first = list(islice(waiting, _MANY))
    every = chain(first, waiting)
    if len(first) < _MANY or not sys.stderr.isatty():
        return every
    from rich.console import Console
    from rich.progress import track

    total = len(items) if isinstance(items, Sized) else None
    console = Console(stderr=True)
    return track(every, total=total, description=doing, console=console, transient=True)


@contextmanager
def counting() -> Iterator[Advance]:
    """Show a bar for work of unknown size. Yields a function to call with the current step, the
    number of items done and the total. Output of ``echo`` meanwhile is above the bar.
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


def echo(line: str) -> None:
    """Print a line to standard error, also while a bar is there. ``click.echo`` writes to the file
    below the one that a bar puts in its place.
    """
    print(line, file=sys.stderr, flush=True)
