"""Which reports the cluster has at the start of a run, and which of them are still wanted.

A hundred thousand reports take about 7 MB: of each one, only two short hashes are kept.
"""

from bisect import bisect_left
from hashlib import blake2b

_NAME_BYTES = 12
_CONTENT_BYTES = 12


class KnownReports:
    """The reports of the first listing. First all are added, then objects are looked up."""

    def __init__(self) -> None:
        self._records: list[bytes] = []  # each one: a hash of the name, a hash of the content
        self._kept = bytearray()
        self._stale = 0

    def __len__(self) -> int:
        return len(self._records)

    @property
    def stale(self) -> int:
        """The number of reports that no object has asked for."""
        return self._stale if self._kept else len(self._records)

    def add(self, namespace: str, name: str, content: str) -> None:
        """Add a report that the cluster has; ``content`` is the hash that it carries."""
        self._records.append(_name(namespace, name) + _short(content, _CONTENT_BYTES))

    def keep(self, namespace: str, name: str, content: str) -> bool:
        """Note that a report is wanted; return whether the cluster has it with this content."""
        at = self._find(_name(namespace, name))
        if at < 0:
            return False
        if not self._kept[at]:
            self._kept[at] = 1
            self._stale -= 1
        return self._has(at, content)

    def is_stale(self, namespace: str, name: str, content: str) -> bool:
        """Whether a report that the cluster has is one of the first listing, with the same content,
        that no object has asked for. With another content, another run has written it since.
        """
        at = self._find(_name(namespace, name))
        return at >= 0 and not self._kept[at] and self._has(at, content)

    def _has(self, at: int, content: str) -> bool:
        return self._records[at][_NAME_BYTES:] == _short(content, _CONTENT_BYTES)

    def _find(self, name: bytes) -> int:
        if len(self._kept) != len(self._records):
            self._records.sort()
            self._kept = bytearray(len(self._records))
            self._stale = len(self._records)
        at = bisect_left(self._records, name)
        found = at < len(self._records) and self._records[at].startswith(name)
        return at if found else -1


def _name(namespace: str, name: str) -> bytes:
    return _short(f"{namespace}/{name}", _NAME_BYTES)


def _short(string: str, size: int) -> bytes:
    return blake2b(string.encode("utf-8", "surrogatepass"), digest_size=size).digest()
