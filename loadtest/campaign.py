"""Run Locust with every shape against policyd, while Prometheus scrapes it.

``make loadtest``, or ``python -m loadtest.campaign --help``. For each run there are Locust's HTML
report and its statistics in the output folder, and a row in ``summary.json``, of which
``python -m loadtest.page`` makes docs/develop/load.md. The exit status is 1 if a response was a
failure, 2 if something is missing.
"""

import argparse
import csv
import json
import os
import platform
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from loadtest.policies import ROOT
from loadtest.servers import (
    SCRAPE_SECONDS,
    CampaignError,
    Prometheus,
    Server,
    scraping,
    serving,
)
from loadtest.stages import SHAPES, users_at

TICKS = os.sysconf("SC_CLK_TCK")
# Locust's percentiles of the last seconds, which its statistics have for each second.
WINDOW_SECONDS = 10.0
# What Prometheus measured at the server; %s is the length of the run.
QUERIES = {
    **{
        f"server_p{percent}_ms": (
            f"1000*histogram_quantile({percent / 100},"
            "sum by(le)(rate(policyd_admission_duration_seconds_bucket[%s])))"
        )
        for percent in (50, 99)
    },
    "denied_share": (
        'sum(increase(policyd_admission_requests_total{webhook="validate",result="denied"}[%s]))'
        '/sum(increase(policyd_admission_requests_total{webhook="validate"}[%s]))'
    ),
    "memory_mib_first": "min_over_time(process_resident_memory_bytes[%s])/1048576",
    "memory_mib_last": "max_over_time(process_resident_memory_bytes[%s])/1048576",
    "scrape_seconds": "avg_over_time(scrape_duration_seconds[%s])",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """One run of Locust."""

    name: str
    shape: str
    peak: int
    length: float
    new_connections: bool = False


@dataclass(slots=True)
class Run:
    """What a run measured: latencies in milliseconds, as Locust's users saw them."""

    plan: Plan
    reviews: int
    failures: int
    per_second: float
    p50: float
    p95: float
    p99: float
    cpu_us: float  # of the server, for each review
    steps: list[dict[str, float]] = field(default_factory=list)
    server: dict[str, float | None] = field(default_factory=dict)


def plans(peak: int, length: float, soak: float) -> list[Plan]:
    """All runs of a campaign."""
    made = []
    for new_connections in (False, True):
        suffix = "-new-connections" if new_connections else ""
        for shape in SHAPES:
            made.append(Plan(f"{shape}{suffix}", shape, peak, length, new_connections))
    made.append(Plan("soak", "steady", max(1, peak // 4), soak))
    return made


def main() -> int:
    """Run the campaign; return its exit status."""
    options = parser().parse_args()
    folder = Path(options.output).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [
        each
        for each in plans(options.peak, options.length, options.soak)
        if not options.only or each.name in options.only
    ]
    unknown = set(options.only) - {each.name for each in chosen}
    if unknown:
        known = ", ".join(each.name for each in plans(1, 1, 1))
        print(f"unknown runs: {', '.join(sorted(unknown))}; there are {known}", file=sys.stderr)
        return 2
    try:
        runs = campaign(folder, chosen, options)
    except CampaignError as error:
        print(error, file=sys.stderr)
        return 2
    summary = {"machine": machine(), "runs": [asdict(each) for each in runs]}
    (folder / "summary.json").write_text(json.dumps(summary, indent=1))
    print(f"reports: {folder}/*.html; summary: {folder / 'summary.json'}")
    return 1 if any(each.failures for each in runs) else 0


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="python -m loadtest.campaign", description=(__doc__ or "").split("\n\n", 1)[0]
    )
    made.add_argument("--peak", type=int, default=64, help="users at most (default: 64)")
    made.add_argument("--length", type=float, default=70.0, help="seconds of a run (default: 70)")
    made.add_argument(
        "--soak", type=float, default=600.0, help="seconds of the run that soaks (default: 600)"
    )
    made.add_argument("--only", nargs="*", default=[], metavar="RUN", help="only these runs")
    made.add_argument("--output", default=str(ROOT / "build/loadtest"), help="folder of reports")
    made.add_argument(
        "--prometheus",
        default=str(ROOT / "build/node/bin/prometheus"),
        help="program (default: that of `make node`)",
    )
    made.add_argument("--no-prometheus", action="store_true", help="measure without Prometheus")
    return made


def campaign(folder: Path, chosen: list[Plan], options: argparse.Namespace) -> list[Run]:
    """Run all; the server and the others have processors of their own if there are two."""
    available = sorted(os.sched_getaffinity(0))
    runs = []
    with ExitStack() as stack:
        server = stack.enter_context(serving(folder, set(available[:1])))
        if len(available) > 1:
            os.sched_setaffinity(0, set(available[1:]))
        prometheus = None
        if not options.no_prometheus:
            made = scraping(folder, Path(options.prometheus), server)
            prometheus = stack.enter_context(made)
        for number, plan in enumerate(chosen, 1):
            print(f"{number}/{len(chosen)} {plan.name}, {plan.length:g} s", flush=True)
            run = measured(plan, folder, server, prometheus)
            print(
                f"  {run.reviews} reviews, {run.failures} failures, {run.per_second:.0f}/s,"
                f" p50 {run.p50:g} ms, p99 {run.p99:g} ms, {run.cpu_us:.0f} us of CPU each",
                flush=True,
            )
            runs.append(run)
    return runs


def measured(plan: Plan, folder: Path, server: Server, prometheus: Prometheus | None) -> Run:
    """Run Locust once."""
    report, prefix = folder / f"{plan.name}.html", folder / plan.name
    command = [
        sys.executable,
        "-m",
        "locust",
        "--headless",
        "--only-summary",
        "--json",
        "-f",
        "loadtest/locustfile.py,loadtest/shapes.py",
        "--host",
        server.reviews,
        "--shape",
        plan.shape,
        "--peak",
        str(plan.peak),
        "--length",
        str(plan.length),
        "--html",
        str(report),
        "--csv",
        str(prefix),
        "--csv-full-history",
        *(["--new-connections"] if plan.new_connections else []),
    ]
    before, began = processor_seconds(server.pid), time.time()
    with (folder / f"{plan.name}.log").open("w") as log:
        done = subprocess.run(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True, check=False
        )
    used, ended = processor_seconds(server.pid) - before, time.time()
    if done.returncode not in (0, 1) or not report.exists():
        raise CampaignError(f"locust failed: see {folder / plan.name}.log")
    total = rows(Path(f"{prefix}_stats.csv"))[-1]
    reviews = int(total["Request Count"])
    if not reviews:
        raise CampaignError(f"no request was answered: see {folder / plan.name}.log")
    run = Run(
        plan,
        reviews,
        int(total["Failure Count"]),
        float(total["Requests/s"]),
        p50=float(total["50%"]),
        p95=float(total["95%"]),
        p99=float(total["99%"]),
        cpu_us=used / reviews * 1e6,
        steps=steps(plan, rows(Path(f"{prefix}_stats_history.csv"))),
    )
    if prometheus is not None:
        length = f"{max(2 * SCRAPE_SECONDS, round(ended - began))}s"
        run.server = {
            name: prometheus.value(query.replace("%s", length), ended)
            for name, query in QUERIES.items()
        }
    return run


def steps(plan: Plan, history: list[dict[str, str]]) -> list[dict[str, float]]:
    """The last second of each number of users, whose percentiles are of that number only."""
    stages = SHAPES[plan.shape]
    if plan.length / len(stages) < WINDOW_SECONDS:
        return []
    total = [row for row in history if row["Name"] == "Aggregated"]
    start = int(total[0]["Timestamp"])
    found = []
    for stage in stages:
        end = start + stage.until * plan.length - 1.5
        row = min(total, key=lambda each: abs(int(each["Timestamp"]) - end))
        if row["50%"] == "N/A":
            continue
        found.append(
            {
                "users": users_at(plan.shape, plan.peak, stage.until - 1e-6) or 0,
                "per_second": float(row["Requests/s"]),
                **{f"p{each}": float(row[f"{each}%"]) for each in (50, 95, 99)},
            }
        )
    return found


def rows(file: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with file.open() as stream:
        return list(csv.DictReader(stream))


def processor_seconds(pid: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def machine() -> dict[str, Any]:
    """Where it was measured."""
    return {
        "processors": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }


if __name__ == "__main__":
    sys.exit(main())
