"""What cannot be translated, and what translations cost."""

from typing import Any

import pytest

from policyd.json_types import JSONObject
from tests.builders.objects import pod
from tests.export.patterns.translated import PER_CALL_LIMIT, reasons, translated
from tools.bench.patterns import FAILING, PATTERNS


@pytest.mark.parametrize(
    ("item", "path", "message"),
    [
        ({"pattern": {"a": ["x", "b\nc"]}}, "pattern.a[1]", "a control character in a message"),
        ({"anyPattern": [{}, {"a\tb": 1}]}, "anyPattern[1].a\tb", "a control character"),
        ({"pattern": {"a": 1}, "messageExpression": "'x'"}, "messageExpression", "if it fails"),
        ({"pattern": {"a": 1}, "message": "x" * 1000}, "pattern", "its messages could be longer"),
        ({"pattern": {"a": "x" * 5000}}, "pattern", "its messages could be longer"),
        ({"anyPattern": [{"a": 1}] * 15}, "anyPattern", "its messages could be longer"),
    ],
)
def test_what_would_differ_is_a_reason(item: JSONObject, path: str, message: str) -> None:
    (reason,) = reasons(item)
    assert reason.path == path
    assert reason.message.startswith(message)


def test_a_pattern_too_large_for_the_parser_is_a_reason() -> None:
    deep: dict[str, Any] = {"a": 1}
    for _ in range(90):
        deep = {"a": deep}
    for tree in (deep, {f"key{number}": {"a": f">={number}Mi"} for number in range(300)}):
        (reason,) = reasons({"pattern": tree})
        assert reason.path == "pattern"
        assert reason.message.startswith("is too large for CEL: ")


def heavy(containers: int) -> dict[str, Any]:
    """A Pod larger than any that Kubernetes is known to run."""
    return pod(
        *(
            {
                "name": f"container-{number}",
                "image": f"registry.example.com/team/application-{number}:latest",
                "imagePullPolicy": "IfNotPresent",
                "ports": [{"containerPort": port, "hostPort": port} for port in range(10)],
                "resources": {
                    "requests": {"cpu": "0", "memory": "1Ki"},
                    "limits": {"cpu": "100m", "memory": "128Gi"},
                },
            }
            for number in range(containers)
        ),
        hostPID=True,
        labels={f"app-{number}.example.com/name": "" for number in range(100)},
    )


@pytest.mark.parametrize("pattern", [*PATTERNS.values(), FAILING])
@pytest.mark.parametrize(("containers", "most"), [(3, 0.04), (200, 0.5)])
def test_large_objects_do_not_reach_the_cost_limit(
    pattern: Any, containers: int, most: float
) -> None:
    made = translated({"pattern": pattern})
    obj = heavy(containers)
    assert made.denied(obj) == made.pattern.check(obj)
    assert max(made.cost(obj)) < most * PER_CALL_LIMIT


def test_an_object_that_fits_costs_little() -> None:
    container = {"resources": {"limits": {"memory": "1Mi-512Gi"}}, "=(ports)": [{"hostPort": ">0"}]}
    made = translated({"pattern": {"spec": {"containers": [container]}}})
    obj = heavy(20)
    for each in obj["spec"]["containers"]:
        each["ports"] = [{"hostPort": 1}] * 10
    assert made.pattern.check(obj) is None
    assert max(made.cost(obj)) < PER_CALL_LIMIT / 50
