"""The command: see the package."""

import argparse
import re
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tools.image.settings import epoch
from tools.release import archives, checks, compiling, headers, notes, programs, settings, tagging
from tools.release.settings import DIST, Target
from tools.supply import locks


def main() -> None:
    """Build what is asked for; with a version, check it first and tag it last."""
    parser = argparse.ArgumentParser(prog="python -m tools.release")
    parser.add_argument(
        "--version", type=_version, metavar="1.2.3", help="the version to release and to tag"
    )
    parser.add_argument(
        "--only",
        action="append",
        type=_target,
        metavar="PYTHON-MACHINE",
        help="such as 3.13-aarch64",
    )
    arguments = parser.parse_args()
    version = arguments.version
    if version and arguments.only:
        parser.error("--only builds a part of a release, and that is not tagged")
    release = tagging.check(version) if version else None
    began = time.monotonic()
    built = build(arguments.only or settings.targets())
    (DIST / notes.SUMS).write_text(notes.sums(built.files), encoding="utf-8")
    if release:
        text = notes.text(release.version, release.changes, built.files, built.sources)
        (DIST / notes.NOTES).write_text(text, encoding="utf-8")
        tagging.tag(release)
        print(f"tagged v{release.version}")
    print(f"{len(built.files)} files in {DIST} after {time.monotonic() - began:.0f} s")


def _version(text: str) -> str:
    if not re.fullmatch(r"\d+\.\d+\.\d+", text):
        raise argparse.ArgumentTypeError(f"{text}: expected three numbers, such as 1.2.3")
    return text


def _target(text: str) -> Target:
    found = {str(each): each for each in settings.targets()}
    if text not in found:
        raise argparse.ArgumentTypeError(f"{text}: expected one of {', '.join(found)}")
    return found[text]


@dataclass(slots=True)
class Built:
    """The files in dist/, and what they were made with."""

    files: list[Path]
    sources: list[str]


def build(wanted: list[Target]) -> Built:
    """Write dist/ again."""
    tools = programs.installed()
    modified = epoch()
    found = {target: headers.find(target) for target in wanted}  # before anything takes minutes
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    with tempfile.TemporaryDirectory(prefix="policyd-release-") as scratch:
        sdist, plain = archives.plain(Path(scratch))
        built = Built(
            [archives.sdist(sdist, DIST, modified)],
            [f"ziglang {locks.locked(settings.LOCK)['ziglang']}"],
        )
        for target, its in found.items():
            began = time.monotonic()
            modules = compiling.modules(target, its, tools / "python-zig")
            wheel = archives.wheel(plain, modules, target, DIST, modified)
            checks.check(wheel, target, tools / "auditwheel")
            built.files.append(wheel)
            built.sources.append(f"{its.source} ({target.machine})")
            took = time.monotonic() - began
            print(
                f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB after {took:.0f} s", flush=True
            )
    checks.check_metadata(built.files, tools / "twine")
    return built


if __name__ == "__main__":
    main()
