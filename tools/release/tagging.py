"""What has to hold before a version is tagged, and the tag."""

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass

import yaml

from tools.image.settings import ROOT
from tools.image.settings import version as package_version
from tools.release import notes

_NAMED = 3  # files of a tree that is not clean


@dataclass(frozen=True, slots=True)
class Release:
    """What is tagged."""

    version: str
    commit: str
    changes: str  # in Markdown


def check(version: str) -> Release:
    """The release of this commit. Raises SystemExit with everything that is in its way."""
    problems = [*_problems(version)]
    changes = ""
    try:
        changes = notes.section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    except SystemExit as missing:
        problems.append(str(missing))
    if problems:
        raise SystemExit("\n".join([f"{version} cannot be released:", *problems]))
    return Release(version, _git("rev-parse", "HEAD").strip(), changes)


def _problems(version: str) -> Iterable[str]:
    if version != (found := package_version()):
        yield (
            f"policyd/__init__.py has __version__ = {found!r}: set it to {version!r}, "
            f"or give VERSION={found}"
        )
    chart = yaml.safe_load((ROOT / "deploy/chart/Chart.yaml").read_text(encoding="utf-8"))
    for field in ("version", "appVersion"):
        if chart[field] != version:
            yield (
                f"deploy/chart/Chart.yaml has {field} {chart[field]}: "
                f"set version and appVersion to {version}"
            )
            break
    if changed := [line.strip() for line in _git("status", "--porcelain").splitlines()]:
        more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
        yield f"the tree is not clean: commit or remove {', '.join(changed[:_NAMED])}{more}"
    if _git("tag", "--list", f"v{version}"):
        yield f"the tag v{version} exists: git tag -d v{version}, if it is not published"
    try:
        _git("var", "GIT_COMMITTER_IDENT")
    except SystemExit:
        yield "git does not know who tags: git config user.name NAME, git config user.email ADDRESS"


def tag(release: Release) -> None:
    """Write the annotated tag of the commit that was built."""
    if check(release.version) != release:
        raise SystemExit("the commit changed while it was built: repeat the command")
    message = f"policyd {release.version}\n\n{release.changes}\n"
    name = f"v{release.version}"
    _git("tag", "--annotate", "--cleanup=verbatim", name, "--file=-", stdin=message)


def _git(*arguments: str, stdin: str | None = None) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, input=stdin, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"git {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout
