"""The guides to migrating: their examples are what the tool makes, and the tables are complete."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.importers.gatekeeper.templates import EQUIVALENTS
from policyd.importers.jmespath.functions import REFUSED
from tests.shared import ROOT

GUIDES = sorted((ROOT / "docs" / "migrate").glob("from-*.md"))
TABLES = (ROOT / "docs" / "reference" / "imported-policies.md").read_text()
PAIR = re.compile(
    r"^```yaml\n(.*?)^```\n\nbecomes\n\n```yaml\n(.*?)^```\n", re.MULTILINE | re.DOTALL
)
# Functions that are imported where CEL can say what they do.
IN_PART = {"regex_replace_all", "regex_replace_all_literal"}
PAIRS = [each for guide in GUIDES for each in PAIR.findall(guide.read_text())]


def test_there_are_examples_of_every_engine() -> None:
    groups = {re.split("[:/ ]+", source)[1] for source, _ in PAIRS}
    assert groups == {
        "kyverno.io",
        "policies.kyverno.io",
        "templates.gatekeeper.sh",
        "mutations.gatekeeper.sh",
        "admissionregistration.k8s.io",
    }


@pytest.mark.parametrize(("source", "result"), PAIRS)
def test_an_example_is_what_the_tool_makes(source: str, result: str, tmp_path: Path) -> None:
    file = tmp_path / "source.yaml"
    file.write_text(source)
    done = CliRunner().invoke(policyd, ["import", str(file), "--strict"])
    assert done.exit_code == 0, done.output
    head, text = done.stdout.split("\n", 1)
    assert head.startswith("# Imported from ")
    assert text == result


def test_every_function_without_a_counterpart_is_listed() -> None:
    section = TABLES.split("\n## Functions without")[1].split("\n## ")[0]
    named = re.findall(r"^\| (`[a-z].*?`) \|", section, re.MULTILINE)
    listed = {each for row in named for each in re.findall(r"`(\w+)`", row)}
    assert listed - IN_PART == REFUSED.keys()
    assert listed >= IN_PART


def test_every_equivalent_is_listed_and_there() -> None:
    rows = re.findall(r"^\| `(\w+)` \| \[([\w/-]+)\]\((?:\.\./)+policies/", TABLES, re.MULTILINE)
    assert dict(rows) == dict(EQUIVALENTS)
    assert all(
        (ROOT / "policies" / each / "policy.yaml").is_file() for each in EQUIVALENTS.values()
    )
