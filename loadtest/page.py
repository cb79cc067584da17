"""Write the figures of a campaign into docs/develop/load.md, and its curve into load-curve.svg.

``python -m loadtest.page [SUMMARY]``; SUMMARY is ``build/loadtest/summary.json`` unless given.
"""

import json
import sys
from pathlib import Path
from typing import Any

from loadtest.curve import Point, drawn
from loadtest.policies import ROOT

PAGE = ROOT / "docs/develop/load.md"
CURVE = PAGE.with_name("load-curve.svg")
BEGIN, END = "<!-- figures: python -m loadtest.page -->\n", "<!-- end of figures -->\n"
PERCENTILES = ("p50", "p95", "p99")
JSON = dict[str, Any]


def main() -> int:
    """Write both files."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/loadtest/summary.json"
    summary = json.loads(file.read_bytes())
    PAGE.write_text(replaced(PAGE.read_text(), figures(summary)))
    CURVE.write_text(drawn(curves(summary)))
    print(f"written: {PAGE.relative_to(ROOT)}, {CURVE.relative_to(ROOT)}")
    return 0


def replaced(page: str, figures: str) -> str:
    """The page with other figures."""
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{PAGE}: the lines {BEGIN.strip()} and {END.strip()} are missing")
    return before + BEGIN + figures + END + after


def figures(summary: JSON) -> str:
    """The table of all runs, and that of the steps of the ramp."""
    machine, runs = summary["machine"], summary["runs"]
    lines = [
        "",
        f"{machine['processors']} processors ({machine['machine']}), Python {machine['python']}.",
        "",
        "| run | users | reviews | per second | p50 | p95 | p99 | server p50 | server p99 |"
        " CPU of the server | failures |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        *(row(each) for each in runs),
    ]
    for run in runs:
        if run["plan"]["name"] == "ramp" and run["steps"]:
            lines += ["", *ramp(run["steps"])]
    return "\n".join(lines) + "\n\n"


def row(run: JSON) -> str:
    """One run."""
    plan, server = run["plan"], run["server"]
    cells = [
        plan["name"].replace("-new-connections", ", a connection each"),
        str(plan["peak"]),
        f"{run['reviews']:,}",
        f"{run['per_second']:,.0f}",
        *(milliseconds(run[each]) for each in PERCENTILES),
        *(milliseconds(server.get(f"server_{each}_ms")) for each in ("p50", "p99")),
        f"{run['cpu_us']:.0f} µs",
        str(run["failures"]),
    ]
    return f"| {' | '.join(cells)} |"


def ramp(steps: list[JSON]) -> list[str]:
    """The steps of a ramp."""
    return [
        "| users of the ramp | per second | p50 | p95 | p99 |",
        "|--:|--:|--:|--:|--:|",
        *(
            f"| {each['users']} | {each['per_second']:,.0f} |"
            f" {' | '.join(milliseconds(each[name]) for name in PERCENTILES)} |"
            for each in steps
        ),
    ]


def milliseconds(value: float | None) -> str:
    """A latency; empty if it was not measured."""
    if value == 0:
        return "< 1 ms"  # Locust rounds
    return "" if value is None else f"{value:,.2f} ms" if value < 10 else f"{value:,.0f} ms"


def curves(summary: JSON) -> dict[str, list[Point]]:
    """Latency against throughput, by percentile, of the ramp."""
    steps = [
        step for run in summary["runs"] if run["plan"]["name"] == "ramp" for step in run["steps"]
    ]
    return {name: [Point(each["per_second"], each[name]) for each in steps] for name in PERCENTILES}


if __name__ == "__main__":
    sys.exit(main())
