"""The table of targets."""

from importlib import import_module
from typing import NamedTuple

from tests.fuzz.guided.target import FuzzTarget


class Row(NamedTuple):
    """``inputs`` that ``make test`` makes: all targets together take some thirty seconds. ``longest``
    input in bytes.
    """

    name: str
    inputs: int
    longest: int = 1 << 14


TARGETS = (
    Row("reviews", 150, 1 << 16),
    Row("policies", 25),
    Row("expressions", 600, 2_000),
    Row("patches", 400),
    Row("patterns", 500),
    Row("overlays", 150),
    Row("webhooks", 300),
    Row("regexes", 800, 1_000),
    Row("scalars", 300, 500),
    Row("files", 80, 4_000),
    Row("suites", 20),
    Row("http1", 150, 4_000),
)


def load(name: str) -> FuzzTarget:
    """Import a target: what it tests is imported with it."""
    target: FuzzTarget = import_module(f"tests.fuzz.guided.targets.{name}").TARGET
    return target
