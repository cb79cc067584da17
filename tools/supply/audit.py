"""Look up known vulnerabilities of what the locks have, with pip-audit.

    make audit
    python -m tools.supply.audit

It needs a database of vulnerabilities: that of PyPI's JSON API, or OSV. A mirror of packages alone
has none, and pip-audit then skips every package and reports "No known vulnerabilities found":
``--strict`` makes that an error. So this is no part of ``make check``, which must work offline.
"""

import subprocess
import sys
from pathlib import Path

from tools.image import settings
from tools.supply import locks
from tools.supply.environments import installed

# By status: what a scan of a lock gives.
CLEAN, VULNERABLE, NO_DATABASE = 0, 1, 2
_SERVICES = ("pypi", "osv")


def main() -> None:
    """Scan both locks; the exit status is the worst of them."""
    program = installed("pip-audit")
    sys.exit(max(scan(program, lock) for lock in (settings.LOCK, locks.DEVELOPMENT)))


def scan(program: Path, lock: Path) -> int:
    """Scan one lock with the first database that answers for all of it."""
    name = lock.relative_to(settings.ROOT)
    reasons = []
    for service in _SERVICES:
        command = [
            str(program),
            "--strict",
            "--disable-pip",
            "--progress-spinner=off",
            "-s",
            service,
        ]
        done = subprocess.run(
            [*command, "-r", str(lock)], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            print(f"{name}: {done.stderr.strip()}")
            return CLEAN
        if done.stdout.startswith("Name"):  # the table of what was found
            print(f"{name}: vulnerable\n{done.stdout}")
            return VULNERABLE
        reasons.append(f"  {service}: {(done.stderr.strip() or 'no answer').splitlines()[-1]}")
    print(
        f"{name}: not audited, because no database of vulnerabilities answers:", *reasons, sep="\n"
    )
    return NO_DATABASE


if __name__ == "__main__":
    main()
