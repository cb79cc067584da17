"""Prometheus and promtool, if they were built. No tests here."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tests.e2e.cluster import free_ports, process
from tests.programs import program
from tests.server.process import until
from tests.shared import ROOT


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run promtool to its end."""
    command = [program("promtool"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@contextmanager
def prometheus(folder: Path, targets: Mapping[int, Mapping[str, str]]) -> Iterator[str]:
    """A Prometheus that scrapes ports of this machine every second and has the alert rules; gives
    its address. ``targets`` has the labels of each port.
    """
    (port,) = free_ports(1)
    scraped = [
        {"targets": [f"127.0.0.1:{each}"], "labels": dict(labels)}
        for each, labels in targets.items()
    ]
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(ROOT / "deploy/chart/files/alerts.yaml")],
        "scrape_configs": [{"job_name": "policyd", "static_configs": scraped}],
    }
    (folder / "prometheus.yaml").write_text(json.dumps(config))
    command = [
        program("prometheus"),
        f"--config.file={folder / 'prometheus.yaml'}",
        f"--storage.tsdb.path={folder / 'prometheus'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    url = f"http://127.0.0.1:{port}"

    def ready() -> bool:
        try:
            with urlopen(f"{url}/-/ready", timeout=300) as answer:
                return bool(answer.status == 200)
        except URLError:
            return False

    with process(command, folder / "prometheus.log"):
        until(ready, "Prometheus")
        yield url
