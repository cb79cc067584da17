"""What the documents show works: policies load, the first Pod is denied, commands and links exist."""

import re
import shlex
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from policyd.cli import COMMANDS, policyd
from policyd.policy import loader
from tests.shared import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES += sorted(each for each in ROOT.glob("[dlp]*/**/README.md") if "docs" not in each.parts)
IDS = [str(each.relative_to(ROOT)) for each in PAGES]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[\w-]+)?\)")


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(page.read_text()) if kind == language]


def write(folder: Path, *, policy: str, pod: str) -> None:
    (folder / "limits.yaml").write_text(policy)
    (folder / "pod.yaml").write_text(pod)


def test_the_first_pod_of_the_readme_is_denied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = ROOT / "README.md"
    policy, pod = blocks(readme, "yaml")
    write(tmp_path, policy=policy, pod=pod)
    monkeypatch.chdir(tmp_path)
    (line,) = re.findall(r"^\$ \.venv/bin/policyd (review .*)$", readme.read_text(), re.MULTILINE)
    done = CliRunner().invoke(policyd, shlex.split(line))
    answer = yaml.safe_load(done.stdout)["response"]
    assert answer["allowed"] is False
    assert f"`{answer['status']['message']}`" in readme.read_text()


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_policies_that_are_shown_load(page: Path) -> None:
    for text in blocks(page, "yaml"):
        if text.startswith("apiVersion: policyd.dev"):
            sources = loader.load_text(text, page.name)
            assert [str(each) for each in sources.problems] == []
            assert [str(each) for document in sources.documents for each in document.problems] == []


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page: Path) -> None:
    links = [each for each in LINK.findall(page.read_text()) if not each.startswith("http")]
    assert [each for each in links if not (page.parent / each).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_commands_that_are_shown_exist(page: Path) -> None:
    named = set(re.findall(r"policyd ([a-z]+)\b", "\n".join(blocks(page, "console"))))
    assert named <= COMMANDS.keys()
