"""What matching costs: 16 policies that match, alone and among 10,000 loaded ones.

Run it: ``python -m tools.bench.bench_match``. Prints; never fails for being slow.
"""

import timeit
from typing import Any

from policyd._core.match.matcher import Index, MatchInput, MatchRules

PODS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["pods"],
}
NOT_SYSTEM = {
    "matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}
    ]
}
REQUEST: dict[str, Any] = {
    "kind": {"group": "", "version": "v1", "kind": "Pod"},
    "resource": {"group": "", "version": "v1", "resource": "pods"},
    "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
    "requestResource": {"group": "", "version": "v1", "resource": "pods"},
    "name": "web-0",
    "namespace": "shop",
    "operation": "CREATE",
    "object": {"metadata": {"name": "web-0", "labels": {"app": "web"}}},
}
MATCHING = 16
LOADED = 10_000


def others(count: int) -> list[tuple[MatchRules, str]]:
    """Policies that a Pod's CREATE does not concern, of every shape a rule can have."""
    shapes: list[dict[str, Any]] = [
        {"apiGroups": ["apps"], "resources": ["deployments"]},
        {"apiGroups": ["*"], "resources": ["deployments/scale"]},
        {"apiGroups": ["apps"], "resources": ["*"]},
        {"resources": ["pods"], "operations": ["DELETE"]},
        {"resources": ["pods/*"], "operations": ["CONNECT"]},
        {"apiGroups": ["batch"], "apiVersions": ["*"], "resources": ["jobs", "cronjobs"]},
        {"apiGroups": ["example.com"]},
    ]
    entries = []
    for number in range(count):
        rule = {**PODS, "resources": [f"things{number}"], **shapes[number % len(shapes)]}
        entries.append((MatchRules([rule]), f"other-{number}"))
    return entries


def cost(index: Index[str]) -> float:
    """Microseconds of one request: the input and the match."""

    def run() -> None:
        index.match(MatchInput(REQUEST, lambda name: None))

    assert len(index.match(MatchInput(REQUEST, lambda name: None))) == MATCHING
    number = 20_000
    return min(timeit.repeat(run, number=number, repeat=7)) / number * 1e6


def main() -> None:
    plain = [(MatchRules([PODS]), f"p{n}") for n in range(MATCHING)]
    selecting = [(MatchRules([PODS], [], NOT_SYSTEM), f"p{n}") for n in range(MATCHING)]
    for name, entries in (("plain", plain), ("with a namespaceSelector", selecting)):
        few = cost(Index(entries))
        many = cost(Index(others(LOADED - MATCHING) + entries))
        print(
            f"{MATCHING} matching, {name}: {few:.2f} µs; "
            f"of {LOADED}: {many:.2f} µs (x {many / few:.2f})"
        )


if __name__ == "__main__":
    main()
