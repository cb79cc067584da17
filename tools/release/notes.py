"""What a release says of itself: the section of the changelog, the files and their hashes."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

NOTES, SUMS = "RELEASE_NOTES.md", "SHA256SUMS"


def section(changelog: str, version: str) -> str:
    """The text below the heading of a version. Raises SystemExit if there is none."""
    heading = re.compile(rf"^## \[?{re.escape(version)}\]?(?: .*)?$", re.MULTILINE)
    found = heading.search(changelog)
    if found is None:
        raise SystemExit(
            f"CHANGELOG.md has no section {version}: rename the section Unreleased, "
            f"for example to '## {version} - 2027-01-31'"
        )
    text = re.split(r"^## ", changelog[found.end() :], maxsplit=1, flags=re.MULTILINE)[0].strip()
    if not text:
        raise SystemExit(f"CHANGELOG.md: the section {version} is empty")
    return text


def sums(files: Iterable[Path]) -> str:
    """The hashes as ``sha256sum --check`` reads them."""
    return "".join(f"{_digest(each)}  {each.name}\n" for each in sorted(files))


def text(version: str, changes: str, files: Iterable[Path], built_with: Iterable[str]) -> str:
    """The release notes, in Markdown."""
    rows = [
        f"| {each.name} | {each.stat().st_size / 1e6:.2f} MB | `{_digest(each)}` |"
        for each in sorted(files)
    ]
    lines = [
        f"# policyd {version}",
        "",
        changes,
        "",
        "## Files",
        "",
        "| file | size | sha256 |",
        "|---|---|---|",
        *rows,
        "",
        f"Built with {', '.join(built_with)}.",
    ]
    return "\n".join(lines) + "\n"


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
