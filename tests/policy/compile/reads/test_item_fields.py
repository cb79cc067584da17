"""Which fields of the objects of a read an expression uses: never too few."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.cel.env import Environment
from policyd.policy.compile.fields import KeyPath
from policyd.policy.compile.reads.compiled_reads import INDEX, OBJECTS
from policyd.policy.compile.reads.item_fields import ItemFields

ENVIRONMENT = Environment.admission().extend({"reads.m": INDEX, "reads.l": OBJECTS})


def used(*expressions: str) -> dict[str, set[KeyPath]]:
    """Return what expressions use, of which all but the last are variables v0, v1 ..."""
    fields = ItemFields({"reads.m": 2, "reads.l": 1})
    environment = ENVIRONMENT
    types = {}
    for number, text in enumerate(expressions):
        checked = environment.check(text)
        fields.add(checked.expr, f"v{number}" if number < len(expressions) - 1 else "")
        types[f"v{number}"] = checked.result_type
        environment = ENVIRONMENT.declaring(types)
    return {name.removeprefix("reads."): paths for name, paths in fields.used.items() if paths}


CASES: list[tuple[str, dict[str, set[KeyPath]]]] = [
    (
        "reads.m[?'a'].orValue([]).all(i, i.metadata.namespace == object.metadata.namespace)",
        {"m": {("metadata", "namespace")}},
    ),
    (
        "reads.l.exists(i, i.spec.?a.b.orValue('') == 'x' && i.metadata.labels['z'] == 'q')",
        {"l": {("spec", "a", "b"), ("metadata", "labels", "z")}},
    ),
    ("reads.l.filter(i, i.kind == 'X')[0].spec.q == 1", {"l": {("kind",), ("spec", "q")}}),
    (
        "reads.l.filter(i, i.kind == 'X').map(i, i.metadata.name).join(',') == ''",
        {"l": {("kind",), ("metadata", "name")}},
    ),
    ("size(reads.l) > 3 && 'k' in reads.m", {}),
    ("reads.l.first().hasValue()", {}),
    ("reads.m.all(k, reads.m[k].size() < 2)", {}),
    ("reads.m.all(k, v, v[0].spec.x == k)", {"m": {("spec", "x")}}),
    ("has(reads.l[0].spec.foo)", {"l": {("spec", "foo")}}),
    # What is not followed counts as a whole.
    ("object in reads.l", {"l": {()}}),
    ("reads.l.exists(i, i == object)", {"l": {()}}),
    ("dyn(reads.l[0]).spec.x == 1", {"l": {()}}),
    ("reads.l[0][object.metadata.name] == 1", {"l": {()}}),
    ("reads.l[0].spec.containers.exists(c, c.image == 'x')", {"l": {("spec", "containers")}}),
    ("reads.l[0].spec.ports[0].port == 1", {"l": {("spec", "ports")}}),
    ("[reads.l[0], object].exists(i, i.spec.x == 1)", {"l": {()}}),
    ("(object.a ? reads.l[0] : reads.m['a'][0]).spec.x == 1", {"l": {()}, "m": {()}}),
    ("(object.a ? reads.l[0] : reads.l[1]).spec.x == 1", {"l": {("spec", "x")}}),
    # A macro variable that hides the read.
    ("object.spec.list.exists(l, l.x == 1)", {}),
    # A name that begins with a dot is hidden by no macro.
    (".reads.l[0].spec.x == 1", {"l": {("spec", "x")}}),
    ("[1].exists(reads, .reads.l[0].spec.x == reads)", {"l": {("spec", "x")}}),
]


@pytest.mark.parametrize(("text", "want"), CASES, ids=[case[0][:40] for case in CASES])
def test_what_an_expression_uses(text: str, want: dict[str, set[KeyPath]]) -> None:
    assert used(text) == want


def test_a_variable_is_followed() -> None:
    assert used("reads.m['a']", "variables.v0[0]", "variables.v1.spec.x == 1") == {
        "m": {("spec", "x")}
    }
    assert used("reads.l", "variables.v0.exists(i, i == object)") == {"l": {()}}


ITEMS = st.sampled_from(
    [
        "reads.l[0]",
        "reads.m['a'][0]",
        "reads.l.filter(i, i.spec.f == 1)[0]",
        "reads.m[?'a'].orValue([])[0]",
        "(reads.l + reads.l)[1]",
        "reads.l.first().value()",
        "[reads.l[0]][0]",
    ]
)
PATHS = st.lists(st.sampled_from(["spec", "metadata", "labels", "a"]), min_size=1, max_size=4)


@given(ITEMS, PATHS, st.booleans())
def test_a_field_that_is_read_is_kept(item: str, path: list[str], through_macro: bool) -> None:
    read = ".".join(path)
    text = f"{item}.{read} == 1"
    if through_macro:
        text = f"[{item}].exists(x, x.{read} == 1)"
    found = set[KeyPath]().union(*used(text).values())
    assert any(tuple(path[: len(each)]) == each for each in found)
