"""What the CEL of Kubernetes 1.38 (cel-go 0.33) answers otherwise than that of 1.37.

The rows are from ``tests/oracle``; ``make differential K8S=1.38`` compares random expressions.
"""

from typing import Any

import pytest

from policyd._core.eval.layout import Layout
from policyd._core.eval.tracing import Tracer
from policyd.cel.env import Environment
from policyd.cel.trace.tracing import plan_traced
from policyd.cli.eval.command import evaluate
from policyd.versions import LATEST, NEWEST

OBJECT = {"items": [{"x": 2}, {"y": 1}, {"x": 3}], "text": "", "long": "ab"}
NO_X, NOT_ITERABLE = "no such key: x", "got 'types.String', expected iterable type"
PANIC = "internal error: interface conversion: ref.Val is *types.baseList, not types.Int"
# An expression; the value or error of 1.37 and its cost; those of 1.38.
ROWS: tuple[tuple[str, tuple[Any, int], tuple[Any, int]], ...] = (
    # What ends because a part of it is an error costs nothing,
    ("1 + int(object.x)", (NO_X, 4), (NO_X, 2)),
    ("object.x + 1", (NO_X, 3), (NO_X, 2)),
    ("[object.x]", (NO_X, 12), (NO_X, 2)),
    ("{object.x: 1}", (NO_X, 32), (NO_X, 2)),
    ("{'a': object.x}", (NO_X, 32), (NO_X, 2)),
    ("Object{a: object.x}", (NO_X, 42), (NO_X, 2)),
    ("'a'.replace(object.x, 'b')", (NO_X, 2), (NO_X, 2)),
    ("'a'.replace('a', 'b', object.x)", (NO_X, 3), (NO_X, 2)),
    ("[1].slice(0, object.x)", (NO_X, 14), (NO_X, 2)),
    ("object.items.map(i, i.x)", (NO_X, 45), (NO_X, 21)),
    ("object.items.transformMap(k, v, v.x)", (NO_X, 14), (NO_X, 13)),
    ("object.items.transformMapEntry(k, v, {k: v.x})", (NO_X, 108), (NO_X, 43)),
    ("object.items.all(i, i.x > 1)", (NO_X, 21), (NO_X, 20)),
    # except for these.
    ("!object.x", (NO_X, 3), (NO_X, 3)),
    ("object.x == 1", (NO_X, 3), (NO_X, 3)),
    ("1 == object.x", (NO_X, 3), (NO_X, 3)),
    ("object.x == ''", (NO_X, 2), (NO_X, 3)),
    ("object.x != ''", (NO_X, 2), (NO_X, 3)),
    # Ranges, NaN
    ("object.text.all(c, false)", (NOT_ITERABLE, 2), (True, 3)),
    ("object.text.map(c, c)", (NOT_ITERABLE, 2), ([], 3)),
    ("object.long.all(c, true)", (NOT_ITERABLE, 2), (NOT_ITERABLE, 2)),
    ("0.0 / 0.0 < 1.0", ("NaN values cannot be ordered", 2), (False, 2)),
    ("object.text <= double('NaN')", ("no such overload", 3), (False, 3)),
    ("dyn([]) < double('NaN')", ("no such overload: _<_", 1), ("no such overload: _<_", 1)),
    # Optional fields
    ("object.items[?object.x]", (NO_X, 3), (NO_X, 4)),
    ("object.items.?a", ("unsupported index type 'string'", 2), ("unsupported index type 'string'", 3)),
    ("has((object.items == [] ? object : object).items)", (True, 2), (True, 3)),
    ("Object{a: 1}.?a", ("optional.none()", 41), ({"optional": 1}, 42)),
    ("Object{a: 1}.?b", ("optional.none()", 41), ("optional.none()", 41)),
    ("dyn('a').contains(dyn(optional.of('')))", ("no such overload", 2), ("no such overload", 3)),
    ("optional.of('') == optional.of('')", (True, 2), (True, 3)),
    # Functions
    ("dyn('a').reverse()", ("reverse(string)", 12), ("reverse(string)", 11)),
    ("lists.range(dyn('a'))", ("lists.range(string)", 12), ("lists.range(string)", 11)),
    ("dyn([1]).flatten(dyn([1]))", (PANIC, 0), ("list(dyn).flatten(list(dyn))", 12)),
    ("dyn([[1]]).flatten(dyn(-1))", ("level must be", 12), ("level must be", 11)),
    ("quantity('1234567890123456789').isInteger()", (False, 3), (True, 3)),
    ("quantity('9223372036854775808').isInteger()", (False, 3), (False, 3)),
    ("quantity('-9223372036854775808').asInteger()", ("cannot convert", 3), (-9223372036854775808, 3)),
    ("quantity('123456789012345678901234567890123')", ("123456789012345678901234567890123", 4),
     ("123456789012345678901234567900k", 4)),
)  # fmt: skip


@pytest.mark.parametrize("version", [NEWEST, LATEST], ids=str)
@pytest.mark.parametrize(("expression", "before", "since"), ROWS, ids=[row[0] for row in ROWS])
def test_values_errors_and_costs(expression: str, before: Any, since: Any, version: Any) -> None:
    want, cost = since if version == LATEST else before
    found = evaluate(expression, {"object": OBJECT}, mode="map", version=version)
    assert found["cost"] == cost
    assert want in found["error"] if "error" in found else found["value"] == want


@pytest.mark.parametrize("expression", [row[0] for row in ROWS])
def test_a_traced_program_costs_as_much(expression: str) -> None:
    checked = Environment.admission(patch_types=True, version=LATEST).check(expression)
    _, cost = plan_traced(checked, Layout(), Tracer()).evaluate_with_cost({"object": OBJECT})
    assert cost == {row[0]: row[2][1] for row in ROWS}[expression]


def test_what_does_not_compile() -> None:
    def error(expression: str, version: Any) -> str:
        found = evaluate(expression, {}, version=version)
        return str(found.get("error", found.get("value")))

    assert "undeclared reference to 'nothing' (in container '')\n" in error("nothing", NEWEST)
    assert "undeclared reference to 'nothing'\n" in error("nothing", LATEST)
    assert "undefined type: .int" in error("[1].map(int, .int)", NEWEST)
    assert error("[1].map(int, .int)", LATEST) == "['int']"
