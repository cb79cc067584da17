"""Measurements as documents: what was saved is read again, and what is none is an error."""

from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.benchmark.figures import Figure
from policyd.benchmark.saved import MeasuredInput, Saved, read
from policyd.errors import ConfigError
from policyd.json_types import JSON

NUMBERS = st.floats(0, 1e9, allow_nan=False)


def saved(*figures: Figure) -> Saved:
    named = {each.name: each for each in figures}
    return Saved("core", MeasuredInput("a", 2), MeasuredInput("b", 3), named)


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
        "not a complete measurement: no field 'figures'",
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
    document["figures"][0]["yardstick"] = [1.0]
    file = tmp_path / "file.json"
    file.write_bytes(orjson.dumps(document))
    with pytest.raises(ConfigError, match="figure f has 2 rounds"):
        read(file, "core")


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--save .*: No such file or directory"):
        saved().write(tmp_path / "no" / "file.json")
