"""Run every query of a Grafana dashboard against a Prometheus, with its variables as Grafana sets them.

``query_dashboard.py URL DASHBOARD`` prints each query with the number of its series that have values,
and exits with 1 if one has none. Needs nothing but Python.
"""

import argparse
import json
import math
import re
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LABEL_VALUES = re.compile(r"label_values\((.*), *(\w+)\)")


@dataclass(frozen=True, slots=True)
class Result:
    """A query, and how many of its series have a value that is a number."""

    panel: str
    expression: str
    series: int


def panels(dashboard: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The panels with queries, those in collapsed rows included."""
    for each in dashboard["panels"]:
        yield from (inner for inner in each.get("panels", ()))
        if each["type"] != "row":
            yield each


def expressions(dashboard: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The title of a panel, and one of its queries, as written."""
    for panel in panels(dashboard):
        for target in panel["targets"]:
            yield str(panel["title"]), str(target["expr"])


def variables(dashboard: Mapping[str, Any]) -> dict[str, str]:
    """The value that each variable has when the dashboard is opened: of those with All, all."""
    values = {}
    for each in dashboard["templating"]["list"]:
        if each.get("includeAll"):
            values[each["name"]] = each["allValue"]
        elif each["type"] == "custom":
            values[each["name"]] = each["current"]["value"]
    return values


def substituted(expression: str, values: Mapping[str, str]) -> str:
    """The query as Grafana sends it."""
    for name, value in values.items():
        expression = expression.replace(f"${{{name}}}", value)
        expression = re.sub(rf"\${re.escape(name)}(?!\w)", value.replace("\\", r"\\"), expression)
    return expression


def ask(url: str, path: str, parameters: Mapping[str, str]) -> Any:
    """The data of an answer of Prometheus; SystemExit with its error if it refuses the query."""
    query = urllib.parse.urlencode(parameters)
    try:
        with urllib.request.urlopen(f"{url}/api/v1/{path}?{query}", timeout=300) as answer:
            return json.loads(answer.read())["data"]
    except urllib.error.HTTPError as error:
        with error:
            raise SystemExit(f"{query}: {error.read().decode()}") from None


def series(url: str, expression: str, seconds: int) -> int:
    """The number of series with a value in the time shown."""
    now = time.time()
    shown = {"start": str(now - seconds), "end": str(now), "step": str(max(1, seconds // 100))}
    data = ask(url, "query_range", {"query": expression, **shown})
    return sum(
        any(math.isfinite(float(value)) for _, value in each["values"]) for each in data["result"]
    )


def results(
    url: str, dashboard: Mapping[str, Any], *, seconds: int = 300, rate_interval: str = "1m"
) -> Iterator[Result]:
    """What each query of the panels gives, then what the variables list."""
    values = {
        **variables(dashboard),
        "__rate_interval": rate_interval,
        "__interval": "15s",
        "__range": f"{seconds}s",
    }
    for title, expression in expressions(dashboard):
        yield Result(title, expression, series(url, substituted(expression, values), seconds))
    for each in dashboard["templating"]["list"]:
        if each["type"] == "query":
            found = LABEL_VALUES.fullmatch(each["definition"])
            assert found, each["definition"]
            match = {"match[]": substituted(found[1], values)}
            listed = ask(url, f"label/{found[2]}/values", match)
            yield Result(f"variable {each['name']}", each["definition"], len(listed))


def main() -> int:
    parser = argparse.ArgumentParser(description="Run every query of a Grafana dashboard.")
    parser.add_argument("url", help="address of Prometheus, such as http://127.0.0.1:9090")
    parser.add_argument("dashboard", type=Path, help="JSON file of the dashboard")
    parser.add_argument("--seconds", type=int, default=300, help="time shown, until now (300)")
    parser.add_argument("--rate-interval", default="1m", help="$__rate_interval (1m)")
    parser.add_argument(
        "--may-be-empty",
        action="append",
        default=[],
        metavar="TEXT",
        help="queries with this text, such as the name of a metric, may have no series",
    )
    given = parser.parse_args()
    dashboard = json.loads(given.dashboard.read_text())
    empty = 0
    for each in results(
        given.url.rstrip("/"), dashboard, seconds=given.seconds, rate_interval=given.rate_interval
    ):
        excused = any(text in each.expression for text in given.may_be_empty)
        empty += not each.series and not excused
        note = "" if each.series else " (may be empty)" if excused else " EMPTY"
        print(f"{each.series:4}{note}  {each.panel}: {each.expression}")
    print(f"{empty} empty queries")
    return 1 if empty else 0


if __name__ == "__main__":
    sys.exit(main())
