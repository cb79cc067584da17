"""Every command of policyd with its path, such as ``webhooks match``. No tests here."""

from collections.abc import Iterator

import click

from policyd.cli import policyd


def every() -> Iterator[tuple[str, click.Context]]:
    """Yield the path and a context of each command that is not a group."""
    yield from _below(click.Context(policyd, info_name="policyd"), "")


def _below(context: click.Context, path: str) -> Iterator[tuple[str, click.Context]]:
    group = context.command
    assert isinstance(group, click.Group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, context, info_name=name)
        if isinstance(command, click.Group):
            yield from _below(inner, f"{path}{name} ")
        else:
            yield f"{path}{name}", inner


NAMES = [path for path, _ in every()]
