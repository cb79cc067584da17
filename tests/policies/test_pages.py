"""The pages about the policies say what the policies and their suites say."""

import re
from pathlib import Path

import pytest

from tests.shared import ROOT
from tools import policy_docs

FILES = policy_docs.files()


@pytest.mark.parametrize("file", FILES, ids=[str(each.relative_to(ROOT)) for each in FILES])
def test_pages_are_as_made_from_the_sources(file: Path) -> None:
    assert file.read_text(encoding="utf-8") == FILES[file], "run: python -m tools.policy_docs"


def test_every_policy_is_on_a_page() -> None:
    readme = FILES[policy_docs.README]
    policies = sorted(each.parent for each in policy_docs.LIBRARY.rglob("policy.yaml"))
    assert len(policies) == readme.count("\n| [")
    for folder in policies:
        name = policy_docs.Entry(folder).name
        assert f"| [{name}]({folder.relative_to(policy_docs.LIBRARY).as_posix()}) |" in readme
        assert any(f"\n## {name}\n" in text for text in FILES.values())


def test_no_page_is_left_over() -> None:
    assert set(policy_docs.PAGES.glob("*")) == FILES.keys() - {policy_docs.README}


@pytest.mark.parametrize("file", FILES, ids=[str(each.relative_to(ROOT)) for each in FILES])
def test_links_lead_somewhere(file: Path) -> None:
    links = re.findall(r"\]\(([^)]+)\)", FILES[file])
    assert links
    assert [link for link in links if not (file.parent / link).exists()] == []
