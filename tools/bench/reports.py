"""``policyd report`` over 100,000 ConfigMaps of a real API server, one in a hundred of which
violates a policy: a first run, which writes the reports, and a second one without changes.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.builders.policies import CONFIG_MAPS, demand, policy
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster, cluster
from tests.e2e.definitions import serve
from tests.e2e.kubectl import kubeconfig_document
from tests.e2e.reporting import (
    ReportCommand,
    create_config_maps,
    report_definitions,
    write_policies,
)
from tools.bench.core import Row

OBJECTS = 100_000
BAD_OF = 100
QPS = "100"  # with the default of 20, 1,204 requests alone take 60 seconds
RESOURCES = "configmaps|namespaces|reports|clusterreports"
REQUESTS = re.compile(f'_request_total{{.*resource="(?:{RESOURCES})".*verb="(\\w+)".*}} (\\d+)')
WRITES = ("APPLY", "DELETE", "PATCH", "POST", "PUT")
WITHOUT = "object.metadata.namespace == 'many' && !has(object.metadata.labels)"
LABELLED = policy("team", CONFIG_MAPS, validations=[demand(f"!({WITHOUT})", "no labels")])


def reports() -> Iterator[Row]:
    """Time, CPU, memory and requests of both runs."""
    with TemporaryDirectory() as name, cluster() as api:
        client = Client(api)
        for each in report_definitions("openreports.io"):
            serve(client, each)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "many"}}
        client.made(namespace)
        create_config_maps(api, "many", OBJECTS, BAD_OF)
        command = _command(api, Path(name))
        for run in ("first", "unchanged"):
            before, used, start = _requests(client), _cpu(), perf_counter()
            done = command("--qps", QPS)
            seconds, cpu = perf_counter() - start, _cpu() - used
            if done.status:
                raise SystemExit(done.stderr)
            sent = _requests(client) - before
            writes = sum(sent[each] for each in WRITES)
            what = f"{run} run over {OBJECTS:,} objects"
            yield what, f"{seconds:.0f} s, {cpu:.1f} s of CPU", "60 s"
            yield f"{what}, memory", f"{done.peak >> 10} MiB", "150 MiB"
            yield f"{what}, lists", f"{sent['LIST']}", f"{OBJECTS // 400}"
            wanted = OBJECTS // BAD_OF if run == "first" else 0
            yield f"{what}, writes", f"{writes:,}", f"{wanted:,}"
        client.close()


def _command(api: Cluster, folder: Path) -> ReportCommand:
    files = [str(api.folder / name) for name in ("ca.crt", "admin.crt", "admin.key")]
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(json.dumps(kubeconfig_document(api, *files)))
    return ReportCommand(kubeconfig, write_policies(folder / "policies.yaml", [LABELLED]), folder)


def _cpu() -> float:
    """Seconds of CPU of the commands that have ended."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _requests(client: Client) -> Counter[str]:
    """How many requests of each verb about these resources the API server has answered."""
    counts: Counter[str] = Counter()
    for verb, count in REQUESTS.findall(client.send("GET", "/metrics").message):
        counts[verb] += int(count)
    return counts
