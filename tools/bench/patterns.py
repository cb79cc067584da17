"""Patterns of the size of typical Kyverno policies, over the Pods of the recorded reviews."""

import json
from typing import Any

from policyd.pattern import Pattern, compile_pattern
from tools.bench.core import REPEAT, Row, bodies, repeated
from tools.bench.timing import compare

PATTERNS: dict[str, Any] = {
    "labels": {"metadata": {"labels": {"app*": "?*", "=(team)": "?*"}}},
    "image tags": {"spec": {"containers": [{"image": "*:* & !*:latest"}]}},
    "host namespaces": {
        "spec": {"=(hostPID)": False, "=(hostIPC)": False, "=(hostNetwork)": False}
    },
    "host ports": {
        "spec": {
            "=(initContainers)": [{"=(ports)": [{"=(hostPort)": 0}]}],
            "containers": [{"=(ports)": [{"=(hostPort)": 0}]}],
        }
    },
    "resources": {
        "spec": {
            "containers": [
                {
                    "=(resources)": {
                        "=(requests)": {"=(cpu)": ">0", "=(memory)": ">=1Mi"},
                        "=(limits)": {"=(memory)": "<=64Gi"},
                    }
                }
            ]
        }
    },
    "pull policy": {"spec": {"containers": [{"(image)": "*:latest", "imagePullPolicy": "Always"}]}},
}
FAILS = "one that fails, and why"
FAILING = {"spec": {"containers": [{"resources": {"limits": {"ephemeral-storage": "?*"}}}]}}


def patterns() -> list[Row]:
    """Each pattern for one Pod; with the words of a failure for one that fails."""
    pods = [json.loads(body)["request"]["object"] for body in bodies()]
    units = len(pods) * REPEAT
    made = {name: compile_pattern(tree) for name, tree in PATTERNS.items()}
    works = [(name, repeated(lambda p=p: _all(p, pods)), units) for name, p in made.items()]  # type: ignore[misc]
    failing = compile_pattern(FAILING)
    works.append((FAILS, repeated(lambda: _all(failing, pods)), units))
    return [
        (each.name, f"{each.micros:.2f} µs", "10 µs" if each.name == FAILS else "2 µs")
        for each in compare(works)
    ]


def _all(pattern: Pattern, pods: list[Any]) -> None:
    for pod in pods:
        pattern.check(pod)
