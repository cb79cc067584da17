"""Write the pages of docs/reference/commands from ``policyd COMMAND --help``.

python -m tools.make_command_docs

One page for each command of the table in ``policyd/cli/__init__.py``, and a list of them. A test
compares the pages with the help. Change the texts in the file of the command.
"""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

from policyd.cli import COMMANDS, policyd
from policyd.cli.shared.settings import by_section

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference" / "commands"
WIDTH = 120
# The mark with which click leaves a block unwrapped.
_VERBATIM = "\b\n"
_TERMINALS = """\
In a terminal, long lines of text output are wrapped to its width, with hanging indents (`COLUMNS`
overrides the width). Excerpts of sources are not wrapped. In a pipe or a file, nothing is wrapped:
`grep` finds whole lines."""
_GENERATED = "<!-- Generated from `policyd {name} --help` by tools/make_command_docs.py -->"


def pages() -> dict[str, str]:
    """The content of each page by its file name."""
    made = {f"{name}.md": page(name, command) for name, command in _commands()}
    made["README.md"] = _contents()
    return made


def page(name: str, command: click.Command) -> str:
    """The page of one command, followed by its subcommands."""
    return "\n\n".join((*_sections(name, command), _GENERATED.format(name=name))) + "\n"


def _commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(policyd)
    for name in COMMANDS:
        command = policyd.get_command(context, name)
        if command is not None:
            yield name, command


def _contents() -> str:
    rows = [f"| [`policyd {name}`]({name}.md) | {line} |" for name, (_, line) in COMMANDS.items()]
    head = "# Commands\n\nEach page contains the output of `policyd COMMAND --help`.\n\n"
    table = "\n".join(("| command | purpose |", "|---|---|", *rows))
    return f"{head}{table}\n\n{_TERMINALS}\n"


def _sections(path: str, command: click.Command, level: int = 1) -> Iterator[str]:
    context = click.Context(
        command, info_name=f"policyd {path}", help_option_names=["-h", "--help"]
    )
    yield f"{'#' * level} policyd {path}"
    yield from _prose(command.help or "")
    yield f"```\n{' '.join((context.command_path, *command.collect_usage_pieces(context)))}\n```"
    sections = by_section(command.get_params(context))
    for title, options in sections.items():
        listed = [text for each in options if (text := _option(each, context))]
        if listed:
            yield f"{'#' * (level + 1 + (title != 'Options'))} {title}"
            yield "\n".join(listed)
    yield from _epilog(command.epilog or "", level + 1)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from _sections(f"{path} {name}", inner, level + 1)


def _option(param: click.Parameter, context: click.Context) -> str:
    record = param.get_help_record(context)
    if record is None or not isinstance(param, click.Option):
        return ""
    names, text = record
    if param is context.command.get_help_option(
        context
    ):  # click caches it with the names of the first caller
        names = "-h, --help"
    entry = f"- `{names}`: {_escaped(text)}" if text else f"- `{names}`"
    return _filled(entry, "  ")


def _prose(text: str) -> Iterator[str]:
    for block in _blocks(text):
        if block.startswith(_VERBATIM):
            yield _fenced(block.removeprefix(_VERBATIM))
        else:
            yield _filled(_escaped(" ".join(block.split())))


def _epilog(text: str, level: int) -> Iterator[str]:
    """A block that starts with a line like ``Examples:`` becomes a section of its own."""
    for block in _blocks(text):
        first, _, rest = block.removeprefix(_VERBATIM).partition("\n")
        if block.startswith(_VERBATIM) and first.endswith(":") and rest:
            yield f"{'#' * level} {first.removesuffix(':')}"
            yield _fenced(rest)
        else:
            yield from _prose(block)


def _blocks(text: str) -> list[str]:
    return [block for block in re.split(r"\n{2,}", text.strip("\n")) if block.strip()]


def _filled(text: str, indent: str = "") -> str:
    return textwrap.fill(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _fenced(text: str) -> str:
    return f"```\n{textwrap.dedent(text).rstrip()}\n```"


def _escaped(text: str) -> str:
    """Prose in which ``<`` starts no markup."""
    return text.replace("<", "&lt;")


def main() -> None:
    """Write the pages, and remove those of commands that are gone."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    made = pages()
    for name, text in made.items():
        (FOLDER / name).write_text(text)
    for stale in {each.name for each in FOLDER.glob("*.md")} - set(made):
        (FOLDER / stale).unlink()


if __name__ == "__main__":
    main()
