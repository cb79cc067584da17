"""Try each row of "Where things are added" in docs/develop/architecture.md in a copy of the tree."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import ROOT

KIND = '''
"""The mutation kind Note: a string that becomes an annotation."""

from policyd.cel.types.types import STRING
from policyd.mutation.kind import MutationKind


class Note:
    direct = None

    def apply(self, value, obj, target, sources=None):
        metadata = {**obj["metadata"], "annotations": {"note": value}}
        return {**obj, "metadata": metadata}


KIND = MutationKind(
    "Note", field="note", about="CEL that makes a note.", results=(STRING,), mutator=Note()
)
'''
RULE = '''
"""Advice on policies that are named after nothing."""

from policyd.policy.model.findings import FormProblem


def vague(policy):
    if policy.document.name == "policy":
        yield FormProblem(("metadata", "name"), "the name says nothing", rule="vague")
'''
METRIC = '''
"""How many policies cannot be used."""


def quarantined(scrape):
    return sum(bool(policy.problem) for policy in scrape.policies.policies)
'''
# The new file, its text, the file of the table, the line after which the new one stands, that line.
ADDITIONS = [
    (
        "policyd/mutation/note.py",
        KIND,
        "policyd/mutation/__init__.py",
        '    "policyd.mutation.overlay",\n',
        '    "policyd.mutation.note",\n',
    ),
    (
        "policyd/policy/lint/vague.py",
        RULE,
        "policyd/policy/lint/lint_rules.json",
        "[\n",
        '{"name": "vague", "severity": "advice", "about": "a vague name", "remedy": "Say more.",'
        ' "foundBy": {"policies": ["vague.vague"]}},\n',
    ),
    (
        "policyd/observability/metrics/quarantine.py",
        METRIC,
        "policyd/observability/metrics/metrics.json",
        "[\n",
        '{"name": "policyd_quarantined_policies", "kind": "gauge", "by": "quarantine.quarantined",'
        ' "about": "Policies that cannot be used."},\n',
    ),
]
POLICY = """
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: policy}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  mutations:
  - {patchType: Note, note: {expression: "'by ' + request.operation"}}
"""
SUITE = """
apiVersion: policyd.dev/v1
kind: PolicyTest
metadata: {name: suite}
policies: [policy.yaml]
cases:
- name: a Pod gets its note
  request: {object: {apiVersion: v1, kind: Pod, metadata: {name: web}}}
  expect:
    allowed: true
    patch: [{op: add, path: /metadata/annotations, value: {note: by CREATE}}]
"""
# What is run in that tree, in one process: commands by the names of their outcomes, and a scrape.
COMMANDS = {
    "test": ["test", "suite.yaml"],
    "schema": ["schema"],
    "wrong": ["lint", "wrong.yaml"],
    "lint": ["lint", "policy.yaml"],
    "rules": ["lint", "--rules"],
}
PROGRAM = """
import json
import sys
from types import SimpleNamespace

from click.testing import CliRunner

import policyd
from policyd import cli
from policyd.http.limits import InFlight
from policyd.observability.metrics import Exposition, PrometheusRecorder
from policyd.policy.compile.compiler import compile_sources
from policyd.policy.source.loader import load_text

current = compile_sources(load_text(open("policy.yaml").read(), "f"))
store = SimpleNamespace(current=current, serves_last_good=False, bundles=())
exposition = Exposition(PrometheusRecorder(), store, InFlight(1, 1))
found = {"file": (0, policyd.__file__), "scrape": (0, exposition.prepare("")()[0].decode())}
for name, arguments in json.loads(sys.argv[1]).items():
    done = CliRunner().invoke(cli.policyd, arguments)
    found[name] = done.exit_code, done.output
print(json.dumps(found))
"""


def test_the_page_names_these_files() -> None:
    page = (ROOT / "docs" / "develop" / "architecture.md").read_text()
    for new, _, table, *_ in ADDITIONS:
        assert f"| `{Path(new).parent}/NAME.py` | `{table}`" in page


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with one thing more of each sort; all other files are links to those of here."""
    root = tmp_path_factory.mktemp("tree")
    ignored = shutil.ignore_patterns("__pycache__", "*.c", "*.pyx", "*.pxd")
    shutil.copytree(ROOT / "policyd", root / "policyd", copy_function=os.symlink, ignore=ignored)
    for new, text, table, after, line in ADDITIONS:
        (root / new).write_text(text.lstrip())
        before = (ROOT / table).read_text()
        assert before.count(after) == 1
        (root / table).unlink()
        (root / table).write_text(before.replace(after, after + line))
    (root / "policy.yaml").write_text(POLICY)
    (root / "suite.yaml").write_text(SUITE)
    return root


@pytest.fixture(scope="module")
def outcomes(tree: Path) -> dict[str, tuple[int, str]]:
    """The exit status and the output of each command, and what else the program finds."""
    wrong = POLICY.replace("'by ' + request.operation", "1 + 1")
    (tree / "wrong.yaml").write_text(wrong)
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(COMMANDS)],
        check=False,
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, tuple[int, str]] = json.loads(done.stdout)
    assert found["file"][1].startswith(str(tree))
    return found


def test_each_addition_works(outcomes: dict[str, tuple[int, str]]) -> None:
    """A policy of the new kind mutates a Pod, editors know it, and its expression is checked; lint reports
    the new rule; metrics show the new one.
    """
    assert {name: status for name, (status, _) in outcomes.items() if status} == {"wrong": 1}
    output = {name: text for name, (_, text) in outcomes.items()}
    assert "1 case" in output["test"]
    assert "CEL that makes a note." in output["schema"]
    assert re.search(r'"Note",\s*"Overlay"', output["schema"])
    assert re.search(r"note\.expression: must evaluate to string", output["wrong"])
    assert "the name says nothing [vague]" in output["lint"]
    assert "a vague name" in output["rules"]
    assert "\npolicyd_quarantined_policies 0.0\n" in output["scrape"]
