"""Commands that read standard input name it where nothing, or nothing that they read, is there."""

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.cli.shared.output import within
from tests.builders.policies import policy

EMPTY = [
    ("lint -", "-: advice: no policies on standard input: found no documents"),
    ("apply -p policies.yaml -", "Error: no manifests on standard input"),
    ("apply -p policies.yaml - policies", "Error: no manifests in policies and on standard input"),
    ("explain -p policies.yaml -", "Error: no manifests on standard input"),
    ("review -p policies.yaml --object -", "Error: no manifests on standard input"),
    ("review -p policies.yaml -", "Error: no object on standard input"),
    ("replay -p policies.yaml -", "Error: no reviews on standard input"),
    ("import -", "Error: no policies to import on standard input"),
    ("configmap -", "Error: no policies on standard input"),
    ("webhooks match -f - policies.yaml", "Error: no webhook configurations on standard input"),
    ("bench core -p policies.yaml -", "Error: no reviews on standard input"),
    ("apply -p - x.yaml", "Invalid value for '-p' / '--policies': cannot be standard input (-)"),
    ("test -", "Invalid value for '[PATHS]...': cannot be standard input (-); name a file"),
]
BROKEN = [
    ("lint -", "-:1:4: error: "),
    ("apply -p policies.yaml -", "Error: -:1:4: "),
    ("explain -p policies.yaml -", "Error: -:1:4: "),
    ("review -p policies.yaml --object -", "Error: -:1:4: "),
    ("review -p policies.yaml -", "Error: neither JSON nor YAML: -:1:4: "),
    ("eval object -", "Error: -:1:4: "),
    ("import -", "-:1:4: error: "),
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written = json.dumps(policy("p", validations=[{"expression": "true"}]))
    (tmp_path / "policies.yaml").write_text(written)
    (tmp_path / "policies").mkdir()


@pytest.mark.parametrize(
    "given, command, message",
    [
        *(("", *row) for row in EMPTY),
        *(("# nothing\n", *row) for row in EMPTY if not row[0].startswith(("replay", "bench"))),
        *(("a: [\n", *row) for row in BROKEN),
    ],
)
def test_standard_input_is_named(given: str, command: str, message: str) -> None:
    done = CliRunner().invoke(policyd, shlex.split(command), input=given)
    said = f"{done.output}Error: {done.exception}"
    assert message in said
    assert "<stdin>" not in said


@pytest.mark.parametrize(
    "paths, named",
    [
        (["a"], "in a"),
        (["a", Path("b")], "in a, b"),
        (["-"], "on standard input"),
        (["a", "-", "b"], "in a, b and on standard input"),
    ],
)
def test_what_was_read_is_named(paths: list[Path | str], named: str) -> None:
    assert within(paths) == named
