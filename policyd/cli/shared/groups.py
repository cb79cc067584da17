"""Groups of commands that are tables: each command is imported only when it is used."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import click.shell_completion

from policyd.cel.syntax.recursion import deep_recursion
from policyd.cli.shared.terminal.color import color_option
from policyd.errors import PolicydError

PROJECT_FILE = "policyd.yaml"
# Keys in the context: the file, or None; the arguments of the command as they were typed.
PROJECT = "policyd.project"
ARGUMENTS = "policyd.arguments"
# `serve` has a config file; a completion script and the version do not depend on a directory.
_WITHOUT_PROJECT = ("serve", "completion", "version")


def modules_in(package: str, lines: Mapping[str, str]) -> Mapping[str, tuple[str, str]]:
    """Return the table of a group whose commands are the modules of a package; ``lines``: in the
    help, by their names.
    """
    return {name: (f"{package}.{name}", line) for name, line in lines.items()}


class TableGroup(click.Group):
    """A group that finds its commands in a table; ``--help`` imports none of them.

    ``table``: the module with the click command ``command``, and the line in the help, by name.
    ``elsewhere``: the commands to suggest, for the words that people know from other tools.
    """

    def __init__(
        self,
        *args: Any,
        table: Mapping[str, tuple[str, str]],
        elsewhere: Mapping[tuple[str, ...], str],
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self._table = table
        meant = ((word, names) for names, words in elsewhere.items() for word in words.split())
        self.elsewhere: Mapping[str, Sequence[str]] = dict(meant)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Documents that it reads have at most 1,000 levels."""
        try:
            with deep_recursion():
                return super().invoke(ctx)
        except click.UsageError as error:
            if ctx.parent is not None:
                raise
            if error.ctx is not None:
                error.ctx.close()  # click leaves files open that it opened before the mistake
            # Imported here because most commands are typed correctly.
            from policyd.cli.shared.policy_arguments import corrected

            raise corrected(error, ctx.meta.get(ARGUMENTS, ())) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the names in the order of the table."""
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command."""
        if cmd_name not in self._table:
            return None
        command: click.Command = import_module(self._table[cmd_name][0]).command
        coloured = any(each.name == "color" for each in command.params)
        if not coloured and not isinstance(command, click.Group):
            command.params.append(color_option())
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, with the project's defaults; suggest others for an unknown one."""
        unknown = args[0] not in self._table and not args[0].startswith("-")
        if unknown and not ctx.resilient_parsing:
            import difflib  # only for what is misspelled

            near = self.elsewhere.get(args[0]) or difflib.get_close_matches(args[0], self._table)
            suggestion = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise click.UsageError(f"No such command {args[0]!r}.{suggestion}", ctx)
        name, command, rest = super().resolve_command(ctx, args)
        ctx.meta[ARGUMENTS] = list(rest)
        if isinstance(command, TableGroup) or command is None:
            return name, command, rest
        groups = _groups(ctx)
        names = [*(str(each.info_name) for each in groups[1:]), str(name)]
        file = None
        if names[0] not in _WITHOUT_PROJECT:
            file = ctx.meta[PROJECT] if PROJECT in ctx.meta else project_file(Path.cwd())
        if file is not None:
            # Imported here because most directories have no such file.
            from policyd.cli.shared.project import defaults

            root = groups[0].command
            assert isinstance(root, click.Group)
            # A shell that completes words has no use for the problems of the file.
            with suppress(PolicydError) if ctx.resilient_parsing else nullcontext():
                ctx.default_map = {str(name): defaults(file, command, names, root)}
        return name, command, rest

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """Complete names from the table: click would import every command on each Tab."""
        names = [
            click.shell_completion.CompletionItem(name, help=line)
            for name, (_, line) in self._table.items()
            if name.startswith(incomplete)
        ]
        return names or click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table: click would import every command for its help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self._table.items()])


def _groups(context: click.Context) -> list[click.Context]:
    """Return the contexts of the groups from the root to this one."""
    above = [] if context.parent is None else _groups(context.parent)
    return [*above, context]


def project_file(directory: Path) -> Path | None:
    """Return the nearest project file, from ``directory`` up to the root of its repository."""
    for each in (directory, *directory.parents):
        if (each / PROJECT_FILE).is_file():
            return each / PROJECT_FILE
        if (each / ".git").exists():
            return None
    return None
