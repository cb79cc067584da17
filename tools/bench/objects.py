"""What one large object costs, beside parsing and printing it: annotations, one long value, many
entries of env, many containers.
"""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from policyd.policy.compile.policy_set import CompiledPolicySet
from tests import shared
from tools.bench import core
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


def mutations() -> CompiledPolicySet:
    """The mutations of the library, and the Namespace of the reviews."""
    metadata = {"name": "shop", "labels": {"team": "shop", "node-pool": "general"}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    return core.policies(shared.ROOT / "policies/mutation").with_namespaces([namespace])


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
