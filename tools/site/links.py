"""Pages of the site: where a file of the repository stands in it, and links rewritten to that."""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\]\()([^)#: ]+)(#[^) ]*)?(\))")
# Files beside a policy that its page shows.
PARTS = ("policy.yaml", "params.yaml", "suite.yaml")


def place(path: str) -> tuple[str, str]:
    """The page of a file or directory of the repository, and the anchor in it."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/"), ""
    directory, name = posixpath.split(path)
    if (ROOT / path / "policy.yaml").exists():
        return f"source/{path}/index.md", ""
    if (ROOT / directory / "policy.yaml").exists() and name in (*PARTS, "README.md"):
        return f"source/{directory}/index.md", f"#{name.replace('.', '')}" if name in PARTS else ""
    return f"source/{path}" if path.endswith(".md") else f"source/{path}.md", ""


def targets(text: str, base: str) -> set[str]:
    """The files and directories of the repository that a page links to."""
    return {
        posixpath.normpath(posixpath.join(posixpath.dirname(base), target))
        for _, target, _, _ in LINK.findall(text)
    }


def rewritten(text: str, base: str) -> str:
    """A page of the repository with its links as they are in the site."""
    here = posixpath.dirname(place(base)[0])

    def link(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(base), found[2]))
        page, anchor = place(path)
        return f"{found[1]}{posixpath.relpath(page, here or '.')}{found[3] or anchor}{found[4]}"

    return LINK.sub(link, text)


def page_of(path: str) -> str:
    """The Markdown of a page for a file or directory outside of docs/."""
    file = ROOT / path
    if path.endswith(".md"):
        return rewritten(file.read_text(encoding="utf-8"), path)
    if file.is_dir():
        return policy_page(path)
    return f"# {file.name}\n\n{fenced(file)}"


def policy_page(path: str) -> str:
    """A policy of the library with its parameters, suite and README."""
    readme = ROOT / path / "README.md"
    head = f"# {posixpath.basename(path)}\n"
    if readme.exists():
        head = rewritten(readme.read_text(encoding="utf-8"), f"{path}/README.md")
    shown = (ROOT / path / name for name in PARTS)
    return head + "".join(f"\n## {each.name}\n\n{fenced(each)}" for each in shown if each.exists())


def fenced(file: Path) -> str:
    """A file as a block of code."""
    return f"````{file.suffix[1:]}\n{file.read_text(encoding='utf-8')}````\n"
