"""``policyd report`` as a process, and the reports that a real API server has. No tests here."""

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import yaml

from policyd.json_types import JSONObject
from tests.builders.objects import config_map
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.store import store, uid_of
from tests.shared import ROOT

DEFINITIONS = ROOT / "tests/reports/data"
OWN = "app.kubernetes.io/managed-by=policyd"
REPORTS = "/apis/openreports.io/v1alpha1/reports"
# Runs policyd, and writes the most kilobytes that it took. What wait4 says of a child includes the
# memory of its parent.
MEASURED = """
import sys
from policyd.cli import main
try:
    main(sys.argv[2:])
finally:
    [peak] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    open(sys.argv[1], "w").write(peak.split()[1])
"""
CLUSTER_REPORTS = "/apis/openreports.io/v1alpha1/clusterreports"


@dataclass(frozen=True)
class Ran:
    """How a run ended; ``peak`` are the most kilobytes of memory that it took."""

    status: int
    stdout: str
    stderr: str
    peak: int


@dataclass(frozen=True)
class ReportCommand:
    """``policyd report`` with a kubeconfig and some policies."""

    kubeconfig: Path
    policies: Path
    folder: Path

    def start(self, *flags: str) -> subprocess.Popen[bytes]:
        """Begin a run without waiting for it, as fast as the API server answers."""
        command = [sys.executable, "-c", MEASURED, str(self.folder / "peak")]
        command += ["report", "-p", str(self.policies), "--kubeconfig", str(self.kubeconfig)]
        command += ["--qps", "100000", *flags]
        with (self.folder / "out").open("wb") as out, (self.folder / "err").open("wb") as err:
            return subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=err)

    def __call__(self, *flags: str) -> Ran:
        """Run it to its end."""
        child = self.start(*flags)
        status = child.wait()
        out, err, peak = ((self.folder / name).read_text() for name in ("out", "err", "peak"))
        return Ran(status, out, err, int(peak))


def report_definitions(group: str) -> list[JSONObject]:
    """The CustomResourceDefinitions of reports."""
    return [
        yaml.safe_load(each.read_text()) for each in sorted(DEFINITIONS.glob(f"{group}_*.yaml"))
    ]


def reports_in(namespace: str) -> str:
    """The path of the reports of a namespace."""
    return f"/apis/openreports.io/v1alpha1/namespaces/{namespace}/reports"


def stored(client: Client, path: str = REPORTS, selector: str = OWN) -> list[JSONObject]:
    """The whole reports that the API server has."""
    return list(_pages(client, path, selector))


def names(reports: Iterable[JSONObject]) -> set[str]:
    return {each["metadata"]["name"] for each in reports}


def create_config_maps(api: Cluster, namespace: str, count: int, bad_of: int) -> set[str]:
    """Put ConfigMaps into the store of the API server; one of ``bad_of`` lacks the label team.
    Return the UIDs of these.
    """
    made = [config_map(f"c{n:05}", namespace, {"text": "x" * 200}) for n in range(count)]
    for number, each in enumerate(made):
        if number % bad_of:
            each["metadata"]["labels"] = {"team": "a"}
    store(api, "configmaps", made)
    return {uid_of(namespace, each["metadata"]["name"]) for each in made[::bad_of]}


def _pages(client: Client, path: str, selector: str) -> Iterator[JSONObject]:
    query = {"labelSelector": selector, "limit": "1000"}
    while True:
        answer = client.send("GET", f"{path}?{urlencode(query)}")
        assert answer.status == 200, answer.message
        yield from answer.body["items"]
        following = answer.body["metadata"].get("continue")
        if not following:
            return
        query["continue"] = following


def write_policies(file: Path, documents: Sequence[JSONObject]) -> Path:
    """Write policies into a file."""
    file.write_text("\n---\n".join(map(json.dumps, documents)))
    return file
