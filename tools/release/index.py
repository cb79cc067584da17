"""A package index of static files (PEP 503), with hashes: what a web server or pip can read.

python -m tools.release.index DIR      that of dist/, to copy to a web server

pip install --extra-index-url https://WHERE/simple/ policyd
"""

import argparse
import contextlib
import functools
import hashlib
import html
import http.server
import re
import shutil
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

from tools.release.settings import DIST

_PAGE = """\
<!DOCTYPE html>
<html><head><meta name="pypi:repository-version" content="1.0"></head><body>
{}</body></html>
"""


def main() -> None:
    """Write the index of dist/."""
    parser = argparse.ArgumentParser(prog="python -m tools.release.index")
    parser.add_argument("folder", type=Path, help="a new folder")
    folder = parser.parse_args().folder
    found = distributions(DIST)
    if not found:
        raise SystemExit(f"{DIST} has no wheels: run make release")
    write(folder, found)
    print(f"{len(found)} files in {folder / 'simple'}")


def distributions(folder: Path) -> list[Path]:
    """The wheels and source distributions in a folder."""
    return sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])


def write(folder: Path, files: Iterable[Path]) -> None:
    """Write the pages, and copy the files beside them."""
    projects: dict[str, list[Path]] = {}
    for each in files:
        name = re.sub(r"[-_.]+", "-", each.name.split("-")[0]).lower()
        projects.setdefault(name, []).append(each)
    simple = folder / "simple"
    for name, found in projects.items():
        (simple / name).mkdir(parents=True)
        for each in found:
            shutil.copy(each, simple / name)
        links = ((each.name, f"{each.name}#sha256={_digest(each)}") for each in sorted(found))
        (simple / name / "index.html").write_text(_page(links), encoding="utf-8")
    (simple / "index.html").write_text(
        _page((name, f"{name}/") for name in sorted(projects)), encoding="utf-8"
    )


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve an index to this machine; the address of its pages."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/simple/"
        finally:
            server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def _page(links: Iterable[tuple[str, str]]) -> str:
    lines = (
        f'<a href="{quote(to, safe="/#=+")}">{html.escape(name)}</a><br>\n' for name, to in links
    )
    return _PAGE.format("".join(lines))


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
