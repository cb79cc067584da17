"""Which output has colors, by flag, environment and kind of output; and names nearly typed."""

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.cli.shared.terminal.color import preferred

ENVIRONMENTS = {
    "nothing": ({}, None),
    "NO_COLOR": ({"NO_COLOR": "1"}, False),
    "NO_COLOR, empty": ({"NO_COLOR": ""}, None),
    "FORCE_COLOR": ({"FORCE_COLOR": "1"}, True),
    "FORCE_COLOR=0": ({"FORCE_COLOR": "0"}, False),
    "FORCE_COLOR, empty": ({"FORCE_COLOR": ""}, None),
    "both": ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
}  # fmt: skip


@pytest.mark.parametrize(("environment", "wanted"), ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_what_the_environment_asks_for(environment: dict[str, str], wanted: bool | None) -> None:
    assert preferred(environment) is wanted


NEARLY = {
    "aply": "Did you mean 'apply'",
    "tests": "Did you mean 'test'?",
    "validate": "Did you mean 'apply' or 'lint'?",
    "run": "Did you mean 'serve'?",
    "xyzzy": "No such command 'xyzzy'.\n",
}


@pytest.mark.parametrize(("typed", "answer"), NEARLY.items(), ids=NEARLY)
def test_a_command_that_does_not_exist(typed: str, answer: str) -> None:
    result = CliRunner().invoke(policyd, [typed])
    assert result.exit_code == 2
    assert answer in result.output
