"""What holds of every wheel: its size, which libraries and glibc it needs, how PyPI reads it."""

import json
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tools.release.settings import GLIBC, LARGEST, Target


def check(wheel: Path, target: Target, auditwheel: Path) -> None:
    """Raise SystemExit if a wheel is too large, or does not run where its name says."""
    done = subprocess.run(
        [str(auditwheel), "show", "--json", str(wheel)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"auditwheel cannot read {wheel.name}:\n{done.stderr.strip()}")
    found = [*problems(json.loads(done.stdout), target)]
    if (size := wheel.stat().st_size) > LARGEST:
        found.append(f"{size / 1e6:.1f} MB; the limit is {LARGEST / 1e6:g}")
    if found:
        raise SystemExit("\n".join([f"{wheel.name}:", *found]))


def problems(report: dict[str, Any], target: Target) -> Iterable[str]:
    """What auditwheel found that the name of the wheel does not allow. Nothing is repaired: the
    modules need no library but those of glibc.
    """
    tag = str(report["overall_tag"])
    match = re.fullmatch(rf"manylinux_2_(\d+)_{target.machine}", tag)
    if match is None or int(match[1]) > int(GLIBC.partition(".")[2]):
        yield f"its modules need {tag}, not {target.platform}: {report['versioned_symbols']}"
    for name in report["external_libs"]:
        yield f"its modules need {name}, which is not part of glibc"
    if report["unsupported_isa"]:
        yield f"its modules have instructions that not every {target.machine} knows"


def check_metadata(files: Iterable[Path], twine: Path) -> None:
    """Raise SystemExit if PyPI would refuse the metadata of a file."""
    done = subprocess.run(
        [str(twine), "check", "--strict", *map(str, files)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"twine check failed:\n{done.stdout}{done.stderr}")
