"""What grows: CPU of a command at several sizes, and the knee of the curve, which is the first size
from which on one more costs three quarters more than at the sizes before.
"""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import orjson
import yaml

from tests.shared import ROOT
from tools.bench import core

Row = core.Row
STEEPER = 1.75
TIMES = 3


def cpu(arguments: Sequence[str], folder: Path) -> float:
    """Seconds of CPU of a command of policyd, its processes included: the least of a few runs. The
    first one compiles bytecode into ``folder``.
    """
    bytecode = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    found: list[float] = []
    for _ in range(TIMES):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "policyd", *arguments]
        done = subprocess.run(
            command, env={**os.environ, **bytecode}, capture_output=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in (0, 1):
            raise SystemExit(done.stderr.decode())
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def knee(points: Sequence[tuple[int, float]]) -> str:
    """The knee of a curve of sizes and costs."""
    least = float("inf")
    for (size, cost), (larger, more) in pairwise(points):
        each = (more - cost) / (larger - size)
        if each > STEEPER * least:
            return f"knee at {size:,}"
        least = min(least, max(each, 0.0))
    return f"no knee up to {points[-1][0]:,}"


def curve(
    what: str, sizes: Sequence[int], cost: Callable[[int], float], targets: dict[int, str]
) -> Iterator[Row]:
    """A row for each size, and one for the knee."""
    points: list[tuple[int, float]] = []
    for size in sizes:
        points.append((size, cost(size)))
        each = (points[-1][1] - points[0][1]) / max(size - points[0][0], 1)
        figure = f"{points[-1][1]:.2f} s of CPU, {each * 1e3:.2f} ms each"
        yield what.format(f"{size:,}"), figure, targets.get(size, "")
    yield what.format("…"), knee(points), "none"


def lint() -> Iterator[Row]:
    """``policyd lint`` of policies that all set one label to a value of their own."""
    with TemporaryDirectory() as name:
        folder = Path(name)

        def cost(count: int) -> float:
            files = folder / str(count)
            files.mkdir()
            for number in range(count):
                (files / f"{number}.yaml").write_text(yaml.safe_dump(labelling(number)))
            return cpu(["lint", str(files)], folder)

        yield from curve("lint of {} policies for one field", LINTED, cost, {500: "1 s"})


def manifests() -> Iterator[Row]:
    """``policyd apply`` of Pods and the policies of the library, beside composing their YAML."""
    pods = [json.loads(each)["request"]["object"] for each in core.bodies()]
    for each in pods:
        for field in SET_BY_THE_SERVER:
            each["metadata"].pop(field, None)
    with TemporaryDirectory() as name:
        folder = Path(name)
        for form in ("YAML", "JSON"):
            alone: dict[int, float] = {}

            def cost(count: int, form: str = form, alone: dict[int, float] = alone) -> float:
                files = folder / f"{form}-{count}"
                files.mkdir()
                for start in range(0, count, len(pods)):
                    texts = [written(pod, start, form) for pod in pods[: count - start]]
                    (files / f"{start:06d}.yaml").write_text("\n---\n".join(texts))
                before = process_time()
                for file in files.iterdir():
                    read(file, form)
                alone[count] = process_time() - before
                return cpu(["apply", "-p", str(ROOT / "policies"), str(files)], folder)

            yield from curve(f"apply of {{}} manifests of {form}", MANIFESTS, cost, {})
            what, target = YARDSTICK[form]
            last = MANIFESTS[-1]
            yield f"{what} of the same", f"{alone[last] / last * 1e3:.2f} ms each", target


YARDSTICK = {"YAML": ("libyaml alone", "half of apply"), "JSON": ("parse + print", "a quarter")}
SET_BY_THE_SERVER = ("uid", "creationTimestamp", "generation", "ownerReferences")
MANIFESTS = (100, 1_000, 10_000)


def written(pod: dict[str, Any], number: int, form: str) -> str:
    """A Pod with a name of its own, as text."""
    named = {**pod, "metadata": {**pod["metadata"], "name": f"{pod['metadata']['name']}-{number}"}}
    if form == "JSON":
        return json.dumps(named)
    return str(yaml.dump(named, Dumper=yaml.CSafeDumper))


def read(file: Path, form: str) -> None:
    """Compose YAML with libyaml; parse and print JSON."""
    if form == "YAML":
        for _ in yaml.compose_all(file.read_bytes(), Loader=yaml.CSafeLoader):
            pass
        return
    for text in file.read_bytes().split(b"\n---\n"):
        orjson.dumps(orjson.loads(text))


LINTED = (1, 250, 500, 1000, 2000)


def labelling(number: int) -> dict[str, object]:
    """A policy that sets the label."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    overlay = {"metadata": {"labels": {"team": f"team-{number}"}}}
    spec = {
        "matchConstraints": {"resourceRules": [{**rule, "resources": ["pods"]}]},
        "mutations": [{"patchType": "Overlay", "overlay": overlay}],
    }
    metadata = {"name": f"label-{number:05d}"}
    return {
        "apiVersion": "policyd.dev/v1",
        "kind": "Policy",
        "metadata": metadata,
        "spec": spec,
    }
