"""A short campaign, with Prometheus where it is built, and the page that is made of it."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from loadtest.curve import Point, drawn
from loadtest.page import BEGIN, END, curves, figures, replaced
from loadtest.stages import SHAPES, users_at
from tests import programs
from tests.shared import ROOT


def campaign(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "loadtest.campaign", "--output", str(folder), *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.slow
def test_a_campaign_leaves_reports_and_a_summary(tmp_path: Path) -> None:
    prometheus = programs.folder() / "prometheus"
    given = ["--prometheus", str(prometheus)] if prometheus.exists() else ["--no-prometheus"]
    short = ("--peak", "4", "--length", "2", "--soak", "2")
    done = campaign(tmp_path, *short, *given, "--only", "steady-new-connections", "soak")
    assert done.returncode == 0, done.stdout + done.stderr
    runs = json.loads((tmp_path / "summary.json").read_text())["runs"]
    assert [each["plan"]["name"] for each in runs] == ["steady-new-connections", "soak"]
    for run in runs:
        assert (run["failures"], run["reviews"] > 0, run["cpu_us"] > 0) == (0, True, True)
        report = (tmp_path / f"{run['plan']['name']}.html").read_text()
        assert "/validate" in report
        assert not prometheus.exists() or run["server"]["memory_mib_last"] > 1
    assert "| soak | 1 |" in figures(
        {"machine": dict.fromkeys(("processors", "machine", "python")), "runs": runs}
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--only", "sprint"), "unknown runs: sprint; there are steady, ramp, spike"),
        (("--prometheus", "/nowhere"), "/nowhere does not exist: build it with"),
    ],
)
def test_what_is_missing_is_an_error_with_a_remedy(
    tmp_path: Path, arguments: tuple[str, ...], expected: str
) -> None:
    done = campaign(tmp_path, "--length", "2", *arguments)
    assert (done.returncode, expected in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_reaches_its_peak_and_ends(shape: str) -> None:
    users = [users_at(shape, 64, part / 1000) for part in range(1000)]
    assert max(each or 0 for each in users) == 64
    assert None not in users
    assert users_at(shape, 64, 1.0) is None


def test_the_ramp_doubles() -> None:
    assert [users_at("ramp", 64, (step + 0.5) / 7) for step in range(7)] == [1, 2, 4, 8, 16, 32, 64]


STEPS = [
    {"users": 1, "per_second": 900.0, "p50": 0.9, "p95": 1.5, "p99": 3.0},
    {"users": 2, "per_second": 1500.0, "p50": 1.1, "p95": 2.5, "p99": 12.0},
]
RAMP = {
    "plan": {"name": "ramp", "peak": 2},
    **{"reviews": 12345, "failures": 0, "per_second": 1200.0, "cpu_us": 190.0},
    **{"p50": 1.0, "p95": 2.0, "p99": 9.0, "steps": STEPS, "server": {"server_p50_ms": 0.2}},
}
SUMMARY = {"machine": {"processors": 2, "machine": "x86_64", "python": "3.11"}, "runs": [RAMP]}


def test_the_page_has_the_figures() -> None:
    page = replaced(f"before\n{BEGIN}old\n{END}after\n", figures(SUMMARY))
    assert page.startswith("before\n") and page.endswith("after\n") and "old" not in page
    assert (
        "| ramp | 2 | 12,345 | 1,200 | 1.00 ms | 2.00 ms | 9.00 ms | 0.20 ms |  | 190 µs | 0 |"
        in page
    )
    assert "| 2 | 1,500 | 1.10 ms | 2.50 ms | 12 ms |" in page


def test_the_curve_has_a_line_for_each_percentile() -> None:
    assert curves(SUMMARY)["p99"] == [Point(900.0, 3.0), Point(1500.0, 12.0)]
    root = ElementTree.fromstring(drawn(curves(SUMMARY)))
    places = [each for each in root if each.tag.endswith("circle")]
    assert len(places) == 6
    labels = [each for each in root if each.tag.endswith("text") and "p" in (each.text or "")[1:3]]
    assert len({each.attrib["x"] for each in labels}) == len(labels) == 3
    # More latency is higher, more throughput further to the right.
    assert float(places[1].attrib["cx"]) > float(places[0].attrib["cx"])
    assert float(places[5].attrib["cy"]) < float(places[4].attrib["cy"])


def test_the_page_of_the_docs_has_a_place_for_figures() -> None:
    page = (ROOT / "docs/develop/load.md").read_text()
    assert replaced(page, "") != page
