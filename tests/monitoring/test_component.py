"""The kustomize component has the rules and the dashboard of the chart."""

import json
import subprocess

import yaml

from tests.programs import program
from tests.shared import ROOT
from tools.make_monitoring import SOURCES, TARGET, documents


def test_its_files_are_not_stale() -> None:
    for name, text in documents().items():
        assert (TARGET / name).read_text() == text, "run: python -m tools.make_monitoring"


def test_they_hold_what_the_chart_has() -> None:
    made = {name: yaml.safe_load(text) for name, text in documents().items()}
    rules = yaml.safe_load((SOURCES / "alerts.yaml").read_text())
    assert made["prometheusrule.yaml"]["spec"] == rules
    (dashboard,) = made["dashboard.yaml"]["data"].values()
    assert json.loads(dashboard) == json.loads((SOURCES / "dashboard.json").read_text())


def test_the_pod_monitor_selects_the_pods_and_their_port() -> None:
    monitor = yaml.safe_load((TARGET / "podmonitor.yaml").read_text())
    deployment = yaml.safe_load((ROOT / "deploy/base/deployment.yaml").read_text())
    template = deployment["spec"]["template"]
    wanted = monitor["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= template["metadata"]["labels"].items()
    (container,) = template["spec"]["containers"]
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] in [each["name"] for each in container["ports"]]


def test_kustomize_builds_it() -> None:
    command = [program("kubectl"), "kustomize", str(TARGET)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    kinds = [each["kind"] for each in yaml.safe_load_all(done.stdout)]
    assert sorted(kinds) == ["ConfigMap", "PodMonitor", "PrometheusRule"]
