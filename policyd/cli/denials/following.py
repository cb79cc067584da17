"""Follow the denials of a server: through its restarts, without showing one twice."""

import time
from collections.abc import Callable

from policyd.admin_port import AdminError
from policyd.cli.denials.pages import DenialPage, DenialPages, DenialRow
from policyd.cli.shared.terminal.wrapping import echo_wrapped

POLL_SECONDS = 1.0
_Key = tuple[object, object]


def follow(pages: DenialPages, last: DenialPage, show: Callable[[DenialRow], object]) -> None:
    """Show what is denied after a page, until Ctrl-C, which raises KeyboardInterrupt."""
    seen = _after(last)
    lost = False
    while True:
        time.sleep(POLL_SECONDS)
        try:
            page = pages.read(since=last.next)
        except AdminError as error:
            if not lost:
                _note(f"{str(error).splitlines()[0]}; trying again")
            lost = True
            continue
        if lost:
            _note("the server answers again")
        lost = False
        if page.complete_since > last.next:
            _note("denials may be missing here: the server has restarted, or had too many")
        for row in page.rows:
            if _key(row) not in seen:
                show(row)
        # With several workers an answer may have what the next one has again.
        seen = _after(page)
        last = page


def _after(page: DenialPage) -> set[_Key]:
    return {_key(row) for row in page.rows if row["sequence"] > page.next}


def _key(row: DenialRow) -> _Key:
    return row["sequence"], row.get("worker")


def _note(text: str) -> None:
    echo_wrapped(f"note: {text}", err=True)
