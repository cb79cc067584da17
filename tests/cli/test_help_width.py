"""``--help`` fits a terminal of 80 columns."""

import click
import pytest

from policyd.cli import policyd
from policyd.source_excerpt import columns
from tests.builders.commands import every

CONTEXTS = {"": click.Context(policyd, info_name="policyd"), **dict(every())}


@pytest.mark.parametrize("name", CONTEXTS)
def test_help_fits_80_columns(name: str) -> None:
    context = CONTEXTS[name]
    context.terminal_width = 78  # what click leaves of 80 columns
    shown = context.command.get_help(context)
    assert [line for line in shown.split("\n") if columns(line) > 80] == []
