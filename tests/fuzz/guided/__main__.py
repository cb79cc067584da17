"""``python -m tests.fuzz.guided [--keep] [SECONDS] [TARGET...]``: fuzz targets one after the other.

Runs in the copy of the tree that ``tools/fuzz`` builds; ``make fuzz`` starts it. The inputs of earlier
runs are in ``corpora``, those that found something in ``found``. ``--keep`` fuzzes nothing: it writes
the smallest inputs that reach all that was reached to the corpus of the copy.
"""

import re
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

from tests.fuzz.guided import corpus, engine, table

CORPORA = Path("corpora")
FOUND = Path("found")
LIMITS = ("-rss_limit_mb=2048", "-timeout=120", "-verbosity=1")
_REACHED = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)")
_EXECUTED = re.compile(r"number_of_executed_units: (\d+)")


def main() -> None:
    names = [each for each in sys.argv[1:] if not each.isdigit() and each != "--keep"]
    engine.connected()  # targets cannot be imported without
    rows = [row for row in table.TARGETS if not names or row.name in names]
    if "--keep" in sys.argv:
        for row in rows:
            print(f"{row.name}: {keep(row.name)} inputs", flush=True)
        return
    seconds = max(1, next((int(each) for each in sys.argv[1:] if each.isdigit()), 600) // len(rows))
    FOUND.mkdir(exist_ok=True)
    print(f"{'target':12} {'executions':>10} {'blocks':>7} {'features':>8} {'inputs':>6}")
    failed = [row.name for row in rows if not fuzz(row, seconds)]
    if failed:
        raise SystemExit(
            f"found something in: {', '.join(failed)}; the inputs are in {FOUND.resolve()}"
        )


def fuzz(row: table.Row, seconds: int) -> bool:
    """Fuzz one target and print what was reached; whether nothing was found."""
    limits = (
        *LIMITS,
        f"-max_total_time={seconds}",
        f"-max_len={row.longest}",
        "-print_final_stats=1",
    )
    ran = run(row.name, *limits, f"-artifact_prefix={FOUND}/{row.name}-", unpacked(row.name))
    reached = [(0, 0, 0), *(tuple(map(int, each)) for each in _REACHED.findall(ran.stderr))][-1]
    executed = _EXECUTED.search(ran.stderr)
    count = int(executed[1]) if executed else 0
    print(f"{row.name:12} {count:10} {reached[0]:7} {reached[1]:8} {reached[2]:6}", flush=True)
    if ran.returncode:
        print("\n".join((ran.stdout + ran.stderr).splitlines()[-60:]), flush=True)
    return ran.returncode == 0


def keep(name: str) -> int:
    """Write the corpus of a target."""
    with tempfile.TemporaryDirectory() as folder:
        run(name, "-merge=1", folder, unpacked(name))
        reaching = {each.read_bytes() for each in Path(folder).iterdir()}
    return corpus.keep(name, reaching - {*table.load(name).seeds()})


def unpacked(name: str) -> str:
    """The folder of a target's inputs, to which its seeds and its corpus are added."""
    folder = CORPORA / name
    folder.mkdir(parents=True, exist_ok=True)
    found = [each.data for each in corpus.findings() if each.target == name]
    for data in (*table.load(name).seeds(), *corpus.kept(name), *found):
        Path(folder, sha256(data).hexdigest()[:20]).write_bytes(data)
    return str(folder)


def run(name: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.fuzz.guided.engine", name, *options]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)


if __name__ == "__main__":
    main()
