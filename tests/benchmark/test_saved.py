"""Measurements as documents: what was saved is read again, and what is none is an error."""

from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.benchmark.figures import Figure
from policyd.benchmark.saved import MeasuredInput, Saved, by_name, differences, read, remarks
from policyd.errors import ConfigError
from policyd.json_types import JSON

NUMBERS = st.floats(0, 1e9, allow_nan=False)


def saved(*figures: Figure, policies: str = "a", reviews: str = "b") -> Saved:
    return Saved("core", MeasuredInput(policies, 2), MeasuredInput(reviews, 3), by_name(figures))


@given(rounds=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1), scaled=st.booleans())
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[tuple[float, float]], scaled: bool
) -> None:
    values, yardstick = zip(*rounds, strict=True)
    before = saved(Figure("f", "us", values, yardstick if scaled else (), scaled))
    file = tmp_path_factory.mktemp("saved") / "file.json"
    before.write(file)
    assert read(file, "core") == before


WRONG: dict[str, tuple[JSON, str]] = {
    "list": ([], "expected format 'policyd.dev/bench/v1', got None"),
    "other": ({"format": "v2"}, "expected format 'policyd.dev/bench/v1', got 'v2'"),
    "server": (
        {"format": "policyd.dev/bench/v1", "benchmark": "server"},
        "expected a measurement of policyd bench core, got one of policyd bench server",
    ),
    "incomplete": (
        {"format": "policyd.dev/bench/v1", "benchmark": "core"},
        "not a complete measurement: no field 'policies'",
    ),
}


@pytest.mark.parametrize(("document", "message"), WRONG.values(), ids=WRONG)
def test_what_is_no_measurement_is_an_error(tmp_path: Path, document: JSON, message: str) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(orjson.dumps(document))
    with pytest.raises(ConfigError) as found:
        read(file, "core")
    assert f"--compare {file}: {message}" in str(found.value)
    assert "hint: save one with the option --save of policyd bench core" in str(found.value)


def test_a_figure_with_half_a_yardstick_is_an_error(tmp_path: Path) -> None:
    document = saved(Figure("f", "us", (1.0, 2.0), (1.0, 2.0))).document()
    document["figures"][0]["yardstick"].pop()
    file = tmp_path / "file.json"
    file.write_bytes(orjson.dumps(document))
    with pytest.raises(ConfigError, match="figure f has 2 rounds"):
        read(file, "core")


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--save .*: No such file or directory"):
        saved().write(tmp_path / "no" / "file.json")


def test_other_policies_and_reviews_are_told_apart() -> None:
    now = saved()
    assert differences(now, saved()) == []
    assert differences(now, saved(policies="x")) == ["the policies differ: 2 (x) then, 2 (a) now"]
    assert differences(now, saved(reviews="x")) == ["the reviews differ: 3 (x) then, 3 (b) now"]
    assert differences(replace(now, options={"rate": 5}), now) == [
        "--rate differs: None then, 5 now"
    ]
    assert differences(now, saved(policies="")) == []  # not known


def test_other_machines_and_versions_are_remarked() -> None:
    now = saved()
    then = replace(now, machine={**now.machine, "cpu": "Z80"}, versions={"policyd": "0.0"})
    found = remarks(now, then)
    assert f"machine: cpu Z80 then, {now.machine['cpu']} now" in found
    assert any(each.startswith("versions: policyd 0.0 then, ") for each in found)
    assert remarks(now, now) == []
