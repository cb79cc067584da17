"""The site: links to the repository become pages, and Python-Markdown reads pages as GitHub does."""

import json
from pathlib import Path

import pytest

from tools.site import links, markdown
from tools.site.__main__ import list_versions

POLICY = "policies/best-practices/allowed-registries"

PLACES = [
    ("docs/start/concepts.md", ("start/concepts.md", "")),
    ("CONTRIBUTING.md", ("source/CONTRIBUTING.md", "")),
    (POLICY, (f"source/{POLICY}/index.md", "")),
    (f"{POLICY}/suite.yaml", (f"source/{POLICY}/index.md", "#suiteyaml")),
    (f"{POLICY}/README.md", (f"source/{POLICY}/index.md", "")),
    ("deploy/ci/gitlab.yml", ("source/deploy/ci/gitlab.yml.md", "")),
]


@pytest.mark.parametrize(("path", "want"), PLACES)
def test_where_a_file_of_the_repository_is(path: str, want: tuple[str, str]) -> None:
    assert links.place(path) == want


@pytest.mark.parametrize(
    ("text", "base", "want"),
    [
        (
            "[x](../write/params.md#objects)",
            "docs/start/concepts.md",
            "[x](../write/params.md#objects)",
        ),
        ("[x](../../CONTRIBUTING.md)", "docs/start/concepts.md", "[x](../source/CONTRIBUTING.md)"),
        ("[x](docs/start/concepts.md)", "CONTRIBUTING.md", "[x](../start/concepts.md)"),
        (
            f"[x](../../../{POLICY}/policy.yaml)",
            "docs/reference/policies/a.md",
            f"[x](../../source/{POLICY}/index.md#policyyaml)",
        ),
        ("[x](https://example.com/a)", "docs/README.md", "[x](https://example.com/a)"),
        ("[x](#here)", "docs/README.md", "[x](#here)"),
    ],
)
def test_links_are_rewritten(text: str, base: str, want: str) -> None:
    assert links.rewritten(text, base) == want


def test_a_policy_has_a_page_with_its_suite() -> None:
    page = links.page_of(POLICY)
    assert page.startswith("# ")
    assert all(f"\n## {name}\n\n````yaml\n" in page for name in links.PARTS)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("- a\n  - b\n    c", "- a\n    - b\n        c"),
        ("1. a\n\n   ```sh\n   ls\n     x\n   ```", "1. a\n\n    ```sh\n    ls\n      x\n    ```"),
        ("```yaml\n  - a\n```", "```yaml\n  - a\n```"),
        ("| `a \\| b` | c \\| d |", "| `a | b` | c \\| d |"),
    ],
)
def test_markdown_is_indented_by_four(text: str, want: str) -> None:
    assert markdown.adapted(text) == want


def test_anchors_are_those_of_github() -> None:
    assert markdown.slug("What `is` checked, and why", "-") == "what-is-checked-and-why"
    assert markdown.slug("Fail & Ignore", "-") == "fail--ignore"


def test_long_names_in_tables_may_break() -> None:
    name = "policyd_watch_healthy_for_seconds"
    page = f"<p><code>{name}</code></p><td><code>{name}</code> <code>a_b</code></td>"
    assert markdown.breakable(page) == page.replace(
        f"<td><code>{name}", "<td><code>" + name.replace("_", "_<wbr>")
    )


def test_diagrams_are_part_of_the_page() -> None:
    page = markdown.adapted("![The path](../images/request.svg)\n")
    assert page.startswith("<svg ") and "prefers-color-scheme" not in page


def test_the_menu_lists_all_versions_and_the_root_shows_the_newest(tmp_path: Path) -> None:
    for version in ("0.9.0", "0.10.0", "assets"):
        (tmp_path / version).mkdir()
    for version in ("0.9.0", "0.10.0"):
        (tmp_path / version / "404.html").write_text("", encoding="utf-8")
    assert list_versions(tmp_path) == ["0.10.0", "0.9.0"]
    listed = json.loads((tmp_path / "versions.json").read_text(encoding="utf-8"))
    assert [each["version"] for each in listed] == ["0.10.0", "0.9.0"]
    assert "url=0.10.0/index.html" in (tmp_path / "index.html").read_text(encoding="utf-8")
