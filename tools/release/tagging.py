"""What has to hold before a version is tagged, and the tag."""

import subprocess

from tools.image.settings import ROOT
from tools.image.settings import version as package_version
from tools.release import notes


def check(version: str) -> str:
    """The changes of a version. Raises SystemExit with everything that is in its way."""
    problems = []
    if version != package_version():
        problems.append(f"policyd/__init__.py has __version__ = {package_version()!r}")
    if changed := _git("status", "--porcelain").splitlines():
        problems.append(f"the tree is not clean: {len(changed)} files, {changed[0].strip()}")
    if _git("tag", "--list", f"v{version}"):
        problems.append(f"the tag v{version} exists: git tag -d v{version}, if it is not published")
    changes = ""
    try:
        changes = notes.section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    except SystemExit as missing:
        problems.append(str(missing))
    if problems:
        raise SystemExit("\n".join([f"{version} cannot be released:", *problems]))
    return changes


def tag(version: str, changes: str) -> None:
    """Write the annotated tag of this commit."""
    message = f"policyd {version}\n\n{changes}\n"
    _git("tag", "--annotate", "--cleanup=verbatim", f"v{version}", "--file=-", stdin=message)


def _git(*arguments: str, stdin: str | None = None) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, input=stdin, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"git {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout
