"""The real Prometheus finds the replicas by Kubernetes, scrapes them, and answers the dashboard."""

import json
import shutil
import sys
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.monitoring.series import ON_REQUEST
from tests.node.installation import Installation
from tests.node.load import Load
from tests.node.machine import Failed, Node, until
from tests.node.report import Report
from tests.shared import ROOT

PORT = 9090
URL = f"http://127.0.0.1:{PORT}"
ALERTS = ROOT / "deploy/chart/files/alerts.yaml"
DASHBOARD = ROOT / "deploy/chart/files/dashboard.json"
SECONDS = 75


@contextmanager
def prometheus(node: Node) -> Iterator[None]:
    """Prometheus in the network of the node, which scrapes as the chart's PodMonitor says."""
    folder = node.folder / "prometheus"
    folder.mkdir(exist_ok=True)
    shutil.rmtree(folder / "data", ignore_errors=True)  # it shows the Pods of the last five minutes
    kept = [
        {
            "source_labels": ["__meta_kubernetes_pod_label_app_kubernetes_io_name"],
            "regex": "policyd",
        },
        {"source_labels": ["__meta_kubernetes_pod_container_port_name"], "regex": "admin"},
    ]
    named = [
        {"source_labels": [f"__meta_kubernetes_{source}"], "target_label": target}
        for source, target in (("namespace", "namespace"), ("pod_name", "pod"))
    ]
    scrape = {
        "job_name": "policyd",
        "kubernetes_sd_configs": [
            {"role": "pod", "kubeconfig_file": str(node.folder / "kubeconfig")}
        ],
        "relabel_configs": [*({**each, "action": "keep"} for each in kept), *named],
    }
    settings = {
        "global": {"scrape_interval": "2s", "evaluation_interval": "2s"},
        "rule_files": [str(ALERTS)],
        "scrape_configs": [scrape],
    }
    (folder / "prometheus.yaml").write_text(json.dumps(settings))
    data, address = (
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{PORT}",
    )
    command = ["prometheus", f"--config.file={folder / 'prometheus.yaml'}", data, address]
    with (folder / "log").open("w") as log:
        child = node.start_process([*command, "--log.level=warn"], log=log)
    try:
        until(lambda: asked(node, "status/buildinfo"), "Prometheus")
        yield
    finally:
        child.terminate()
        child.wait(30)


def asked(node: Node, path: str, **parameters: str) -> Any:
    """What Prometheus answers; None if it does not."""
    try:
        text = node.read(f"{URL}/api/v1/{path}?{urllib.parse.urlencode(parameters)}")
    except Failed:
        return None
    return json.loads(text)["data"]


def series(node: Node, expression: str) -> dict[str, float]:
    """The values of a query by Pod."""
    found = asked(node, "query", query=expression)
    return {each["metric"]["pod"]: float(each["value"][1]) for each in found["result"]}


def test_prometheus_and_the_dashboard(policyd: Installation, report: Report) -> None:
    node = policyd.node
    expected = dict.fromkeys(policyd.names(), 1.0)
    with prometheus(node):
        until(lambda: series(node, 'up{job="policyd"}') == expected, "all replicas being scraped")
        with Load(node, 10):
            time.sleep(SECONDS)
        assert series(node, "policyd_policy_set_info") == expected
        groups = asked(node, "rules")["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        assert len(rules) > 10
        assert [each for each in rules if each["health"] != "ok"] == []
        firing = [each["name"] for each in rules if each.get("state") == "firing"]
        assert firing == []
        report.figure("alert rules loaded and evaluated", str(len(rules)))
        command = [sys.executable, "-m", "tests.monitoring.query_dashboard", URL, str(DASHBOARD)]
        excused = [f"--may-be-empty={name}" for name in ON_REQUEST]
        done = node.run(*command, f"--seconds={SECONDS}", *excused, cwd=ROOT)
        *lines, summary = done.out.splitlines()
        empty = [each for each in lines if " EMPTY " in each]
        filled = sum(int(each.split()[0]) > 0 for each in lines)
        report.figure("queries of the dashboard with data", f"{filled} of {len(lines)}")
        assert (done.status, empty) == (0, []), summary + done.err
