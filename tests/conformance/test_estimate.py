"""Estimated costs: Kubernetes' own tests of its libraries, and those of cel-go's extensions."""

from collections.abc import Mapping
from typing import Any

import pytest

from policyd._core.eval.estimates import Range
from policyd.cel.check.checker import check
from policyd.cel.env import AUTHORIZER
from policyd.cel.estimate.cost import SizePath, Sizes, estimate
from policyd.cel.syntax.parser import parse
from policyd.cel.types.declarations import OverloadDecl, Scope, group, parse_signature, parse_type
from policyd.cel.types.functions import functions as known
from policyd.cel.types.structs import Structs
from policyd.cel.types.types import Type
from policyd.versions import NEWEST
from tests.shared import conformance

Row = dict[str, Any]
Capture = pytest.CaptureFixture[str]


def functions(*, optionals: bool = True) -> Mapping[str, tuple[OverloadDecl, ...]]:
    """Those of our libraries; some of cel-go's tests have no optionals, nor their indexes."""
    return group(
        parse_signature(row.signature, row.name, row.id)
        for row in known(NEWEST).by_id.values()
        if optionals or "optional_type" not in row.signature
    )


def judge(row: Row, variables: Mapping[str, Type], sizes: Sizes, want: dict[str, int]) -> str:
    """What is wrong; empty if nothing is. As in the tests, literals of mixed types pass."""
    declared = functions(optionals="optionals" in row.get("env", ("optionals",)))
    checked = check(row["expr"], parse(row["expr"]), Scope(variables, declared, Structs({})))
    found = estimate(checked, sizes)
    return "" if found._asdict() == want else f"{found}, not {want}"


def test_estimates_of_the_libraries_of_kubernetes(capsys: Capture) -> None:
    def sizes(path: SizePath, kind: Type) -> Range | None:
        return Range(0, 12) if kind.name in ("string", "bytes") else None

    rows = conformance("k8s-cel-library/cost-tests.jsonl")
    variables = {"authorizer": AUTHORIZER}
    outcomes = {
        f"{number} {row['expr']}": judge(row, variables, sizes, row["estimated_cost"])
        for number, row in enumerate(rows)
    }
    report("k8s-cel-library", len(rows), outcomes, capsys)


# The sizes that cel-go's test gives with these rows, which do not carry them.
HINTS = {
    "m.all(i, v, i < 5 && v > 0)": {"m": 3},
    "m.all(k, v, k < v)": {"m": 3, "m.@keys": 16, "m.@values": 128},
    "m.transformMap(k, v, k.startsWith('legacy') && v.size() == 1, v + [2]) == {'legacy-solo': [1, 2]}": {
        **{"m": 5, "m.@keys": 16},
        **{"m.@values": 10, "m.@values.@items": 2},
    },
    "m.transformMapEntry(k, v, {v: k}) == m.transformMapEntry(k, v, {v: k})": {
        **{"m": 5, "m.@keys": 16},
        **{"m.@values": 10},
    },
}


def hinted(row: Row) -> Sizes:
    hints = row.get("hints") or HINTS.get(row["expr"], {})

    def sizes(path: SizePath, kind: Type) -> Range | None:
        most = hints.get(".".join(path))
        return None if most is None else Range(0, most)

    return sizes


def test_estimates_of_cel_go(capsys: Capture) -> None:
    rows = [row for row in conformance("cel-go/tables.jsonl") if "estimated_cost" in row["expect"]]
    outcomes = {}
    for row in rows:
        variables = {each["name"]: parse_type(each["type"]) for each in row.get("vars", ())}
        outcomes[row["expr"]] = judge(row, variables, hinted(row), row["expect"]["estimated_cost"])
    report("cel-go", len(rows), outcomes, capsys)


def report(name: str, rows: int, outcomes: Mapping[str, str], capsys: Capture) -> None:
    failures = {name: outcome for name, outcome in outcomes.items() if outcome}
    with capsys.disabled():
        print(f"\nestimates of {name}: {len(outcomes) - len(failures)} passed of {rows}")
    assert failures == {}
