"""The recent denials of a server, page by page: followed through its restarts, without showing one
twice. Prints only notes.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import orjson

from policyd.admin_port import AdminError, AdminPort
from policyd.cli.shared.terminal.wrapping import echo_wrapped

_REACH = (
    "is policyd serve running there (--admin-bind)? In a cluster run\n"
    "  kubectl port-forward deploy/policyd 8080 -n policyd"
)
_HINTS = {
    403: "connect from its own machine (kubectl port-forward), or use --admin-token-file there and "
    "--token-file here",
    404: "this is another program, or an older policyd",
}
DenialRow = Mapping[str, Any]
POLL_SECONDS = 1.0
_Key = tuple[object, object]


@dataclass(frozen=True, slots=True)
class DenialPage:
    """One answer. ``next`` is the cursor for the next one, ``complete_since`` the sequence after
    which no denial is missing.
    """

    document: Mapping[str, Any]
    rows: Sequence[DenialRow]
    next: int
    complete_since: int


@dataclass(frozen=True, slots=True)
class DenialPages:
    """The denials of a server, of one namespace and policy if they are given."""

    port: AdminPort
    namespace: str | None = None
    policy: str | None = None

    def read(self, *, since: int | None = None, limit: int | None = None) -> DenialPage:
        """Return the denials after a cursor. Raises AdminError."""
        given = {
            "namespace": self.namespace,
            "policy": self.policy,
            "since": since,
            "limit": limit,
        }
        query = urlencode({key: value for key, value in given.items() if value is not None})
        path = f"/denials?{query}" if query else "/denials"
        try:
            content = self.port.get(path, _REACH)
        except AdminError as error:
            if error.status not in _HINTS:
                raise
            url = f"{self.port.url}/denials"
            hint = _HINTS[error.status]
            raise AdminError(
                f"--admin {url}: answered {error.status}\n  hint: {hint}", error.status
            ) from None
        return self._page(content)

    def _page(self, content: bytes) -> DenialPage:
        try:
            document = orjson.loads(content)
            rows = document["denials"]
            next_, complete = int(document["next"]), int(document["completeSince"])
            if not all(isinstance(row["sequence"], int) for row in rows):
                raise TypeError
        except (ValueError, TypeError, LookupError):
            url = self.port.url
            raise AdminError(f"--admin {url}: this is not policyd\n  hint: {_REACH}") from None
        return DenialPage(document, rows, next_, complete)


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
