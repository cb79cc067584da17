"""What the policies of one request see of the objects of their reads. Fetches nothing."""

from collections.abc import Callable

from policyd._core.values.errors import CelError
from policyd._core.values.types import KeyedMap
from policyd.admission.lookups.recorded_reads import SeenReads
from policyd.admission.review import AdmissionRequest
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.compile.reads.read_tables import ReadSource, Shown, ShownTable


def reads_of(
    source: ReadSource, request: AdmissionRequest, noted: SeenReads | None = None
) -> Callable[[CompiledRead, bool], Shown | CelError]:
    """Return what gives the reads of one request; the flag says whether a policy only looks up keys
    in one. Policies see the same while nothing changes in the cluster. ``noted``: notes it.
    """
    seen: dict[tuple[ShownTable, bool], tuple[int, Shown | CelError]] = {}

    def shown(read: CompiledRead, keyed: bool) -> Shown | CelError:
        table = source.table(read)
        if isinstance(table, CelError):
            return table
        known = seen.get((table, keyed))
        if known is not None and known[0] == table.changes:
            return known[1]
        found = table.shown_to(request, keyed=keyed)
        seen[table, keyed] = table.changes, found
        return found

    if noted is None:
        return shown

    def noting(read: CompiledRead, keyed: bool) -> Shown | CelError:
        found = shown(read, keyed)
        if keyed and isinstance(found, dict):
            found = KeyedMap({}, found)
        return noted.note(read, found)

    return noting
