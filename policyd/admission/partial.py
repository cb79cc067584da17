"""The second reader of reviews: what matching needs of one that cannot be decoded as a whole.

An API server sends more than policyd evaluates: raw JSON of users with half a surrogate pair in a
string, or thousands of levels deep, or so many values that they do not fit into memory. Which
policies such a review concerns is read all the same, so that each one's failurePolicy answers it.
Nothing is evaluated here.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from policyd._core.json.decoded_size import decoded_bytes
from policyd._core.json.scan import JSONScan, repaired
from policyd._core.json.tree import TOO_DEEP, TOO_LARGE_NUMBER, normal
from policyd._core.values.errors import CelError
from policyd.errors import UnreadableReview

# Bytes of memory that the values of one review may take. Two objects of 3 MiB, the most that an API
# server reads from a client, with as many values to the byte as the densest recorded ones (17).
MAX_DECODED_BYTES = 128 * 2**20
# No body up to this size can have more: a bracket is the byte that takes the most memory, 68.
UNCOUNTED_BYTES = MAX_DECODED_BYTES // 68
# Levels of braces and brackets in one object of a review, and in the whole review around it.
MAX_OBJECT_DEPTH = 1000
MAX_REVIEW_DEPTH = MAX_OBJECT_DEPTH + 2
TOO_MANY_VALUES = f"its values would take more than {MAX_DECODED_BYTES >> 20} MiB of memory"

# The members that are read: None for a whole value, else those of an object.
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
_REVIEW: WantedMembers = {"apiVersion": None, "kind": None, "request": _REQUEST}


def too_many_values(body: bytes) -> bool:
    """Whether decoding the body would take more memory than one review may; never true of one of
    at most UNCOUNTED_BYTES.
    """
    return decoded_bytes(body, MAX_DECODED_BYTES) > MAX_DECODED_BYTES


def read(body: bytes, too_large: bool) -> tuple[Any, str] | None:
    """What matching needs of a review, and why no more can be read; None if it is not JSON.

    ``too_large``: ``too_many_values`` said so.
    """
    scan = JSONScan(body)
    if scan.problem() >= 0:
        return None
    reason = TOO_MANY_VALUES if too_large else _reason(scan, body)
    return _Picker(scan, body).picked(0, len(body), _REVIEW), reason


def read_tree(review: Mapping[str, Any]) -> dict[str, Any]:
    """The same of a review that a caller decoded."""
    found: dict[str, Any] = _of_tree(dict(review), _REVIEW)
    return found


def _reason(scan: JSONScan, body: bytes) -> str:
    if scan.surrogate >= 0:
        shown = body[scan.surrogate : scan.surrogate + 6].decode("ascii")
        return f"a string holds half of a surrogate pair, {shown}, at byte {scan.surrogate}"
    if scan.octet >= 0:
        return f"a string is not UTF-8 at byte {scan.octet}"
    if scan.depth > MAX_REVIEW_DEPTH:
        return TOO_DEEP
    return TOO_LARGE_NUMBER


class _Picker:
    """Decodes the members wanted of a body that is JSON."""

    def __init__(self, scan: JSONScan, body: bytes) -> None:
        self._scan = scan
        self._body = body
        self._room = MAX_DECODED_BYTES

    def picked(self, start: int, end: int, wanted: WantedMembers | None) -> Any:
        """The value that stands there, less what is not wanted of it."""
        if wanted is None:
            return self._whole(self._body[start:end])
        places = self._scan.members(start, tuple(wanted))
        if places is None:
            value = self._whole(self._body[start:end])
            return [] if isinstance(value, CelError) else value  # it is no object, and that is all
        return {
            name: self.picked(*places[name], below)
            for name, below in wanted.items()
            if name in places
        }

    def _whole(self, text: bytes) -> Any:
        """One value, as Go reads strings; a CelError where it cannot be read either."""
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


def _of_tree(value: Any, wanted: WantedMembers | None) -> Any:
    if wanted is not None and type(value) is dict:
        return {
            name: _of_tree(value[name], below) for name, below in wanted.items() if name in value
        }
    try:
        return normal(value, MAX_REVIEW_DEPTH)
    except UnreadableReview as error:
        return CelError(str(error))
