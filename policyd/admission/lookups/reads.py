"""What the policies of one request see of the objects of their reads. Fetches nothing."""

from collections.abc import Callable

from policyd._core.values.errors import CelError
from policyd.admission.review import AdmissionRequest
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.compile.reads.read_tables import ReadSource, Shown


def reads_of(
    source: ReadSource, request: AdmissionRequest
) -> Callable[[CompiledRead], Shown | CelError]:
    """Return what gives the reads of one request. Each is determined once, so that all policies and
    both rounds of mutations see the same.
    """
    seen: dict[CompiledRead, Shown | CelError] = {}

    def shown(read: CompiledRead) -> Shown | CelError:
        known = seen.get(read)
        if known is None:
            table = source.table(read)
            known = table if isinstance(table, CelError) else table.shown_to(request)
            seen[read] = known
        return known

    return shown
