"""The content of ``policyd.yaml``: a project's defaults for options of commands. Finds no file."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from policyd.cli.shared.settings import PERCENT
from policyd.errors import ConfigError, PolicySchemaError, Problem, file_errors
from policyd.json_types import JSON, JSONObject
from policyd.near_names import did_you_mean
from policyd.pattern.scalar_hints import unquoted_hint
from policyd.policy.source.files import read_bytes
from policyd.policy.source.places import Origin
from policyd.policy.source.splitting import read_located
from policyd.policy.source.tree import instead_of

# Fields for every command that has the option; the field COMMAND holds its other options.
SHARED = ("policies", "kubernetesVersion", "color")
WITHOUT = ("serve", "completion", "version")
_HINTS = {
    "serve": "policyd serve has a file of its own: see --config",
    "rules": "write disable: [RULE]",
    **dict.fromkeys(("apiVersion", "kind", "metadata"), "remove it: the file has options only"),
}


def defaults(
    file: Path, command: click.Command, names: Sequence[str], root: click.Group
) -> dict[str, Any]:
    """Return the values that the project file sets for a command, by parameter.

    ``names``: of the groups that it is in and its own; their sections are nested. ``root``: the
    group of all commands; those that have a section are imported.
    Raises ConfigError if the file cannot be read, and PolicySchemaError with every problem: for
    fields that no command has, and for values of a wrong type that concern this command.
    """
    document, origin = read_object(file, "options by command")
    fields = _Fields(file, origin, command)
    top = {*SHARED, *root.list_commands(click.Context(root))} - {*WITHOUT}
    for name, value in document.items():
        if name not in top:
            fields.unknown(name, name, top, did_you_mean(name, SHARED) or _home(name, value, root))
        elif name in SHARED:
            fields.add(name, name, value)
        else:
            fields.check(name, value, root, (name,))
    section: JSON = document
    for name in names:
        section = section.get(name) if isinstance(section, dict) else None
    for name, value in section.items() if isinstance(section, dict) else ():
        if name in fields.parameters:
            fields.add(".".join((*names, name)), name, value)
    if fields.problems:
        raise PolicySchemaError(fields.problems)
    return fields.values


def read_object(file: Path, what: str) -> tuple[JSONObject, Origin]:
    """Return the object in a file of ``what``, with its place; raises as ``defaults`` does."""
    with file_errors(file):
        values, problems = read_located(str(file), read_bytes(file))
    if problems:
        raise PolicySchemaError(problems)
    document, origin = values[0] if values else ({}, Origin())
    if len(values) > 1 or not isinstance(document, dict):
        raise ConfigError(f"{file}: expected one object: {what}")
    return document, origin


class _Fields:
    """The fields of a project file that concern one command."""

    def __init__(self, file: Path, origin: Origin, command: click.Command) -> None:
        self._directory = file.parent
        self._shown = os.path.relpath(file)
        self._origin = origin
        self._context = click.Context(command, resilient_parsing=True)  # --explain prints nothing
        self.parameters = _settable(command)
        self.values: dict[str, Any] = {}
        self.problems: list[Problem] = []

    def check(self, path: str, section: JSON, root: click.Group, names: Sequence[str]) -> None:
        """Report the fields of a section that its command, or group of commands, does not have."""
        context = click.Context(root)
        found: click.Command | None = root
        for name in names:
            found = found.get_command(context, name) if isinstance(found, click.Group) else None
        if section is None or found is None:
            return
        if not isinstance(section, dict):
            self.problem("expected an object of options", path)
            return
        inner = found if isinstance(found, click.Group) else None
        known = _settable(found) if inner is None else inner.list_commands(context)
        for each, value in section.items():
            if each not in known:
                elsewhere = "" if _folded(each) in map(_folded, known) else _home(each, value, root)
                self.unknown(f"{path}.{each}", each, known, elsewhere)
            elif inner is not None:
                self.check(f"{path}.{each}", value, root, (*names, each))

    def add(self, path: str, name: str, value: JSON) -> None:
        """Convert the value of an option as the command line would; ignore others' options."""
        parameter = self.parameters.get(name)
        if parameter is None:
            return
        if parameter.name == "paths" and not self._exist(path, value):
            return
        try:
            given = self._given(parameter, value)
            found = parameter.process_value(self._context, given)
            if isinstance(value, float) and isinstance(found, str | Path):
                raise click.BadParameter(f"expected a string, got {value}")
        except click.BadParameter as error:
            self.problem(error.message, path, _hint(parameter, value))
        else:
            self.values[str(parameter.name)] = given

    def _exist(self, path: str, value: JSON) -> bool:
        """Report paths that do not exist, or that there are none."""
        listed = value if isinstance(value, list) else [value]
        if not listed:
            self.problem("expected a path, got []", path, f"write {path}: [policies/]")
        before = len(self.problems)
        for index, each in enumerate(listed):
            if isinstance(each, str) and each != "-" and not (self._directory / each).exists():
                place = f"{path}[{index}]" if isinstance(value, list) else path
                relative = f"paths are relative to the directory of {self._shown}"
                hint = instead_of(each, self._directory) or relative
                self.problem(f"{each}: no such file or directory", place, hint)
        return bool(listed) and len(self.problems) == before

    def _given(self, parameter: click.Parameter, value: JSON) -> Any:
        """Return a value in the form in which click expects defaults."""
        if isinstance(parameter, click.Option) and parameter.is_flag:
            if isinstance(value, bool):
                return value
            raise click.BadParameter(f"expected true or false, got {json.dumps(value)}")
        listed = value if isinstance(value, list) else [value]
        if any(isinstance(each, bool | dict | list | None) for each in listed):
            raise click.BadParameter(f"expected a string or a number, got {json.dumps(value)}")
        texts = [self._text(parameter, each) for each in listed]
        if parameter.multiple or parameter.nargs == -1:
            return texts
        if isinstance(value, list):
            raise click.BadParameter("expected one value, not a list")
        return texts[0]

    def _text(self, parameter: click.Parameter, value: JSON) -> str:
        """Return an item as a string; paths are relative to the directory of the project file."""
        text = str(value)
        if not isinstance(parameter.type, click.Path | click.File):
            return text
        return os.path.relpath(self._directory / text)

    def unknown(self, path: str, name: str, known: Iterable[str], home: str = "") -> None:
        """Report a field that does not exist; ``home``: where it would."""
        listed = "known fields: " + ", ".join(sorted(known))
        hint = _HINTS.get(name) or home or did_you_mean(name, known, listed)
        self.problem(f'unknown field "{name}"', path, hint, at_key=True)

    def problem(self, message: str, path: str, hint: str = "", *, at_key: bool = False) -> None:
        """Report a problem of the field at ``path``."""
        line, column = self._origin.find(path, at_key=at_key)
        excerpt = self._origin.chunk.excerpt(line, column)
        self.problems.append(Problem(message, self._shown, line, column, path, hint, excerpt))


def _home(name: str, value: JSON, root: click.Group) -> str:
    """Return where the option of a command belongs; empty if no command has one of this name, in
    whatever case and with or without dashes.
    """
    found = [each for each in _places(root) if _folded(each[-1]) == _folded(name)]
    if not found:
        return ""
    *sections, field = found[0]
    shown = "…" if isinstance(value, dict | list) else json.dumps(value, ensure_ascii=False)
    text = f"{field}: {shown}"
    for section in reversed(sections):
        text = f"{section}: {{{text}}}"
    return f"write it below its command{', such as' if len(found) > 1 else ':'} {text}"


def _places(group: click.Group) -> Iterator[tuple[str, ...]]:
    """Yield the name of each option, after the names of its groups and command."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or name in WITHOUT:
            continue
        inner = _places(command) if isinstance(command, click.Group) else zip(_settable(command))
        yield from ((name, *each) for each in inner)


def _folded(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()


def _hint(parameter: click.Parameter, value: JSON) -> str:
    """Return the remedy for a value that an option does not take."""
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return unquoted_hint(value, number=False)
    if isinstance(value, float) and parameter.type.name != PERCENT:
        return f"YAML reads this as the number {value}: put it in quotes"
    if isinstance(parameter.type, click.Choice) and not isinstance(value, str):
        return f"write one of {', '.join(map(str, parameter.type.choices))}"
    return ""


def _settable(command: click.Command) -> dict[str, click.Parameter]:
    return {
        _name(each): each
        for each in command.params
        if each.name == "paths"
        or (isinstance(each, click.Option) and each.name not in ("help", "rules"))
    }


def _name(parameter: click.Parameter) -> str:
    """Return the field of a parameter: ``outputDir`` for ``--output-dir``."""
    if parameter.name == "paths":
        return "policies"
    first, *others = max(parameter.opts, key=len).removeprefix("--").split("-")
    return first + "".join(map(str.capitalize, others))
