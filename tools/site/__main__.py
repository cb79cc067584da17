"""Build the site of this version, and check that it loads nothing from another host.

python -m tools.site [DIRECTORY]    # default: build/site

``make docs`` runs it. Broken links and anchors are errors. The pages are in DIRECTORY/VERSION; the
sites of other versions there stay, and the menu of each page lists them all.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.version import Version

from policyd import __version__

HERE = Path(__file__).parent
DEFAULT = HERE.parents[1] / "build/site"
REDIRECT = """<!doctype html><title>policyd</title>
<meta http-equiv="refresh" content="0; url={}/index.html">
"""
TAG = r"<(?:script|img|link|iframe|source|video|audio)\b[^>]*?(?:src|href)="
LOADED = {
    ".html": re.compile(TAG + r"[\"']?((?:https?:)?//[^\"' >]+)"),
    ".css": re.compile(r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"') ]+)"),
}


def loaded(site: Path) -> Iterator[str]:
    """What pages and style sheets of the site load from other hosts."""
    for file in sorted(each for each in site.rglob("*") if each.suffix in LOADED):
        for address in LOADED[file.suffix].findall(file.read_text(encoding="utf-8")):
            yield f"{file.relative_to(site)}: loads {address}"


def list_versions(whole: Path) -> list[str]:
    """Write the list of versions, and let the root show the newest; return them, newest first."""
    found = sorted(
        (each.parent.name for each in whole.glob("*/404.html")), key=Version, reverse=True
    )
    listed = [{"version": each, "title": each, "aliases": []} for each in found]
    (whole / "versions.json").write_text(json.dumps(listed), encoding="utf-8")
    (whole / "index.html").write_text(REDIRECT.format(found[0]), encoding="utf-8")
    return found


def main(whole: Path) -> int:
    """Build and check."""
    site = whole.resolve() / __version__
    command = [sys.executable, "-m", "mkdocs", "build", "--clean", "--strict"]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    where = ("--config-file", str(HERE / "mkdocs.yml"), "--site-dir", str(site))
    done = subprocess.run([*command, *where], env=environment, check=False)
    if done.returncode:
        return done.returncode
    problems = list(loaded(site))
    print("\n".join(problems) or f"{site}: {len(list(site.rglob('*.html')))} pages")
    print(f"versions: {', '.join(list_versions(whole))}")
    print(f"to read it with search and the menu of versions: python3 -m http.server -d {whole}")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(Path(*sys.argv[1:2]) if sys.argv[1:] else DEFAULT))
