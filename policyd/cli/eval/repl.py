"""The terminal side of ``policyd eval``: reads lines with history and completion, by the standard
library's readline. Evaluates nothing itself.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import click

from policyd.cli.eval.completion import completions
from policyd.cli.eval.session import COMMANDS, Session
from policyd.cli.shared.output import styled

HISTORY_LINES = 2000
_PROMPT, _MORE = "cel> ", "...> "
_DELIMITERS = " \t\n()[]{}<>=!&|,?+-*/%."
_OPERATORS = ("&&", "||", "+", "-", "*", "/", "%", "?", ",", "==", "!=", "<", ">", "<=", ">=", "\\")
_OPEN, _CLOSE = "([{", ")]}"


def repl(session: Session) -> None:
    """Read, evaluate and print until :quit or the end of the input."""
    session.fit(shutil.get_terminal_size((100, 24)).columns)
    readline = _readline()
    history = history_file()
    if readline is not None:
        _set_up(readline, session, history)
    welcome = f"CEL of Kubernetes {session.version}. :help lists the commands, Ctrl-D quits."
    click.echo(styled(welcome, dim=True))
    try:
        while not session.done:
            text = read()
            if text is None:
                break
            try:
                for line in session.answer(text):
                    click.echo(line)
            except KeyboardInterrupt:
                click.echo("interrupted")
    finally:
        if readline is not None:
            _save(readline, history)


def read() -> str | None:
    """Read a command, or one expression of one or more lines; None at the end of the input. A
    command ends an open expression, which may have one bracket too many.
    """
    lines: list[str] = []
    while True:
        try:
            line = input(_MORE if lines else _PROMPT)
        except EOFError:
            click.echo()
            return None
        except KeyboardInterrupt:
            click.echo()
            lines = []
            continue
        if lines and line.strip().partition(" ")[0] in COMMANDS:
            click.echo(styled(f"not evaluated: {lines[0]} …", dim=True))
            return line
        lines.append(line.removesuffix("\\"))
        text = "\n".join(lines)
        # An empty line ends an open expression; the parser then reports what is missing.
        if not line.strip() or not is_open(f"{text}\\" if line.endswith("\\") else text):
            return text


def is_open(text: str) -> bool:
    """Whether an expression continues: a bracket or quote is open, or it ends with an operator."""
    if text.lstrip().startswith(":") and not text.rstrip().endswith("\\"):
        return False
    depth, position, quote = 0, 0, ""
    while position < len(text):
        if quote:
            if text.startswith(quote, position):
                position += len(quote)
                quote = ""
                continue
            position += 2 if text[position] == "\\" else 1
            continue
        char = text[position]
        if char in "\"'":
            quote = char * 3 if text.startswith(char * 3, position) else char
            position += len(quote)
            continue
        depth += (char in _OPEN) - (char in _CLOSE)
        position += 1
    return depth > 0 or len(quote) > 1 or (not quote and text.rstrip().endswith(_OPERATORS))


def history_file() -> Path:
    """Return the path of the history, in the XDG state directory."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "policyd" / "eval_history"


def _readline() -> ModuleType | None:
    """Import readline; None if Python was built without it."""
    try:
        import readline
    except ImportError:
        return None
    return readline


def _set_up(readline: ModuleType, session: Session, history: Path) -> None:
    readline.set_completer_delims(_DELIMITERS)
    readline.set_completer(_completer(readline, session))
    libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
    readline.set_history_length(HISTORY_LINES)
    try:
        readline.read_history_file(str(history))
    except OSError:
        return  # no history yet, or not readable


def _completer(readline: ModuleType, session: Session) -> Callable[[str, int], str | None]:
    found: list[str] = []

    def complete(_: str, number: int) -> str | None:
        if number == 0:
            found[:] = completions(readline.get_line_buffer()[: readline.get_endidx()], session)
        return found[number] if number < len(found) else None

    return complete


def _save(readline: ModuleType, history: Path) -> None:
    try:
        history.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        readline.write_history_file(str(history))
        history.chmod(0o600)
    except OSError as error:
        click.echo(f"cannot save the history: {error}", err=True)
