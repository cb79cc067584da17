"""``--help`` fits a terminal of 80 columns."""

import click
import pytest

from policyd.cli import COMMANDS, policyd
from policyd.excerpts import columns


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_fits_80_columns(name: str) -> None:
    outer = click.Context(policyd, info_name="policyd")
    command = policyd.get_command(outer, name) if name else policyd
    assert command is not None
    context = click.Context(command, outer, info_name=name) if name else outer
    context.terminal_width = 78  # what click leaves of 80 columns
    assert [line for line in command.get_help(context).split("\n") if columns(line) > 80] == []
