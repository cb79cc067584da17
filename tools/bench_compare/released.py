"""``python -m tools.bench_compare.released [--write] [--threshold PERCENT]``.

Counts the instructions of the workloads by callgrind, as multiples of those that parse and print
the same reviews, and compares them with ``released.json``: the figures of the last release. That
takes two minutes on two cores, because no other tree is built; two runs differ by less than 1 %.

``--write`` records the figures of this tree, for the Python that runs it. Figures of another Python
are not compared: an interpreter has a large part in them. Exit status: 0, also if nothing could be
compared, with the reason; 1 if a workload takes more than the threshold allows.
"""

import argparse
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.bench_compare.__main__ import REVIEWS, WORKLOADS, Workload, environment
from tools.bench_compare.base import ROOT
from tools.bench_compare.instructions import CALLGRIND, Counter

FILE = Path(__file__).with_name("released.json")
THRESHOLD = 5.0  # percent
_YARDSTICK = Path(__file__).with_name("yardstick.py")
_FEW, _MANY = 1, 11  # passes over the reviews


def python() -> str:
    """Name the Python that runs this: what its instructions depend on."""
    build = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{build}, {platform.python_compiler()}, {platform.machine()}"


def measure(using: Counter, workloads: Sequence[Workload] = WORKLOADS) -> dict[str, float]:
    """Return the instructions of each workload, as multiples of the yardstick's. As many runs as
    there are cores are made at once, which changes nothing.
    """
    commands: list[Callable[[int], list[str]]] = [each.command for each in workloads]
    commands.append(
        lambda passes: [sys.executable, str(_YARDSTICK), str(ROOT / REVIEWS), str(passes)]
    )
    runs = [command(passes) for command in commands for passes in (_FEW, _MANY)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = list(pool.map(lambda run: using.count(run, environment(ROOT)), runs))
    *found, yardstick = (more - less for less, more in zip(counts[::2], counts[1::2], strict=True))
    return {each.name: count / yardstick for each, count in zip(workloads, found, strict=True)}


def compared(
    now: Mapping[str, float], released: Mapping[str, float], threshold: float
) -> tuple[list[str], bool]:
    """Return a line for each workload, and whether one takes more by this share."""
    lines, slower = [], False
    for name, value in now.items():
        before = released.get(name)
        if before is None:
            lines.append(f"  {name:<26} {value:7.3f} x parse + print, not released yet")
            continue
        more = value / before - 1
        worse = more > threshold
        slower = slower or worse
        lines.append(
            f"  {name:<26} {value:7.3f} x parse + print, released {before:.3f}: {more:+.1%}"
            f"{'  SLOWER' if worse else ''}"
        )
    return lines, slower


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare or write, print, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench_compare.released")
    parser.add_argument("--write", action="store_true", help="record the figures of this tree")
    parser.add_argument("--threshold", type=float, default=THRESHOLD, metavar="PERCENT")
    given = parser.parse_args(arguments)
    begin, name = time.monotonic(), python()
    released: dict[str, dict[str, float]] = json.loads(FILE.read_text()) if FILE.exists() else {}
    if shutil.which("valgrind") is None:
        print("not compared: instructions are counted by Valgrind, which is not installed")
        return int(given.write)
    if name not in released and not given.write:
        print(f"not compared: {FILE.name} has no figures of {name}, only of {'; '.join(released)}")
        return 0
    now = measure(CALLGRIND)
    lines, slower = compared(now, released.get(name, {}), given.threshold / 100)
    print(f"instructions of {name}, in {time.monotonic() - begin:.0f} s", *lines, sep="\n")
    if given.write:
        released[name] = {each: round(value, 4) for each, value in now.items()}
        FILE.write_text(json.dumps(released, indent=2, sort_keys=True) + "\n")
        return 0
    return int(slower)


if __name__ == "__main__":
    sys.exit(main())
