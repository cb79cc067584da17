"""The examples in the documents work: policies load, the first Pod is denied, links resolve."""

import re
import shlex
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from policyd import PolicySet
from policyd.cli import policyd
from policyd.policy.model.kinds import PolicySpec
from policyd.policy.source import loader
from tests.shared import ROOT
from tools import tree

PAGES = [ROOT / each for each in tree.files() if each.endswith(".md")]
FORMAT = ROOT / "docs" / "write" / "policies.md"
SUITES = ROOT / "docs" / "test" / "suites.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#: ]*)(?:#([\w-]+))?\)")


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(page.read_text()) if kind == language]


def policies(page: Path) -> list[str]:
    """The documents of policyd that a page shows."""
    return [text for text in blocks(page, "yaml") if text.startswith("apiVersion: policyd.dev")]


def suites(page: Path) -> list[str]:
    """The suites that a page shows below their policies."""
    shown = blocks(page, "yaml")
    return [text for text in shown if "\n---\n" in text and "\nkind: PolicyTest\n" in text]


def links(page: Path) -> list[tuple[str, str]]:
    """The file and the anchor of each link in a page, but of those to the web."""
    return LINK.findall(page.read_text())


def path_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


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
    linted = CliRunner().invoke(policyd, ["lint", "--strict", "limits.yaml"])
    assert (linted.exit_code, linted.output) == (0, "1 document: 0 errors, 0 advice\n")


@pytest.mark.parametrize("page", [each for each in PAGES if policies(each)], ids=path_of)
def test_policies_that_are_shown_load(page: Path, tmp_path: Path) -> None:
    for text in policies(page):
        sources = loader.load_text(text, page.name)
        assert [str(each) for each in sources.problems] == []
        assert [str(each) for document in sources.documents for each in document.problems] == []
        if sources.of_kind("Policy"):
            compiled(text, tmp_path)


def compiled(text: str, folder: Path) -> PolicySet:
    """What a policy compiles to; PolicyError tells everything that is wrong with it."""
    (folder / "policy.yaml").write_text(text)
    return PolicySet.load([folder / "policy.yaml"])


HEAD = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: shown}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
"""


def test_parts_of_policies_that_are_shown_fit_into_one(tmp_path: Path) -> None:
    pages = sorted((ROOT / "docs" / "write").glob("*.md"))
    parts = [each for page in pages for each in blocks(page, "yaml") if each.startswith("  ")]
    assert len(parts) >= 3
    for part in parts:
        rest = "" if "  validations:\n" in part else "  validations: [{expression: 'true'}]\n"
        compiled(HEAD + part + rest, tmp_path)


def test_the_suite_that_is_shown_holds_for_the_policy_above_it(tmp_path: Path) -> None:
    (policy,) = (each for each in blocks(FORMAT, "yaml") if each.startswith("apiV"))
    suite = blocks(SUITES, "yaml")[0]
    (tmp_path / "policy.yaml").write_text(policy)
    (tmp_path / "suite.yaml").write_text(suite)
    holds(tmp_path)


@pytest.mark.parametrize("page", [each for each in PAGES if suites(each)], ids=path_of)
def test_suites_that_are_shown_below_their_policy_hold(page: Path, tmp_path: Path) -> None:
    for number, text in enumerate(suites(page)):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "all.yaml").write_text(text)
        holds(tmp_path / str(number))


def holds(folder: Path) -> None:
    done = CliRunner().invoke(policyd, ["test", str(folder), "--coverage-min", "1"])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("ok ")


@pytest.mark.parametrize("page", [each for each in PAGES if links(each)], ids=path_of)
def test_links_lead_somewhere(page: Path) -> None:
    assert [each for each in links(page) if not leads(page, *each)] == []


def test_every_page_is_in_an_index() -> None:
    docs = ROOT / "docs"
    indexes = list(docs.rglob("README.md"))
    linked = {(index.parent / target).resolve() for index in indexes for target, _ in links(index)}
    assert {page for page in PAGES if docs in page.parents} - linked == {docs / "README.md"}


def leads(page: Path, target: str, anchor: str) -> bool:
    """Whether the file of a link exists, and in it the heading."""
    file = (page.parent / target) if target else page
    return file.exists() and (not anchor or anchor in anchors(file.read_text()))


def anchors(text: str) -> set[str]:
    """What the headings of a page are in links, as GitHub makes it."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def test_every_field_of_a_policy_has_its_row_and_there_is_no_other() -> None:
    table = FORMAT.read_text().partition("| field | meaning |\n")[2].partition("\n\n")[0]
    rows = set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE))
    assert rows | {"description", "paramKind", "paramRef"} == {
        field.alias for field in PolicySpec.fields.values()
    }
