"""What one large object costs, beside parsing and printing it: annotations, one long value, many
entries of env, many containers; and the memory that a server takes for it.
"""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from policyd.policy.compile.policy_set import CompiledPolicySet
from tests import shared
from tests.server.process import trusting
from tests.server.serve import serving
from tools.bench import core
from tools.bench.server import Connection, request
from tools.bench.timing import compare

Row = core.Row
ROUNDS = 7


def annotated(pod: dict[str, Any]) -> None:
    """64 KB of annotations."""
    more = {f"example.com/note-{number:03d}": "x" * 490 for number in range(128)}
    pod["metadata"]["annotations"] |= more


def one_value(pod: dict[str, Any]) -> None:
    """1 MB in one value."""
    pod["metadata"]["annotations"]["example.com/long"] = "x" * 2**20


def environment(pod: dict[str, Any]) -> None:
    """10,000 entries of env."""
    entries = [{"name": f"NAME_{number}", "value": str(number)} for number in range(10_000)]
    pod["spec"]["containers"][0]["env"] = entries


def containers(count: int) -> Callable[[dict[str, Any]], None]:
    """That many containers."""

    def change(pod: dict[str, Any]) -> None:
        first = pod["spec"]["containers"][0]
        pod["spec"]["containers"] = [{**first, "name": f"web-{i}"} for i in range(count)]

    return change


def whole(pod: dict[str, Any]) -> None:
    """3 MB: what an API server accepts at most."""
    containers(500)(pod)
    for number, each in enumerate(pod["spec"]["containers"]):
        each["env"] = [{"name": f"NAME_{number}_{i}", "value": "x" * 80} for i in range(35)]


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], None], int]] = {
    "as it is": (lambda pod: None, 100),
    "64 KB of annotations": (annotated, 40),
    "1 MB in one value": (one_value, 8),
    "10,000 entries of env": (environment, 2),
    "100 containers": (containers(100), 4),
    "500 containers": (containers(500), 1),
    "3 MB": (whole, 1),
}


MUTATIONS = shared.ROOT / "policies/mutation"
NAMESPACE = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "shop", "labels": {"team": "shop", "node-pool": "general"}},
}


def mutations() -> CompiledPolicySet:
    """The mutations of the library, and the Namespace of the reviews."""
    return core.policies(MUTATIONS).with_namespaces([NAMESPACE])


def body(change: Callable[[dict[str, Any]], None]) -> bytes:
    """A review of a changed Pod."""
    review = copy.deepcopy(json.loads(core.bodies()[0]))
    change(review["request"]["object"])
    return json.dumps(review).encode()


def objects() -> Iterator[Row]:
    """16 validating policies, and the mutations of the library."""
    sets = (
        ("16 policies", core.policies(core.VAP), "validate", "1.5 x"),
        ("mutations", mutations(), "mutate", "3 x"),
    )
    for what, (change, times) in CHANGES.items():
        lines = [body(change)] * times
        for name, loaded, webhook, target in sets:
            work = core.judge(loaded, lines, webhook)  # type: ignore[arg-type]
            both = [("policyd", work, times), ("json", core.parse_and_print(lines), times)]
            ours, alone = compare(both, ROUNDS)
            figure = f"{ours.micros:,.0f} µs = {ours.ratio(alone):.2f} x parse + print"
            yield f"{what}, {len(lines[0]) >> 10} KB, {name}", figure, target
    yield from memory()


def memory() -> Iterator[Row]:
    """The most memory that a server has while it answers one large request, above what it had."""
    small = core.bodies()[0]
    for webhook, policies in (("validate", core.VAP), ("mutate", MUTATIONS)):
        for what in ("1 MB in one value", "3 MB"):
            large = body(CHANGES[what][0])
            with TemporaryDirectory() as folder, serving(Path(folder), policies) as server:
                connection = Connection(server.port, trusting())
                for each in (small, small, large):
                    before = server.resident()
                    Path(f"/proc/{server.child.pid}/clear_refs").write_text("5")  # forgets the peak
                    connection.send(request(each).replace(b"/validate", f"/{webhook}".encode(), 1))
                    connection.receive()
                grown = (server.resident("VmHWM") - before) / len(large)
            yield f"memory of a request, {what}, {webhook}", f"{grown:.1f} x its body", "4 x"
