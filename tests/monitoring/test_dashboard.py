"""The Grafana dashboard: its queries name what exists, and have data while policyd has work."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.builders.objects import config_map
from tests.builders.reviews import body
from tests.monitoring.programs import prometheus
from tests.monitoring.query_dashboard import expressions, panels, results, variables
from tests.monitoring.series import IN_CLUSTER, ON_REQUEST, problems
from tests.server.process import Process, until
from tests.shared import ROOT

FILE = ROOT / "deploy/chart/files/dashboard.json"
DASHBOARD: dict[str, Any] = json.loads(FILE.read_text())
# Without a cluster these have no data: nothing is looked up.
IDLE = (*IN_CLUSTER, *ON_REQUEST, "policyd_cluster_lookup_duration_seconds")
Known = Mapping[str, Mapping[str, set[str]]]


def test_queries_name_what_exists(known: Known) -> None:
    wrong = {each: problems(each, known) for _, each in expressions(DASHBOARD)}
    assert {expression: found for expression, found in wrong.items() if found} == {}


def test_every_metric_of_policyd_is_in_a_panel(known: Known) -> None:
    text = " ".join(expression for _, expression in expressions(DASHBOARD))
    ours = {
        re.sub(r"_(bucket|sum|count|created)$", "", name)
        for name in known
        if name.startswith("policyd_")
    }
    # What the dashboard shows in another form, or nobody watches.
    others = {"policyd_policy_set_empty", "policyd_serving_last_good"}
    others |= {"policyd_last_successful_reload_timestamp_seconds", "policyd_captured_reviews_total"}
    # Alerts watch these.
    others |= {"policyd_worker_restarts_total", "policyd_policy_rollout_until_timestamp_seconds"}
    assert {name for name in ours if name not in text} == others


def test_variables_are_defined_and_used() -> None:
    defined = {each["name"] for each in DASHBOARD["templating"]["list"]}
    used = set(re.findall(r"\$\{?([a-z]\w*)", json.dumps(DASHBOARD["panels"])))
    assert used == defined
    assert variables(DASHBOARD).keys() == defined - {"datasource"}


def test_every_panel_asks_the_chosen_data_source() -> None:
    for panel in panels(DASHBOARD):
        sources = [panel["datasource"], *(each["datasource"] for each in panel["targets"])]
        assert {each["uid"] for each in sources} == {"${datasource}"}


def test_panels_have_places_of_their_own() -> None:
    ids = [each["id"] for each in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    places = [each["gridPos"] for each in DASHBOARD["panels"]]
    assert all(each["x"] + each["w"] <= 24 for each in places)
    for one, other in combinations(places, 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart, (one, other)


def work(replicas: tuple[Process, Process]) -> None:
    """A few requests of each sort."""
    validating, mutating = replicas
    for value in ("x", "y"):
        validating.post("/validate", body(object=config_map(data={"a": value})))
    validating.post("/validate", body(object=config_map()))  # an error: it has no data
    mutating.post("/mutate", body())


def test_every_query_has_data(replicas: tuple[Process, Process], tmp_path: Path) -> None:
    targets = {
        each.admin_port: {"namespace": "policyd", "pod": f"policyd-{index}"}
        for index, each in enumerate(replicas)
    }
    with prometheus(tmp_path, targets) as url:

        def empty() -> list[str]:
            work(replicas)
            found = list(results(url, DASHBOARD, seconds=60))
            return [
                f"{each.panel}: {each.expression}"
                for each in found
                if not each.series and not any(name in each.expression for name in IDLE)
            ]

        left: list[str] = []

        def complete() -> bool:
            left[:] = empty()
            return not left

        try:
            until(complete, "data of every query")
        except AssertionError:
            pytest.fail(f"no data for {left}")
        excused = [f"--may-be-empty={name}" for name in IDLE]
        assert script(url, *excused)[0] == 0
        status, printed = script(url)
        assert status == 1
        assert " EMPTY  Leader: max by (instance, pod) (policyd_leader{" in printed


def script(url: str, *flags: str) -> tuple[int, str]:
    """The exit status of the script, and what it prints."""
    file = ROOT / "tests/monitoring/query_dashboard.py"
    command = [sys.executable, str(file), url, str(FILE), *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr
