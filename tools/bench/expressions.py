"""Single expressions over a 4 KB Pod of three containers, beside the other CELs that a Python
program may use.
"""

import importlib
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from itertools import repeat
from time import process_time_ns
from typing import Any

import orjson

from policyd._core.eval.program import nanoseconds
from policyd.cel.env import Environment
from tools.bench.core import bodies

Row = tuple[str, str, str]
Evaluate = Callable[[], object]

# The expression, our target in µs, and what cel-go takes in Kubernetes' environment (ns, on the
# same kind of machine).
EXPRESSIONS: Mapping[str, tuple[str, str, int]] = {
    "(a) has() in all()": (
        "object.spec.containers.all(c, has(c.resources) && has(c.resources.limits) && "
        "'memory' in c.resources.limits)",
        "115 ns",
        10_674,
    ),
    "(b) a label": ("object.metadata.labels['app'] == 'web'", "70 ns", 3_695),
    "(c) startsWith in all()": (
        "object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
        "84 ns",
        7_439,
    ),
    "(d) quantities": (
        "quantity(object.spec.containers[0].resources.limits['memory']).isLessThan(quantity('1Gi'))",
        "1 µs",
        5_495,
    ),
    "(e) matches in exists()": (
        "object.spec.containers.exists(c, c.image.matches('^[a-z.]+/[a-z/]+:v[0-9]+$'))",
        "3 µs",
        10_040,
    ),
    "(f) optionals": (
        "object.spec.?securityContext.?runAsNonRoot.orValue(false) || "
        "object.spec.containers.all(c, c.?securityContext.?runAsNonRoot.orValue(false))",
        "0.6 µs",
        4_855,
    ),
}
MANY = 10


def expressions() -> list[Row]:
    """Evaluation alone, without the call: the marginal time of ten more in one round."""
    pod = three_containers()
    peers = {"cel-cpp": _cel_cpp(pod), "celpy": _celpy(pod)}
    rows: list[Row] = []
    for name, (text, target, cel_go) in EXPRESSIONS.items():
        found = [f"{ours(text, pod):,.0f} ns", f"cel-go {cel_go:,}"]
        for peer, prepare in peers.items():
            found.append(f"{peer} {_peer(prepare, text)}")
        rows.append((name, ", ".join(found), target))
    return rows


def three_containers() -> Any:
    """A recorded Pod whose containers say that they do not run as root: the longest way for (f)."""
    pod = orjson.loads(bodies()[2])["request"]["object"]  # as the service decodes it
    del pod["spec"]["securityContext"]["runAsNonRoot"]
    for container in pod["spec"]["containers"]:
        container["securityContext"]["runAsNonRoot"] = True
    return pod


def ours(text: str, pod: Any) -> float:
    """Nanoseconds of one evaluation."""
    program = Environment.kubernetes().compile(text)
    variables = {"object": pod}
    one, more = nanoseconds((program,), variables), nanoseconds((program,) * (1 + MANY), variables)
    return (more - one) / MANY


def _peer(prepare: Callable[[str], Evaluate | None] | None, text: str) -> str:
    if prepare is None:
        return "absent"
    evaluate = prepare(text)
    return "cannot" if evaluate is None else f"{measured(evaluate):,.0f}"


def measured(evaluate: Evaluate) -> float:
    """Nanoseconds of one call from Python, the least of five means."""
    best = float("inf")
    for _ in range(5):
        count = 300
        start = process_time_ns()
        for _ in repeat(None, count):
            evaluate()
        best = min(best, (process_time_ns() - start) / count)
    return best


def _celpy(pod: Any) -> Callable[[str], Evaluate | None] | None:
    """PyPI ``cel-python``: CEL in Python."""
    if find_spec("celpy") is None:
        return None
    celpy = importlib.import_module("celpy")
    environment, activation = celpy.Environment(), {"object": celpy.json_to_cel(pod)}

    def prepare(text: str) -> Evaluate | None:
        try:
            program = environment.program(environment.compile(text))
            program.evaluate(activation)
        except (celpy.CELParseError, celpy.CELEvalError):
            return None
        return lambda: program.evaluate(activation)

    return prepare


def _cel_cpp(pod: Any) -> Callable[[str], Evaluate | None] | None:
    """PyPI ``cel-expr-python``: Google's cel-cpp for Python."""
    if find_spec("cel_expr_python") is None:
        return None
    cel = importlib.import_module("cel_expr_python.cel")
    environment = cel.NewEnv(variables={"object": cel.Type.DYN})

    def prepare(text: str) -> Evaluate | None:
        try:
            program = environment.compile(text)
            activation = environment.Activation({"object": pod})
            program.eval(activation)
        except (RuntimeError, ValueError):
            return None
        return lambda: program.eval(activation)

    return prepare
