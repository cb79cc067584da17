"""What policies use of their reads: the fields that are kept, and whether an index is only looked up."""

from typing import Any

import pytest

from policyd.policy.compile.reads.compiled_reads import CompiledRead
from tests.builders.reads import HOSTS, compiled, compiled_read, reading

HOST: tuple[str, ...] = ("data", "hosts")
NAME: tuple[str, ...] = ("metadata", "name")
FIELDS: dict[str, tuple[dict[str, Any], tuple[str, ...], set[tuple[str, ...]]]] = {
    "a field of each": ({}, ("reads.maps.all(m, m.metadata.name != 'x')",), {NAME}),
    "two expressions": (
        {},
        ("reads.maps.exists(m, has(m.data))", "reads.maps[0].metadata.name == ''"),
        {("data",), NAME},
    ),
    "only how many": ({}, ("reads.maps.size() < 3",), set()),
    "the whole object": ({}, ("reads.maps.all(m, m != object)",), {()}),
    "by key": (
        {"key": HOSTS},
        ("reads.maps[?'x'].orValue([]).all(m, m.metadata.name == 'a')",),
        {HOST, NAME},
    ),
    "only whether a key is there": ({"key": HOSTS}, ("'x' in reads.maps",), {HOST}),
    "keys of the index": ({"key": HOSTS}, ("reads.maps.all(k, k != 'x')",), {HOST}),
    "a selector": (
        {"labelSelector": {"matchLabels": {"a": "b"}}},
        ("reads.maps.size() == 0",),
        {("metadata", "labels")},
    ),
    "optional fields": ({}, ("reads.maps.all(m, m.?spec.?a.orValue(1) == 1)",), {("spec", "a")}),
    "a key that is computed": (
        {},
        ("reads.maps.all(m, m.data[object.metadata.name] == '')",),
        {("data",)},
    ),
}


@pytest.mark.parametrize(("read", "expressions", "want"), FIELDS.values(), ids=FIELDS.keys())
def test_fields_that_are_used(
    read: dict[str, Any], expressions: tuple[str, ...], want: set[tuple[str, ...]]
) -> None:
    assert compiled_read(*expressions, **read).fields == want


def looked_up(*expressions: str, **fields: Any) -> bool:
    """Whether the policy only looks up keys in the index of its read."""
    document = reading(*expressions, key=HOSTS)
    document["spec"] |= fields
    plan = compiled(document).policies[0].validation
    assert plan is not None
    ((_, read, keyed),) = plan.frame.reads
    assert isinstance(read, CompiledRead)
    return bool(keyed)


VARIABLE = [{"name": "m", "expression": "reads.maps"}]
LOOKED_UP: dict[str, tuple[tuple[str, ...], dict[str, Any], bool]] = {
    "a key": (("size(reads.maps['x']) == 1",), {}, True),
    "an optional key": (("reads.maps[?object.metadata.name].orValue([]) == []",), {}, True),
    "a field": (("reads.maps.x == []",), {}, True),
    "an optional field": (("reads.maps.?x.hasValue()",), {}, True),
    "has": (("has(reads.maps.x)",), {}, True),
    "in": (("'x' in reads.maps",), {}, True),
    "in a macro": (("['x'].all(x, x in reads.maps && reads.maps[x].size() == 1)",), {}, True),
    "by a variable": (
        ("variables.m == []",),
        {"variables": [{"name": "m", "expression": "reads.maps['x']"}]},
        True,
    ),
    "size": (("reads.maps.size() == 1",), {}, False),
    "a macro of it": (("reads.maps.all(k, k != 'x')",), {}, False),
    "equality": (("reads.maps == {}",), {}, False),
    "as an element": (("reads.maps in [reads.maps]",), {}, False),
    "an index that is a key": (("{1: 2}[?reads.maps.size()].hasValue()",), {}, False),
    "the whole as a variable": (("'x' in variables.m",), {"variables": VARIABLE}, False),
    "one of two": (("'x' in reads.maps", "reads.maps.size() == 1"), {}, False),
    "in a branch": (("'x' in (true ? reads.maps : {})",), {}, False),
    "in a message": (
        (),
        {
            "validations": [
                {
                    "expression": "'x' in reads.maps",
                    "messageExpression": "string(reads.maps.size())",
                }
            ]
        },
        False,
    ),
}


@pytest.mark.parametrize(
    ("expressions", "fields", "want"), LOOKED_UP.values(), ids=LOOKED_UP.keys()
)
def test_an_index_is_looked_up_or_used_as_a_whole(
    expressions: tuple[str, ...], fields: dict[str, Any], want: bool
) -> None:
    assert looked_up(*expressions, **fields) is want
