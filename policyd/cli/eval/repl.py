"""The terminal side of ``policyd eval``: reads lines with history and completion, by the standard
library's readline. Evaluates nothing itself.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import click

from policyd._core.eval.program import type_of
from policyd._core.lib.libraries import KNOWN_LIBRARIES
from policyd._core.values.types import Optional
from policyd.cel.syntax.macros import RECEIVER_MACROS
from policyd.cel.types.declarations import TYPE_NAMES, parse_signature
from policyd.cli.eval.common import ROOTS
from policyd.cli.eval.session import COMMANDS, Session
from policyd.cli.shared.output import styled
from policyd.errors import PolicydError

HISTORY_LINES = 2000
_PROMPT, _MORE = "cel> ", "...> "
_DELIMITERS = " \t\n()[]{}<>=!&|,?+-*/%."
_OPERATORS = ("&&", "||", "+", "-", "*", "/", "%", "?", ",", "==", "!=", "<", ">", "<=", ">=", "\\")
_OPEN, _CLOSE = "([{", ")]}"


def repl(session: Session) -> None:
    """Read, evaluate and print until :quit or the end of the input."""
    # The width of the terminal, up to what is easy to read.
    session.width = min(120, shutil.get_terminal_size((100, 24)).columns)
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


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_PARTIAL = re.compile(r"[A-Za-z0-9_]*\Z")
_LITERALS = ("true", "false", "null")
_FOLDED = ("list", "map")
_BRACKETS = {")": "(", "]": "["}


def completions(line: str, session: Session) -> list[str]:
    """Return the words that the last word of the line may become."""
    if line.startswith(":") and " " not in line:
        return [name for name in COMMANDS if name.startswith(line)]
    found = _PARTIAL.search(line)
    partial = found.group() if found else ""
    before = line[: len(line) - len(partial)]
    names: Iterable[str]
    if before.endswith(".?"):
        names = _members(_chain(before[:-2]), session, fields_only=True)
    elif before.endswith("."):
        names = _members(_chain(before[:-1]), session)
    else:
        known = (*ROOTS, *session.variables, *_LITERALS, *TYPE_NAMES, "has(")
        names = (*known, *_functions()[""])
    return sorted({name for name in names if name.startswith(partial)})


def _members(base: str, session: Session, *, fields_only: bool = False) -> Iterator[str]:
    """Yield the fields of the current value of ``base`` and the functions of its type."""
    try:
        value = session.compute(base) if base else None
    except PolicydError:
        # ``sets`` is no value, but the prefix of functions like sets.contains.
        functions = () if fields_only else _functions()[""]
        prefix = f"{base}."
        yield from (each.removeprefix(prefix) for each in functions if each.startswith(prefix))
        return
    inner = value.value if isinstance(value, Optional) and value else value
    if isinstance(inner, dict):
        yield from (key for key in inner if isinstance(key, str) and _NAME.match(key))
    if fields_only:
        return
    kind = type_of(value)
    yield from _functions().get(kind, ())
    yield from _functions()["A"]
    if kind in _FOLDED:
        yield from (f"{name}(" for name, _ in RECEIVER_MACROS if not name.startswith("opt"))
    if kind == "optional_type":
        yield from (f"{name}(" for name, _ in RECEIVER_MACROS if name.startswith("opt"))


@cache
def _functions() -> dict[str, tuple[str, ...]]:
    """Map receiver types to the names of their functions, each with an opening parenthesis.

    Global functions are under "", functions of any type under "A".
    """
    found: dict[str, dict[str, None]] = {"": {}, "A": {}}
    for library in KNOWN_LIBRARIES:
        for row in library.overloads:
            if not re.match(r"[a-zA-Z]", row.name):
                continue
            declared = parse_signature(row.signature, row.name, row.id)
            receiver = declared.args[0].name if declared.member else ""
            key = "A" if declared.member and len(receiver) == 1 else receiver
            found.setdefault(key, {})[f"{row.name}("] = None
    return {key: tuple(names) for key, names in found.items()}


def _chain(text: str) -> str:
    """Return the primary expression at the end: names, calls and indexes with dots between them."""
    depth: list[str] = []
    position = len(text)
    while position > 0:
        char = text[position - 1]
        if char in _BRACKETS:
            depth.append(_BRACKETS[char])
        elif depth and char == depth[-1]:
            depth.pop()
        elif not depth and not (char.isalnum() or char in "_.?\"'"):
            break
        position -= 1
    return text[position:].lstrip("?")
