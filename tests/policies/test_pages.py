"""The pages about the policies say what the policies and their suites say."""

import re
from pathlib import Path

import pytest

from tools import policy_docs


@pytest.fixture(scope="module")
def files() -> dict[Path, str]:
    """What each page should be."""
    return policy_docs.files()


def test_pages_are_as_made_from_the_sources(files: dict[Path, str]) -> None:
    differing = [each for each in files if each.read_text(encoding="utf-8") != files[each]]
    assert differing == [], "run: python -m tools.policy_docs"


def test_every_policy_is_on_a_page(files: dict[Path, str]) -> None:
    readme = files[policy_docs.README]
    policies = sorted(each.parent for each in policy_docs.LIBRARY.rglob("policy.yaml"))
    assert len(policies) == readme.count("\n| [")
    for folder in policies:
        name = policy_docs.Entry(folder).name
        assert f"| [{name}]({folder.relative_to(policy_docs.LIBRARY).as_posix()}) |" in readme
        assert any(f"\n## {name}\n" in text for text in files.values())


def test_no_page_is_left_over(files: dict[Path, str]) -> None:
    assert set(policy_docs.PAGES.glob("*")) == files.keys() - {policy_docs.README}


def test_links_lead_somewhere(files: dict[Path, str]) -> None:
    for file, text in files.items():
        links = re.findall(r"\]\(([^)]+)\)", text)
        assert links
        assert [link for link in links if not (file.parent / link).exists()] == [], file
