"""What grows around requests: namespaces, params, exceptions, exceptions of teams, ConfigMaps of
policies. A fresh process for each size loads them, and evaluates the reviews of the reference work.

``python -m tools.bench.around KIND COUNT`` is one of these processes.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import orjson

from policyd.gc_policy import settle
from policyd.policy.compile import compiler
from policyd.policy.config_maps.config_map_files import bundle_of
from policyd.policy.config_maps.team_exceptions import TeamExceptions
from policyd.policy.source import loader
from policyd.policy.source.files import Bundle
from tools.bench import core

Row = core.Row
Given = list[Path | Bundle]
ROUNDS = 15
FLAT = 1.1
USED = ("shop", "billing", "search", "web")  # by the reviews
PARAMS = """apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: around}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  paramRef: {name: limits-0, namespace: shop, parameterNotFoundAction: Allow}
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
  - {expression: "namespaceObject.metadata.name != params.data.name", message: other}
"""


def documents(name: str, listed: Iterator[dict[str, Any]]) -> Bundle:
    """Documents as they would be in one file."""
    return bundle_of(config_map("docs", name, listed))


def config_map(namespace: str, name: str, listed: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """A ConfigMap that holds them in keys of a hundred."""
    texts = list(map(json.dumps, listed))
    keys = range(0, len(texts), 100)
    data = {f"{at:06d}.yaml": "\n---\n".join(texts[at : at + 100]) for at in keys}
    metadata = {"name": name, "namespace": namespace, "uid": name, "resourceVersion": "1"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def namespaces(count: int) -> Given:
    """Namespaces with labels."""
    labels = {"team": "a", "env": "prod"}
    listed = (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        for name in (*USED, *(f"ns-{number}" for number in range(count)))
    )
    return [documents("namespaces", listed)]


def params(count: int) -> Given:
    """ConfigMaps, one of which is used."""
    listed = (
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"limits-{number}", "namespace": "shop"},
            "data": {"name": f"n{number}"},
        }
        for number in range(count)
    )
    return [documents("params", listed)]


def exception(number: int) -> dict[str, Any]:
    """An exception of a policy for an object of its own."""
    return {
        "apiVersion": "policyd.dev/v1",
        "kind": "PolicyException",
        "metadata": {"name": f"legacy-{number}"},
        "spec": {
            "policies": [{"name": "around"}],
            "resources": [{"kinds": ["Pod"], "names": [f"legacy-{number}"]}],
            "reason": "ticket",
        },
    }


def exceptions(count: int) -> Given:
    """Exceptions of the same policy."""
    return [documents("exceptions", map(exception, range(count)))]


def teams(count: int) -> Given:
    """A ConfigMap of ten exceptions for each team."""
    taking = TeamExceptions(lambda held: sys.exit(str(held)))
    maps = (
        config_map(f"team-{number}", "exceptions", map(exception, range(10)))
        for number in range(count)
    )
    return [taking.take(maps)]


def config_maps(count: int) -> Given:
    """ConfigMaps of one policy each, for another resource."""
    found = (
        config_map(
            "policyd",
            f"own-{number}",
            iter([json.loads(core.simple_policy(number, "configmaps"))]),
        )
        for number in range(count)
    )
    return list(map(bundle_of, found))


KINDS: dict[str, tuple[Callable[[int], Given], tuple[int, ...]]] = {
    "namespaces": (namespaces, (1, 1_000, 10_000)),
    "params": (params, (1, 1_000, 10_000)),
    "ConfigMaps": (config_maps, (1, 50, 200)),
    "exceptions": (exceptions, (1, 500, 5_000)),
    "teams": (teams, (1, 50, 500)),
}


def measured(kind: str, count: int) -> tuple[float, int, float]:
    """Seconds of CPU to load, KB resident, and µs of CPU for a review."""
    given = KINDS[kind][0](count)
    before = process_time()
    own = Bundle("around", bundle_of(_policy()).files)
    known = [] if kind == "namespaces" else namespaces(0)
    policies = compiler.compile_strict(loader.load([core.VAP, own, *known, *given]))
    loading = process_time() - before
    del given
    settle()
    work = core.judge(policies, core.bodies())
    work()
    found: list[float] = []
    for _ in range(ROUNDS):
        before = process_time()
        work()
        found.append(process_time() - before)
    status = Path("/proc/self/status").read_text()
    return loading, int(status.partition("VmRSS:")[2].split()[0]), min(found) * 1e4


def _policy() -> dict[str, Any]:
    metadata = {"name": "around", "namespace": "docs", "resourceVersion": "1", "uid": "1"}
    data = {"policy.yaml": PARAMS}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def around() -> Iterator[Row]:
    """A row for each kind and size, and the knee of the cost of a request."""
    for kind, (_, sizes) in KINDS.items():
        costs: list[tuple[int, float]] = []
        for count in sizes:
            command = [sys.executable, "-m", "tools.bench.around", kind, str(count)]
            runs = [
                orjson.loads(subprocess.run(command, check=True, capture_output=True).stdout)
                for _ in range(3)
            ]
            loading, resident, request = (min(each) for each in zip(*runs, strict=True))
            costs.append((count, request))
            ratio = request / costs[0][1]
            figure = (
                f"{loading:.2f} s to load, {resident >> 10} MiB, {request:.1f} µs = {ratio:.2f} x"
            )
            yield f"{count:,} {kind}", figure, f"{FLAT} x" if count > 1 else ""
        above = [size for size, cost in costs if cost > FLAT * costs[0][1]]
        told = f"above {FLAT} x from {above[0]:,}" if above else f"flat up to {sizes[-1]:,}"
        yield f"a request beside {kind}", told, "flat"


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], int(sys.argv[2]))))
