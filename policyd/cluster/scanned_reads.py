"""The objects of reads in a scanned cluster: each read is listed once, on first use."""

from collections.abc import Callable

from policyd._core.lib.authorization import Failure
from policyd._core.values.errors import CelError
from policyd.admission.lookups.params import KindOf
from policyd.cluster.listing import ApiReader, ApiReadError, list_path, pages
from policyd.cluster.namespaces import kept
from policyd.policy.compile.fields import KeyPath
from policyd.policy.compile.params import key_of
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.compile.reads.read_tables import ReadTable
from policyd.policy.kinds.served_resource import Served

_NAMESPACE = ("metadata", "namespace")


class ScannedReads:
    """A ReadSource that lists a cluster's objects and keeps only the fields that a read uses.
    ``look_up`` returns the resource of a kind, or nothing if it is not served.
    """

    def __init__(
        self, reader: ApiReader, look_up: Callable[[KindOf], tuple[Served, ...] | Failure]
    ) -> None:
        self._reader = reader
        self._look_up = look_up
        self._tables: dict[tuple[CompiledRead, frozenset[KeyPath]], ReadTable | CelError] = {}

    def table(self, read: CompiledRead) -> ReadTable | CelError:
        """List the objects of a read; return the error if that fails."""
        asked = (read, read.fields)  # equal reads of two policies may use different fields
        made = self._tables.get(asked)
        if made is None:
            made = self._tables[asked] = self._listed(read)
        return made

    def _listed(self, read: CompiledRead) -> ReadTable | CelError:
        kinds = self._look_up(KindOf(read.api_version, read.kind))
        if isinstance(kinds, Failure):
            return CelError(f"{read.label}: {kinds.why}")
        if not kinds:
            why = f"the cluster has no kind {read.kind} of {read.api_version}"
            return CelError(f"{read.label}: {why}")
        (resource, *_) = kinds
        table = ReadTable(read, (resource.group, resource.resource), namespaced=resource.namespaced)
        keep = kept(read.fields | {_NAMESPACE})
        path = list_path(resource, read.place if resource.namespaced else "")
        try:
            for page in pages(self._reader, path):
                for item in page.items:
                    found = {"apiVersion": read.api_version, "kind": read.kind, **item}
                    table.put(key_of(found, resource.namespaced), keep(found))
        except ApiReadError as error:
            return CelError(f"{read.label}: cannot list {path}: {error}")
        return table
