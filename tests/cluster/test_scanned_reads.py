"""Reads of a cluster that is scanned: each is listed once, with the fields that its policy uses."""

from collections.abc import Mapping

from policyd.admission.lookups.params import KindOf
from policyd.cluster.scanned_reads import ScannedReads
from policyd.json_types import JSONObject
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.compile.reads.read_tables import ReadTable
from policyd.policy.kinds.served_resource import Served
from tests.builders.reads import Request, compiled_read, config_map

NOBODY = Request("shop", "")


class Maps:
    """A cluster of one ConfigMap."""

    def __init__(self) -> None:
        self.lists = 0

    def get(self, path: str, query: Mapping[str, str] | None = None) -> JSONObject:
        self.lists += 1
        return {"items": [config_map("a", color="blue")]}

    def kind(self, question: KindOf) -> tuple[Served, ...]:
        return (Served("", "v1", "configmaps", question.kind, True),)


def shown(reads: ScannedReads, read: CompiledRead) -> JSONObject:
    table = reads.table(read)
    assert isinstance(table, ReadTable)
    shown = table.shown_to(NOBODY)
    assert isinstance(shown, list)
    (found,) = shown
    return found


def test_equal_reads_of_two_policies_keep_the_fields_of_each() -> None:
    maps = Maps()
    reads = ScannedReads(maps, maps.kind)
    by_name = compiled_read("reads.maps.all(m, m.metadata.name != '')")
    by_label = compiled_read("reads.maps.all(m, m.metadata.labels.color == 'blue')")
    assert by_name == by_label
    assert "labels" not in shown(reads, by_name)["metadata"]
    assert shown(reads, by_label)["metadata"]["labels"] == {"color": "blue"}
    assert "labels" not in shown(reads, by_name)["metadata"]
    assert maps.lists == 2
