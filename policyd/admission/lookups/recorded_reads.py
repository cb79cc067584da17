"""Records the reads that policies of a request saw, for a capture, and replays them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from policyd._core.values.errors import CelError
from policyd._core.values.types import KeyedMap
from policyd.admission.lookups.wanted import uncovered
from policyd.json_types import JSON, JSONObject
from policyd.policy.compile.fields import KeyPath
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.compile.reads.read_tables import ReadIndex, ReadingRequest, Shown
from policyd.policy.source.json_text.encoding import json_bytes

# Limits for one request in a capture: the objects of a read, and the bytes of all reads.
MAX_OBJECTS, MAX_BYTES = 1_000, 256 * 1024
_Found = dict[str, list[JSONObject] | None]


@dataclass(slots=True)
class SeenRead:
    """The view that policies had of one read: the ``whole`` of it, or else the objects under the
    keys that they looked up. ``fields`` are the visible fields of each object.
    """

    fields: set[KeyPath] = field(default_factory=set)
    keys: _Found = field(default_factory=dict)
    whole: list[JSONObject] | ReadIndex | CelError | None = None


class SeenReads:
    """Records what the policies of one request see of reads."""

    def __init__(self) -> None:
        self.seen: dict[CompiledRead, SeenRead] = {}

    def note(self, read: CompiledRead, found: Shown | CelError) -> Shown | CelError:
        """Record and return what a policy sees. A map that is read by key records its keys."""
        seen = self.seen.setdefault(read, SeenRead())
        seen.fields |= read.fields
        if isinstance(found, KeyedMap):
            return found.noting(seen.keys)
        # An index in use changes with the cluster; lists are replaced.
        seen.whole = {**found} if isinstance(found, dict) else found
        return found

    def as_json(self, *, confidential: bool) -> list[JSON]:
        """Return the ``reads`` of a line of a capture: nothing but names for a ``confidential``
        request, whose values may be keys.
        """
        entries: list[JSON] = []
        left = MAX_BYTES
        for read, seen in self.seen.items():
            found = _found(seen)
            why = "the request holds confidential values" if confidential else _excess(found, left)
            if why:
                found = {"omitted": why}
            left -= len(json_bytes(found))
            entries.append({**_identity(read), **found, "fields": sorted(map(list, seen.fields))})
        return entries


def _found(seen: SeenRead) -> JSONObject:
    if isinstance(seen.whole, CelError):
        return {"error": seen.whole.message}
    if seen.whole is None:
        return {"keys": seen.keys}
    return {"index" if isinstance(seen.whole, dict) else "objects": seen.whole}


def _excess(found: JSONObject, left: int) -> str:
    """Return why a read is too large to be recorded; empty if it is not."""
    ((_, value),) = found.items()
    lists = value.values() if isinstance(value, dict) else (value,)
    count = sum(len(each) for each in lists if isinstance(each, list))
    if count > MAX_OBJECTS:
        return f"it has {count} objects, and at most {MAX_OBJECTS} are recorded"
    if len(json_bytes(found)) > left:
        return f"a record has at most {MAX_BYTES >> 10} KiB of objects of reads"
    return ""


def _identity(read: CompiledRead) -> JSONObject:
    return {
        "apiVersion": read.api_version,
        "kind": read.kind,
        "namespace": read.namespace,
        "labelSelector": read.selection,
        "key": read.key_text,
        "self": read.include_self,
    }


class RecordedReads:
    """A ReadSource of recorded objects: no others are known."""

    def __init__(self, entries: JSON) -> None:
        self._entries = [each for each in entries or () if isinstance(each, dict)]
        self._missing: dict[tuple[CompiledRead, frozenset[KeyPath]], str] = {}
        self._tables: list[_RecordedTable] = []

    def table(self, read: CompiledRead) -> "_RecordedTable | CelError":
        """Return the recorded objects of a read."""
        wanted = _identity(read)
        for entry in self._entries:
            if {key: entry.get(key) for key in wanted} == wanted:
                why = _why_not(entry, read)
                break
        else:
            entry, why = {}, "it was not recorded"
        if why:
            self._missing[read, read.fields] = why
            return CelError(f"{read.label}: {why}")
        if "error" in entry:
            return CelError(str(entry["error"]))
        table = _RecordedTable(read, entry)
        self._tables.append(table)
        return table

    def missing(self, reads: Iterable[CompiledRead]) -> str:
        """Describe the parts of these reads that were used but not recorded; empty if none."""
        for table in self._tables:
            if table.missing:
                self._missing[table.read, table.read.fields] = table.missing
        each = next((each for each in reads if (each, each.fields) in self._missing), None)
        return "" if each is None else f"{each.label}: {self._missing[each, each.fields]}"


def _why_not(entry: Mapping[str, JSON], read: CompiledRead) -> str:
    if "omitted" in entry:
        return f"it was not recorded: {entry['omitted']}"
    if "error" in entry:
        return ""
    kept = {tuple(path) for path in entry.get("fields") or ()}
    unknown = uncovered(read.fields, kept)
    if not unknown:
        return ""
    what = f"field {'.'.join(unknown[0])}" if unknown[0] else "another field"
    return f"{what} of its objects was not recorded"


class _RecordedTable:
    """The objects of one read, as policies saw them."""

    changes = 0

    def __init__(self, read: CompiledRead, entry: Mapping[str, JSON]) -> None:
        self.read = read
        self._entry = entry
        self._asked: _Found = {}
        self._whole = False

    def shown_to(self, request: ReadingRequest, *, keyed: bool = False) -> Shown | CelError:
        """Return what the request saw."""
        entry = self._entry
        if "keys" not in entry:
            shown: Shown = entry["index"] if "index" in entry else entry["objects"]
            return shown
        if keyed:
            return KeyedMap(entry["keys"], {}, self._asked)
        self._whole = True
        return CelError(f"{self.read.label}: {self.missing}")

    @property
    def missing(self) -> str:
        """Describe the objects that were used but not recorded; empty if none."""
        if self._whole:
            return "only the keys that were looked up were recorded"
        unknown = [each for each in self._asked if each not in self._entry["keys"]]
        return f"key {unknown[0]!r} was not recorded" if unknown else ""
