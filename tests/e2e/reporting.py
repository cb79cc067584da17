"""``policyd report`` as a process, and the reports that a real API server has. No tests here."""

import base64
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode
from uuid import NAMESPACE_URL, uuid5

import yaml

from policyd.json_types import JSONObject
from tests.builders.objects import config_map
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
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
MOST_PUTS = 100  # of one transaction in etcd
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
    """Put ConfigMaps into the store of the API server, which is much quicker than requests; one of
    ``bad_of`` lacks the label team. Return the UIDs of these.
    """
    bad: set[str] = set()
    puts: list[JSONObject] = []
    for number in range(count):
        made = config_map(f"c{number:05}", namespace, {"text": "x" * 200})
        uid = str(uuid5(NAMESPACE_URL, f"{namespace}/{number}"))
        made["metadata"] |= {"uid": uid, "creationTimestamp": "2026-11-23T12:00:00Z"}
        if number % bad_of:
            made["metadata"]["labels"] = {"team": "a"}
        else:
            bad.add(uid)
        key = f"/registry/configmaps/{namespace}/c{number:05}"
        put = {"key": _encoded(key), "value": _encoded(json.dumps(made))}
        puts.append({"requestPut": put})
    for start in range(0, count, MOST_PUTS):
        body = json.dumps({"success": puts[start : start + MOST_PUTS]}).encode()
        request = urllib.request.Request(f"{api.etcd}/v3/kv/txn", data=body, method="POST")
        with urllib.request.urlopen(request) as response:
            assert json.loads(response.read())["succeeded"]
    return bad


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


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
