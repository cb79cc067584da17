"""The estimated cost of expressions: rules of cel-go, and that what runs stays within them."""

import pytest

from policyd._core.eval.estimates import MOST, Range
from policyd._core.lib.libraries import KNOWN_LIBRARIES
from policyd.cel.env import Environment
from policyd.cel.estimate.cost import estimate
from policyd.cel.estimate.sizes import measured
from policyd.cel.types.types import BYTES, DYN, INT, STRING, Type, list_of, map_of

# What each variable holds; sizes are measured of that.
GIVEN: dict[str, tuple[Type, object]] = {
    "n": (INT, 7),
    "text": (STRING, "a text of some characters"),
    "raw": (BYTES, b"\x00\x01\x02"),
    "names": (list_of(STRING), ["b", "aaaaaaaaaaaaaaaaaaaa", ""]),
    "numbers": (list_of(INT), [3, 1, 2]),
    "labels": (map_of(STRING, STRING), {"app": "web", "tier": "a long one of letters"}),
    "matrix": (list_of(list_of(INT)), [[1, 2], [3], []]),
    "o": (DYN, {"spec": {"items": [{"name": "a"}, {"name": "bcd"}], "n": 2}}),
}
ENVIRONMENT = Environment.kubernetes().extend({name: kind for name, (kind, _) in GIVEN.items()})
VALUES = {name: value for name, (_, value) in GIVEN.items()}


SIZES = measured(VALUES)

ROWS = [
    ("n", 1, 1),
    ("n + 1 > 2", 3, 3),
    ("text + text", 7, 7),
    ("text == 'short'", 2, 2),
    ("has(labels.app)", 1, 1),
    ("labels.app", 2, 2),
    ("names[1].contains('aa')", 2, 4),
    ("[1, 2].map(x, x * 2)", 49, 49),
    ("names.all(x, x.contains('a'))", 11, 20),
    ("numbers.filter(x, x > n)", 24, 60),
    ("text.matches('^[a-z]+$')", 7, 7),
    ("n > 1 ? text.lowerAscii() : ''", 2, 6),
    ("n > 1 && text.contains('x')", 2, 6),
    ("dyn(text).size()", 3, 3),
    ("[text, 'x'].sortBy(t, t.size())", 81, 81),
    ("optional.of(n).optMap(v, v + 1).orValue(0)", 5, 20),
    ("Object{spec: Object.spec{x: n}}", 81, 81),
    ("text.split(' ', 2).size()", 7, 7),
    ("text.replace('a', 'bbb').size()", 7, 7),
    ("names.join(',')", 2, 8),
    ("strings.quote(text) + 'x'", 7, 10),
    ("raw == bytes(text)", 6, 6),
]


@pytest.mark.parametrize(("text", "least", "most"), ROWS, ids=[row[0] for row in ROWS])
def test_rules(text: str, least: int, most: int) -> None:
    assert estimate(ENVIRONMENT.check(text), SIZES) == Range(least, most)


# cel-go charges startsWith, endsWith and join by other sizes than it estimates: not here.
RUNNING = [row[0] for row in ROWS if "join" not in row[0]] + [
    "names.exists(x, x == 'b' || x.size() > 30)",
    "labels.all(k, v, k.matches('^[a-z]+$') && v != '')",
    "labels.transformMap(k, v, v + v)",
    "matrix.map(row, row.sum()).max()",
    "matrix.flatten().distinct().size()",
    "names.map(x, x.upperAscii().trim()).filter(x, x != '').size()",
    "o.spec.items.all(i, i.name.size() < 64)",
    "o.spec.items.map(i, i.name)[0] + '-' + string(o.spec.n)",
    "o.spec.?nope.orValue('x') == 'x'",
    "'a' in names || n in numbers",
    "sets.intersects(names, ['a', 'b'])",
    "quantity('1Gi').isGreaterThan(quantity(string(n)))",
    "names.map(x, {'n': x})[0].n",
    "[text].map(t, t.find('[a-z]+'))[0] != ''",
]


@pytest.mark.parametrize("text", RUNNING)
def test_what_runs_stays_below_the_estimate(text: str) -> None:
    _, cost = ENVIRONMENT.compile(text).evaluate_with_cost(VALUES)
    found = estimate(ENVIRONMENT.check(text), SIZES, dyn_fields=True)
    assert cost <= found.max < MOST


def test_nothing_bounds_what_is_not_known() -> None:
    checked = ENVIRONMENT.check("names.all(x, x != '')")
    assert estimate(checked) == Range(2, MOST)
    assert estimate(ENVIRONMENT.check("o.spec.n")) == Range(1, 1)
    assert estimate(ENVIRONMENT.check("o.spec.n"), dyn_fields=True) == Range(3, 3)


def test_every_function_that_charges_more_than_a_unit_has_an_estimate() -> None:
    rows = [row for library in KNOWN_LIBRARIES for row in library.overloads]
    assert [row.id for row in rows if row.charges and row.estimate is None] == []
