"""Do what a new Kubernetes version needs, and print what is left for a person.

    make kubernetes VERSION=1.38

The version needs a row in ``tools/kubernetes/modules.py`` (its release), in ``tests/kubernetes.py``
and in ``policyd/versions.py``. Each step says what it did or why it could not; all are tried.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from policyd.versions import NEWEST, SUPPORTED, KubernetesVersion
from tests import kubernetes
from tests.e2e import cluster
from tests.fuzz import oracle
from tools import make_enums, make_schemas
from tools.kubernetes import modules

ROOT = Path(__file__).resolve().parent.parent.parent
# Go programs of the tests, each with a kubernetes-VERSION.mod.
PROGRAMS = ("tests/oracle", "tests/e2e/apiserver")
# What reads a running API server, and writes a table or recorded rows.
OF_SERVERS = (
    "tools.make_discovery",
    "tests.e2e.record_defaults",
    "tests.e2e.differential.record_rows",
)
PAGES = ("tools.make_function_docs", "tools.make_version_docs", "tools.make_command_docs")
DIFFERENCES = 3_000
TEXT = 300  # characters of a reason


def main(version: str) -> int:
    """Return the exit status: 1 if something is left for a person."""
    left = list(_missing_rows(version)) or list(_steps(version))
    for each in left:
        print(f"left: {each}")
    if not left:
        print(f"{version}: nothing is left; run make acceptance K8S={version}")
    return 1 if left else 0


def _missing_rows(version: str) -> Iterator[str]:
    """Yield the tables that do not name the version yet."""
    if KubernetesVersion.parse(version) not in SUPPORTED:
        yield f"policyd/versions.py: LATEST is older than {version}"
    if version not in modules.RELEASES:
        yield f"tools/kubernetes/modules.py: RELEASES has no release of {version}"
    if version not in {**kubernetes.RELEASES, **kubernetes.AHEAD}:
        yield f"tests/kubernetes.py: neither RELEASES nor AHEAD has {version}"
    for program in PROGRAMS:
        if not (ROOT / program / f"kubernetes-{version}.mod").exists():
            yield f"{program}/kubernetes-{version}.mod: copy that of {NEWEST}, then go mod tidy -e"


def _steps(version: str) -> Iterator[str]:
    """Do each step; yield what could not be done."""
    yield from _step("schemas", lambda: make_schemas.main([version]))
    yield from _step("enumerations", make_enums.main)
    yield from _step("CEL oracle", lambda: print(oracle.program(version)))
    for page in PAGES:
        yield from _step(page, partial(_module, page, version))
    yield from _step("random expressions", lambda: _module("tests.fuzz", version, DIFFERENCES))
    yield from _step("API server", lambda: print(cluster.binaries()))
    for each in OF_SERVERS:
        yield from _step(each, partial(_module, each, version))
    if version in kubernetes.AHEAD:
        yield f"tests/kubernetes.py: when {version}.0 is released, move the row to RELEASES"


def _step(name: str, work: Callable[[], object]) -> Iterator[str]:
    print(f"== {name}", flush=True)
    try:
        work()
    except (kubernetes.Unavailable, subprocess.CalledProcessError) as reason:
        yield f"{name}: {str(reason)[-TEXT:]}"


def _module(name: str, version: str, *arguments: object) -> None:
    command: Sequence[str] = [sys.executable, "-m", name, *map(str, arguments)]
    subprocess.run(command, cwd=ROOT, env=kubernetes.environment(version), check=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
