"""Build the site into build/site, and check that it loads nothing from another host.

``make docs`` runs it. Broken links and anchors are errors.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
SITE = HERE.parents[1] / "build/site"
TAG = r"<(?:script|img|link|iframe|source|video|audio)\b[^>]*?(?:src|href)="
LOADED = {
    ".html": re.compile(TAG + r"[\"']?((?:https?:)?//[^\"' >]+)"),
    ".css": re.compile(r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"') ]+)"),
}


def loaded() -> Iterator[str]:
    """What pages and style sheets of the site load from other hosts."""
    for file in sorted(each for each in SITE.rglob("*") if each.suffix in LOADED):
        for address in LOADED[file.suffix].findall(file.read_text(encoding="utf-8")):
            yield f"{file.relative_to(SITE)}: loads {address}"


def main() -> int:
    """Build and check."""
    command = [sys.executable, "-m", "mkdocs", "build", "--clean", "--strict"]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    config = ("--config-file", str(HERE / "mkdocs.yml"))
    done = subprocess.run([*command, *config], env=environment, check=False)
    problems = list(loaded())
    print("\n".join(problems) or f"{SITE}: {len(list(SITE.rglob('*.html')))} pages")
    return done.returncode or bool(problems)


if __name__ == "__main__":
    sys.exit(main())
