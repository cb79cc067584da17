"""The table of commands, the width of their help, and how errors end a command."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from policyd.cli import COMMANDS, policyd
from policyd.source_excerpt import columns
from tests.builders.commands import every
from tests.cli.terminal import run
from tests.shared import ROOT

HEAVY = (
    "hypercorn",
    "starlette",
    "uvloop",
    "prometheus_client",
    "yaml",
    "cryptography",
)
CONTEXTS = {"": click.Context(policyd, info_name="policyd"), **dict(every())}


def test_help_imports_no_server() -> None:
    code = (
        "import sys; sys.argv = ['policyd', '--help']\n"
        "from policyd.cli import main\n"
        "try: main()\n"
        f"finally: print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={"PATH": "", "PYTHONWARNINGS": "error"},
        cwd=ROOT,
    )
    assert done.stderr.strip() == "[]"
    assert done.returncode == 0
    for name, (_, line) in COMMANDS.items():
        assert name in done.stdout and line in done.stdout


SERVE_ERRORS = [
    (("serve",), "Error: no policies: name a file or directory with -p"),
    (("serve", "-p", "/nowhere"), "Error: /nowhere: no such file or directory"),
    (("serve", "-p", "tests/cli"), "Error: a certificate is needed: set --tls-cert and --tls-key"),
    (("serve", "--timeout", "x"), "Error: --timeout: expected a duration like"),
    (("serve", "--config", "/nowhere.yaml"), "Error: /nowhere.yaml: No such file or directory"),
]


@pytest.mark.parametrize(("arguments", "message"), SERVE_ERRORS)
def test_error_of_the_operator_ends_with_2_and_no_traceback(
    arguments: tuple[str, ...], message: str
) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(message)
    assert "Traceback" not in done.stderr


CONFIG_ERRORS = [
    ("policies: [p]\nmaxInflght: 3\n", ":2: unknown key 'maxInflght'; did you mean maxInFlight?"),
    ("# of the server\nkubernetesVersion: 1.30\n", ":2: kubernetesVersion: expected a Kubernetes"),
    ("- timeout: 1s\n", ": expected one object: settings"),
    ("timeout: [\n", ":1:10: the [ of line 1 is never closed"),
]


@pytest.mark.parametrize(("text", "message"), CONFIG_ERRORS)
def test_a_mistake_in_the_config_file_has_its_line(text: str, message: str, tmp_path: Path) -> None:
    config = tmp_path / "server.yaml"
    config.write_text(text)
    done = run("serve", "--config", str(config))
    assert done.returncode == 2
    assert f"{config}{message}" in done.stderr


@pytest.mark.parametrize("name", CONTEXTS)
def test_help_fits_80_columns(name: str) -> None:
    context = CONTEXTS[name]
    context.terminal_width = 78  # what click leaves of 80 columns
    shown = context.command.get_help(context)
    assert [line for line in shown.split("\n") if columns(line) > 80] == []
