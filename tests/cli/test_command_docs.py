"""docs/reference/commands is what ``--help`` prints."""

import click

from policyd.cli import COMMANDS
from tools.make_command_docs import FOLDER, page, pages


def test_pages_of_commands_are_not_stale() -> None:
    found = {each.name: each.read_text() for each in FOLDER.glob("*.md")}
    made = pages()
    hint = "run: python -m tools.make_command_docs"
    assert sorted(found) == sorted(made), hint
    assert [name for name, text in made.items() if found[name] != text] == [], hint


def test_a_page_for_each_command() -> None:
    assert set(pages()) == {f"{name}.md" for name in COMMANDS} | {"README.md"}


@click.command("sample", epilog="\b\nExamples:\n  policyd sample <x>\n\nExit status: 0.")
@click.option("--size", metavar="N", help="How large; a < b.")
@click.option("--secret", hidden=True)
@click.argument("file")
def sample(size: str, secret: str, file: str) -> None:
    """Show FILE.

    And say more.
    """


def test_page_of_a_command() -> None:
    lines = page("sample", sample).splitlines()
    assert lines[:7] == [
        "# policyd sample",
        "",
        "Show FILE.",
        "",
        "And say more.",
        "",
        "```",
    ]
    assert "policyd sample [OPTIONS] FILE" in lines
    assert "- `--size N`: How large; a &lt; b." in lines
    assert lines[lines.index("## Examples") + 2 :][:3] == ["```", "policyd sample <x>", "```"]
    assert "Exit status: 0." in lines
    assert not any("secret" in line for line in lines)
