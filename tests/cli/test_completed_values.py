"""The values that a shell completes: names of rules, policies, objects and cases, and versions."""

import json
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from policyd.cli import policyd
from policyd.policy.lint.lint_rules import RULES
from policyd.versions import SUPPORTED
from tests.builders.policies import policy
from tests.cli.within import answered

SUITE = """\
apiVersion: policyd.dev/v1
kind: PolicyTest
metadata: {name: limits}
cases:
- name: no limit, for a Job (v1)
- name: äöü/x_y-z
- 5
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\n"
LOST = "apiVersion: policyd.dev/v1\nkind: PolicyTest\nmetadata: {name: lost}\ncases: 5\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {
        "one/policy.yaml": json.dumps(policy("limits", validations=[{"expression": "true"}])),
        "one/suite.yaml": SUITE,
        "one/lost.yaml": LOST,
        "two/policy.yaml": json.dumps(policy("labels", validations=[{"expression": "tru"}])),
        "two/broken.yaml": "a: [",
        "objects.yaml": f"{POD}---\n{POD.replace('shop', 'mail')}---\napiVersion: v1\nkind: Node\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)


def completed(words: str, incomplete: str) -> list[str]:
    complete = ShellComplete(policyd, {}, "policyd", "_POLICYD_COMPLETE")
    return [each.value for each in complete.get_completions(words.split(), incomplete)]


CASES = ["limits/no.limit..for.a.Job..v1.", "limits/äöü/x_y-z"]
VERSIONS = [str(each) for each in SUPPORTED]
# The words, the one that is completed, and what is offered.
OFFERED = {
    "a rule": ("lint --disable", "wildc", ["wildcard"]),
    "the next rule": ("lint --disable", "wildcard,no-bin", ["wildcard,no-binding"]),
    "a rule once": ("lint --disable", "wildcard,wildc", []),
    "a rule with =": ("lint --disable=", "wildc", ["wildcard"]),
    "a rule to explain": ("lint --explain", "wildc", ["wildcard"]),
    "options after a rule": ("lint --explain wildcard", "--targ", ["--target"]),
    "options after a list of rules": ("lint --rules", "--targ", ["--target"]),
    "a policy": ("explain -p one -p two --policy", "", ["labels", "limits"]),
    "a policy by its prefix": ("explain -p one -p two --policy", "li", ["limits"]),
    "a policy of a broken file": ("explain -p two --policy", "", ["labels"]),
    "no policies": ("explain --policy", "", []),
    "policies that are nowhere": ("explain -p nowhere --policy", "", []),
    "policies to export": ("export -p one", "", ["limits"]),
    "a case": ("test one --run", "", CASES),
    "a case by its prefix": ("test one --run", "limits/no", CASES[:1]),
    "a case of the working directory": ("test --run", "", CASES),
    "a case with =": ("test one --run=", "", CASES),
    "a case of another directory": ("test two --run", "", []),
    "an object": ("explain objects.yaml --select", "P", ["Pod/shop/web", "Pod/mail/web"]),
    "an object with =": ("review objects.yaml --select=", "Pod/m", ["Pod/mail/web"]),
    "an object of webhooks": ("webhooks match objects.yaml --select", "N", ["Node"]),
    "an object of standard input": ("explain --select", "", []),
    "an object of no file": ("explain nowhere --select", "", []),
    "a kind": ("schema", "PolicyT", ["PolicyTest"]),
    "an output format": ("apply --format", "s", ["sarif"]),
    "a version": ("test --kubernetes-version", "1.3", VERSIONS),
    "a version of the server": ("serve --kubernetes-version", "", VERSIONS),
    "a choice of the server": ("serve --in-tree", "", ["auto", "never", "only"]),
    "a name of the server": ("serve --webhook-name", "", []),
}


@pytest.mark.parametrize(("words", "incomplete", "offered"), OFFERED.values(), ids=OFFERED)
def test_a_value_is_completed(words: str, incomplete: str, offered: list[str]) -> None:
    # click takes "--option=" and what follows apart before it completes.
    option = words.rsplit(maxsplit=1)[-1]
    if option.endswith("="):
        words, incomplete = words.removesuffix(option), option + incomplete
    assert completed(words, incomplete) == offered


@pytest.mark.parametrize(
    ("project", "offered"), [("policies: [two]", ["labels"]), ("lnt: {}", []), ("a: [", [])]
)
def test_values_come_from_the_policies_of_the_project(project: str, offered: list[str]) -> None:
    Path("policyd.yaml").write_text(project)
    assert completed("explain --policy", "") == offered
    assert "--policy" in completed("explain", "--pol")


def test_every_rule_is_offered(capfd: pytest.CaptureFixture[str]) -> None:
    assert completed("lint --disable", "") == completed("lint --explain", "") == list(RULES)
    assert capfd.readouterr() == ("", "")


def test_the_pattern_of_a_case_runs_it() -> None:
    request = "  request: {object: {apiVersion: v1, kind: Pod}}\n  expect: {allowed: true}\n"
    text = SUITE.replace("- 5\n", request).replace("(v1)\n", f"(v1)\n{request}")
    Path("one/suite.yaml").write_text(text)
    for pattern in CASES:
        assert (
            "  1 case "
            in answered("test", "one/policy.yaml", "one/suite.yaml", "--run", pattern)[1]
        )
