"""Reads the parts that matching needs from a review that cannot be decoded as a whole.

An API server sends reviews that policyd cannot evaluate: raw JSON of users with half a surrogate
pair in a string, thousands of nesting levels, or too many values to fit into memory. Such a review
is still matched, so that the failurePolicy of each matching policy decides. Evaluates nothing.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from policyd._core.json.scan import JSONScan, repaired
from policyd._core.json.sizes import decoded_bytes
from policyd._core.json.tree import TOO_DEEP, TOO_LARGE_NUMBER, normal
from policyd._core.values.errors import CelError
from policyd.errors import UnreadableReview

# Bytes of memory that the values of one review may take: two objects of 3 MiB, the most that an API
# server reads from a client, with as many values per byte as the densest recorded ones (17).
MAX_DECODED_BYTES = 128 * 2**20
# No body up to this size can exceed it: the costliest byte is a bracket, 68 bytes of memory.
UNCOUNTED_BYTES = MAX_DECODED_BYTES // 68
# Nesting levels of one object of a review, and of the whole review around it.
MAX_OBJECT_DEPTH = 1000
MAX_REVIEW_DEPTH = MAX_OBJECT_DEPTH + 2
TOO_MANY_VALUES = f"its values would take more than {MAX_DECODED_BYTES >> 20} MiB of memory"

# The members to read: None for a whole value, else the members of an object.
WantedMembers = Mapping[str, "WantedMembers | None"]
_METADATA: WantedMembers = dict.fromkeys(
    ("name", "generateName", "namespace", "uid", "labels", "ownerReferences")
)
_TEMPLATE: WantedMembers = {"metadata": _METADATA}
_OBJECT: WantedMembers = {
    "apiVersion": None,
    "kind": None,
    "metadata": _METADATA,
    "spec": {"template": _TEMPLATE, "jobTemplate": {"spec": {"template": _TEMPLATE}}},
}
_REQUEST: WantedMembers = {
    **dict.fromkeys(("uid", "operation", "kind", "resource", "subResource")),
    **dict.fromkeys(("requestKind", "requestResource", "requestSubResource")),
    **dict.fromkeys(("name", "namespace", "dryRun", "userInfo", "options")),
    "object": _OBJECT,
    "oldObject": _OBJECT,
}
_LIST: WantedMembers = dict.fromkeys(("apiVersion", "kind", "metadata"))
_REVIEW: WantedMembers = {"apiVersion": None, "kind": None, "request": _REQUEST}


def too_many_values(body: bytes) -> bool:
    """Whether decoding the body would take more memory than one review may use; always False up
    to UNCOUNTED_BYTES.
    """
    return decoded_bytes(body, MAX_DECODED_BYTES) > MAX_DECODED_BYTES


def read(body: bytes, too_large: bool) -> tuple[Any, str] | None:
    """Return the parts of a review that matching needs, and why the rest is unreadable; None if the
    body is not JSON. ``too_large`` is the result of ``too_many_values``.
    """
    scan = JSONScan(body)
    if scan.problem() >= 0:
        return None
    reason = TOO_MANY_VALUES if too_large else _reason(scan, body)
    return _Picker(scan, body).picked(0, len(body), _REVIEW), reason


def read_list(body: bytes) -> dict[str, Any] | None:
    """Return the list in an API server's response even if some objects cannot be decoded; None if
    it is not a list.

    An object that is nested too deeply keeps its identity and gets a value that is also nested too
    deeply, so that a review of it is as unreadable as one of the whole object.
    """
    scan = JSONScan(body)
    places = (scan.members(0, (*_LIST, "items")) if scan.problem() < 0 else None) or {}
    items = scan.elements(places["items"][0]) if "items" in places else None
    if items is None:
        return None
    picker = _Picker(scan, body)
    found = picker.picked(0, len(body), _LIST)
    return {**found, "items": [picker.item(*place) for place in items]}


def read_tree(review: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts that matching needs of a review that a caller decoded."""
    found: dict[str, Any] = _of_tree(dict(review), _REVIEW)
    return found


def _reason(scan: JSONScan, body: bytes) -> str:
    if scan.surrogate >= 0:
        shown = body[scan.surrogate : scan.surrogate + 6].decode("ascii")
        return f"a string holds half of a surrogate pair, {shown}, at byte {scan.surrogate}"
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return f"a string is not UTF-8 at byte {error.start}"
    if scan.depth > MAX_REVIEW_DEPTH:
        return TOO_DEEP
    return TOO_LARGE_NUMBER


class _Picker:
    """Decodes the wanted members of a JSON body."""

    def __init__(self, scan: JSONScan, body: bytes) -> None:
        self._scan = scan
        self._body = body
        self._room = MAX_DECODED_BYTES

    def picked(self, start: int, end: int, wanted: WantedMembers | None) -> Any:
        """Return the value at that place, with only the wanted members."""
        if wanted is None:
            return self._whole(self._body[start:end])
        places = self._scan.members(start, tuple(wanted))
        if places is None:
            value = self._whole(self._body[start:end])
            return [] if isinstance(value, CelError) else value  # only known not to be an object
        return {
            name: self.picked(*places[name], below)
            for name, below in wanted.items()
            if name in places
        }

    def item(self, start: int, end: int) -> Any:
        """Return an object of a list."""
        try:
            return normal(orjson.loads(self._body[start:end]), MAX_OBJECT_DEPTH)
        except (orjson.JSONDecodeError, UnreadableReview):
            return {**self.picked(start, end, {"metadata": _METADATA}), "spec": _nested()}

    def _whole(self, text: bytes) -> Any:
        """Decode one value, reading strings as Go does; a CelError if that also fails."""
        needed = decoded_bytes(text, self._room)
        if needed > self._room:
            return CelError(TOO_MANY_VALUES)
        self._room -= needed
        try:
            try:
                value = orjson.loads(text)
            except orjson.JSONDecodeError:
                # Neither replacement changes the structure: JSON's own characters are ASCII.
                value = orjson.loads(repaired(text).decode("utf-8", "replace"))
            return normal(value, MAX_REVIEW_DEPTH)
        except (orjson.JSONDecodeError, UnreadableReview):
            return CelError(TOO_DEEP if text[:1] in (b"[", b"{") else TOO_LARGE_NUMBER)


def _nested() -> list[Any]:
    """Return a value that no object may hold."""
    found: list[Any] = []
    for _ in range(MAX_REVIEW_DEPTH):
        found = [found]
    return found


def _of_tree(value: Any, wanted: WantedMembers | None) -> Any:
    if wanted is not None and type(value) is dict:
        return {
            name: _of_tree(value[name], below) for name, below in wanted.items() if name in value
        }
    try:
        return normal(value, MAX_REVIEW_DEPTH)
    except UnreadableReview as error:
        return CelError(str(error))
