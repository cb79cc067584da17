"""Instructions per request: counted by ``perf`` or Valgrind in processes of their own, so that they
are the same on a busy machine. What starts and warms up is excluded: two runs of different lengths
are subtracted.
"""

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from policyd.benchmark.figures import Figure
from policyd.benchmark.rounds import Report
from policyd.benchmark.work import Job
from policyd.errors import ConfigError

UNIT = "instructions"
_REQUESTS = 1000  # of the longer run, at least
_REMEDY = (
    "install Valgrind (Debian, Ubuntu: apt-get install valgrind; Fedora: dnf install valgrind; "
    "Alpine: apk add valgrind), or run on a machine where `perf stat -e instructions:u true` counts"
)


@dataclass(frozen=True, slots=True)
class Counter:
    """A program that counts the instructions of a process. ``command`` is what its command line
    begins with; FILE in it becomes the file that it writes, for callgrind that of its profile.
    """

    name: str
    command: tuple[str, ...]

    def count(self, program: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
        """Run a program, with more variables in its environment. Raises ConfigError if it fails or
        is not counted.
        """
        with tempfile.TemporaryDirectory(prefix="policyd-count-") as folder:
            file = Path(folder) / "count"
            command = [part.replace("FILE", str(file)) for part in self.command]
            done = subprocess.run(
                [*command, *program],
                env={**os.environ, **(environment or {}), "PYTHONHASHSEED": "0"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
            found = _read(file) if done.returncode == 0 else None
        if found is None:
            errors = done.stderr.decode(errors="replace").strip()[-500:]
            raise ConfigError(f"--instructions: {self.name} did not count: {errors}")
        return found


_PERF = Counter("perf", ("perf", "stat", "-x", ",", "-e", "instructions:u", "-o", "FILE", "--"))
CALLGRIND = Counter(
    "callgrind", ("valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=FILE")
)


def counter() -> Counter:
    """Return the counter of this machine: perf if the processor's counters can be read, else
    Valgrind. Raises ConfigError if there is neither.
    """
    if shutil.which("perf"):
        try:
            _PERF.count(["true"])
        except ConfigError:
            pass  # virtual machines and containers often hide the counters
        else:
            return _PERF
    if shutil.which("valgrind"):
        return CALLGRIND
    raise ConfigError(f"--instructions: nothing here counts instructions\n  hint: {_REMEDY}")


def instructions(job: Job, using: Counter, report: Report) -> list[Figure]:
    """Return the instructions per call of each webhook."""
    webhooks = tuple(dict.fromkeys(call.webhook for call in job.calls))
    with tempfile.TemporaryDirectory(prefix="policyd-bench-") as folder:
        file = Path(folder) / "job"
        file.write_bytes(pickle.dumps(job))
        program = (sys.executable, "-m", "policyd.benchmark.work", str(file))
        report(f"counting with {using.name}", 0, 1 + len(webhooks))
        base = using.count([*program, webhooks[0], "0"])
        figures = []
        for number, webhook in enumerate(webhooks, 1):
            report(f"counting with {using.name}", number, 1 + len(webhooks))
            own = sum(call.webhook == webhook for call in job.calls)
            passes = -(-_REQUESTS // own)
            more = using.count([*program, webhook, str(passes)]) - base
            name = f"{webhook}/{UNIT} ({using.name})"
            figures.append(Figure(name, UNIT, (more / passes / own,)))
    return figures


def _read(file: Path) -> int | None:
    """Return the total in what perf or callgrind wrote; None if there is none."""
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        head, _, rest = line.partition(" ")
        if head in ("totals:", "summary:"):
            return int(rest.split()[0])
        value, _, more = line.partition(",")
        if "instructions" in more and value.isdigit():
            return int(value)
    return None
