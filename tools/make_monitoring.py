"""Write deploy/components/monitoring from the files of the chart.

Kustomize reads nothing outside its folder, so the component has copies.

python -m tools.make_monitoring
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "deploy" / "chart" / "files"
TARGET = ROOT / "deploy" / "components" / "monitoring"

NOTE = "# Written by `python -m tools.make_monitoring` from deploy/chart/files/{}.\n"
RULE = """\
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: policyd
  namespace: policyd
  labels: {app.kubernetes.io/name: policyd}
spec:
"""
DASHBOARD = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: policyd-dashboard
  namespace: policyd
  # Grafana's sidecar loads ConfigMaps with this label.
  labels: {app.kubernetes.io/name: policyd, grafana_dashboard: "1"}
data:
  policyd.json: |
"""


def documents() -> dict[str, str]:
    """The text of each file that is made."""
    return {
        "prometheusrule.yaml": _made("alerts.yaml", RULE, "  "),
        "dashboard.yaml": _made("dashboard.json", DASHBOARD, "    "),
    }


def _made(source: str, head: str, indent: str) -> str:
    lines = (SOURCES / source).read_text(encoding="utf-8").splitlines()
    return NOTE.format(source) + head + "".join(f"{indent}{line}\n" for line in lines)


def main() -> None:
    for name, text in documents().items():
        (TARGET / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
