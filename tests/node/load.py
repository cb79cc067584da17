"""A stream of creates beside a test, and what became of it. No tests here."""

import json
import math
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from tests.node.machine import Node
from tests.node.stream import Row
from tests.shared import ROOT

DENIED = "baseline-host-namespaces"
END_WITHIN = 120.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the creates of a stream."""

    rows: Sequence[Row]

    @property
    def counts(self) -> Counter[str]:
        return Counter(row[2] for row in self.rows)

    @property
    def faults(self) -> list[str]:
        """The creates that were lost, or decided as no policy says: none, if all is well."""
        begin = self.rows[0][0]
        return [
            f"+{row[0] - begin:.2f} s, took {row[1]:.2f} s: {row[2]} ({row[3]}) {row[4][:300]}"
            for row in self.rows
            if row[2] not in ("admitted", "denied")
        ]

    def milliseconds(self, quantile: float) -> float:
        took = sorted(row[1] for row in self.rows)
        return 1000 * took[max(0, math.ceil(quantile * len(took)) - 1)]

    @property
    def seconds(self) -> float:
        return self.rows[-1][0] - self.rows[0][0]


class Load:
    """``with Load(node, 20) as load: …``; then ``load.outcome`` has every create.

    The stream runs when the block begins, and goes on for ``after`` seconds when it ends.
    """

    def __init__(
        self, node: Node, rate: float, *, after: float = 3.0, denied: str = DENIED
    ) -> None:
        self.rate = rate
        self.outcome = Outcome(())
        self._after = after
        command = [sys.executable, "-m", "tests.node.stream", str(node.folder / "pki"), str(rate)]
        self._child = node.start_process([*command, "--denied", denied], cwd=ROOT)

    def __enter__(self) -> Self:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        assert line == "ready\n", line
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            time.sleep(self._after)
        self._child.send_signal(signal.SIGTERM)
        try:
            printed, _ = self._child.communicate(timeout=END_WITHIN)
        except subprocess.TimeoutExpired:
            self._child.kill()
            raise
        self.outcome = Outcome([tuple(row) for row in json.loads(printed)])
