"""Hooks of MkDocs: the navigation from docs/README.md, pages of linked files, GitHub's Markdown."""

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # MkDocs imports this file alone

from mkdocs.structure.files import File  # noqa: E402

from policyd import __version__  # noqa: E402
from tools.site import links, markdown  # noqa: E402

ENTRY = re.compile(r"\[([^]]+)\]\(([^)]+)\)(?=[:,.]|$|\n| )")


def on_config(config: Any) -> Any:
    """Set the navigation, anchors and version."""
    config["mdx_configs"].setdefault("toc", {})["slugify"] = markdown.slug
    config["copyright"] = f"policyd {__version__}"
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", index, re.MULTILINE | re.DOTALL)
    config["nav"] = [{"Home": "README.md"}]
    config["nav"] += [{title: list(entries(body))} for title, body in sections]
    return config


def entries(body: str) -> Any:
    """The pages of a section; an index of a directory brings its pages along."""
    for title, target in ENTRY.findall(body):
        path, _ = links.place(posixpath.normpath(f"docs/{target}"))
        folder = Path(path).parent
        if path.endswith("/README.md") and not path.startswith("source/"):
            pages = sorted((ROOT / "docs" / folder).glob("*.md"))
            others = [f"{folder}/{each.name}" for each in pages if each.name != "README.md"]
            yield {title: [path, *others]}
        else:
            yield {title if title.startswith("policyd") else title[0].upper() + title[1:]: path}


def on_files(files: Any, config: Any) -> Any:
    """Add pages for the files outside of docs/ that pages link to, and the style sheet."""
    waiting = [
        (f"docs/{each.src_uri}", each.content_string) for each in files.documentation_pages()
    ]
    seen: set[str] = set()
    while waiting:
        base, text = waiting.pop()
        for path in links.targets(text, base):
            page, _ = links.place(path)
            if path.startswith("docs") or page in seen or not (ROOT / path).exists():
                continue
            seen.add(page)
            whole = (
                path if page != f"source/{Path(path).parent}/index.md" else str(Path(path).parent)
            )
            files.append(File.generated(config, page, content=links.page_of(whole)))
            read = ROOT / whole / "README.md" if (ROOT / whole).is_dir() else ROOT / whole
            if read.suffix == ".md" and read.exists():
                name = str(read.relative_to(ROOT))
                waiting.append((name, read.read_text(encoding="utf-8")))
    style = str(Path(__file__).with_name("site.css"))
    files.append(File.generated(config, "assets/site.css", abs_src_path=style))
    return files


def on_page_markdown(text: str, page: Any, **_: Any) -> str:
    """Adapt a page."""
    uri = page.file.src_uri
    if uri == "README.md":
        page.meta["hide"] = ["navigation"]  # it has one link, to this page
    return markdown.adapted(
        text if uri.startswith("source/") else links.rewritten(text, f"docs/{uri}")
    )


def on_page_content(html: str, **_: Any) -> str:
    """Adapt the tables of a page."""
    return markdown.breakable(html)


def on_post_page(output: str, **_: Any) -> str:
    """Name the dialog of the search for screen readers."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)
