"""Click options: one flag for each field of Settings, values that functions parse, and groups of
options that make one argument. Resolves no settings.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import Field, fields
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from policyd import option_values, versions
from policyd.config import PREFIX, Settings

AddOption = Callable[[Callable[..., Any]], Callable[..., Any]]
FILE = click.Path(dir_okay=False, path_type=Path)


class ExistingPath(click.Path):
    """A file or directory. ``missing``: what to do if an option that is required is not given."""

    def __init__(self, missing: str | None = None, *, allow_dash: bool = False) -> None:
        super().__init__(exists=True, path_type=Path, allow_dash=allow_dash)
        self._missing = missing

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "-" and not self.allow_dash and not Path("-").exists():
            self.fail("cannot be standard input (-); name a file or a directory", param, ctx)
        return super().convert(value, param, ctx)

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str | None:
        return self._missing


EXISTING = ExistingPath()
EXISTING_OR_STDIN = ExistingPath(allow_dash=True)
SHORT = {"policies": "-p"}
# The metavar of a flag in --help, by the function that reads it.
_METAVARS: dict[Callable[[str], Any], str] = {
    Path: "PATH",
    str: "NAME",
    option_values.file: "FILE",
    option_values.file_or_config_map: "FILE|configmap/NAME",
    option_values.label_selector: "SELECTOR",
    option_values.namespace_pattern: "GLOB",
    option_values.directory: "DIR",
    option_values.address: "HOST:PORT",
    option_values.count: "NUMBER",
    option_values.duration: "DURATION",
    option_values.http_url: "URL",
    option_values.http_server: "[policyd|hypercorn]",
    option_values.https_url: "URL",
    option_values.lifetime: "DURATION",
    option_values.log_format: "[json|text]",
    option_values.object_name: "NAME",
    option_values.name_and_uid: "NAME[/UID]",
    option_values.placement_mode: "[auto|never|only]",
    option_values.positive_duration: "DURATION",
    option_values.service_port: "NAME:PORT",
    option_values.size: "BYTES",
    option_values.trace_sample: "RATIO|parent",
    versions.supported: "VERSION",
}
# The completions of a shell for the value of a flag. The value itself is checked where it is read.
_COMPLETED: dict[Callable[[str], Any], click.Path] = {
    Path: click.Path(),
    option_values.file: click.Path(dir_okay=False),
    option_values.file_or_config_map: click.Path(dir_okay=False),
    option_values.directory: click.Path(file_okay=False),
}
# The sections of --help, by the first setting of each.
_SECTIONS = {
    "policies": "Policies",
    "bind": "Addresses",
    "tls_cert": "TLS and clients",
    "require_api_server_token": "Tokens of the API server",
    "timeout": "Requests and connections",
    "cluster": "Cluster",
    "register": "Webhook configurations",
    "manage_certificates": "Managed certificates",
    "events": "Events, recordings, traces and logs",
}
VERSIONS = tuple(map(str, versions.SUPPORTED))

# Durations from here on are shown in hours: 48.
_HOURS = 172_800.0


def settings_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add a flag for each setting to a command; it is None, or (), if it is not given."""
    section, options = "", []
    for each in fields(Settings):
        section = _SECTIONS.get(each.name, section)
        options.append(_option(each, section))
    return with_options(function, options)


class SettingOption(click.Option):
    """An option in a section of ``--help``."""

    def __init__(self, *args: Any, section: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section = section


class SectionedCommand(click.Command):
    """A command whose ``--help`` has a section for each of its options' sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections, first the one of options without a section."""
        for title, options in by_section(self.get_params(ctx)).items():
            records = [each.get_help_record(ctx) for each in options]
            with formatter.section(title):
                formatter.write_dl([each for each in records if each])


def by_section(parameters: Iterable[click.Parameter]) -> dict[str, list[click.Parameter]]:
    """Return the options by their section, first ``Options`` with those that have none."""
    found: dict[str, list[click.Parameter]] = {"Options": []}
    for each in parameters:
        if isinstance(each, click.Option):
            section = each.section if isinstance(each, SettingOption) else "Options"
            found.setdefault(section, []).append(each)
    return found


class OptionValue(click.ParamType[Any]):
    """A value that a function parses; it raises ValueError with what it expects, and hints as its
    notes. ``offered``: what a shell completes.
    """

    def __init__(self, name: str, parse: Callable[[str], Any], offered: Sequence[str] = ()) -> None:
        self.name = name
        self._parse = parse
        self._offered = offered

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError as expected:
            hints = "".join(f"\n  hint: {note}" for note in getattr(expected, "__notes__", ()))
            self.fail(f"expected {expected}, got {value!r}{hints}", param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the values that begin like this."""
        return [CompletionItem(each) for each in self._offered if each.startswith(incomplete)]


_ACCOUNT = "system:serviceaccount:"


def _group_name(text: str) -> str:
    if "," in text:
        raise ValueError("one group; repeat the option for each")
    return text


def _user_name(text: str) -> str:
    if text.startswith(_ACCOUNT) and text.count(":") != 3:
        raise ValueError(f"{_ACCOUNT}NAMESPACE:NAME for a service account")
    return text


GROUP_NAME, USER_NAME = OptionValue("NAME", _group_name), OptionValue("NAME", _user_name)
PERCENT = "PERCENT"


def percentage(text: str) -> float:
    """Parse ``10%`` or ``10``; raises ValueError."""
    number = text.strip().removesuffix("%").strip()
    if not number.replace(".", "", 1).isdecimal() or not number.isascii():
        raise ValueError("a percentage like 10%")
    return float(number)


# The types of values that are named by their metavar.
_TYPES: dict[str, click.ParamType[Any]] = {
    "DIR": click.Path(file_okay=False, path_type=Path),
    "DURATION": OptionValue("DURATION", option_values.positive_duration),
    "FILE": FILE,
    "PATH": EXISTING,
}


def option(
    shown: str,
    text: str,
    *,
    to: str = "",
    read: Callable[[Any], Any] | None = None,
    **attributes: Any,
) -> AddOption:
    """Return an option, declared as ``--help`` shows it: ``-n, --namespace NAME...``, which may be
    repeated. Without a metavar and a type it is a switch. ``to``: the argument, if it has another
    name than the option. ``read`` makes its value of a value that is given.
    """
    words = shown.split()
    flags = [each.rstrip(",") for each in words if each.startswith("-")]
    for each in words[len(flags) :]:
        metavar = each.removesuffix("...")
        known = {"metavar": metavar, "type": _TYPES.get(metavar), "multiple": metavar != each}
        attributes = {**known, **attributes}
    if read is not None:
        attributes["callback"] = lambda _context, _option, given: (
            None if given is None else read(given)
        )
    if not attributes.keys() & {"metavar", "type"}:
        attributes["is_flag"] = True  # False would make the value of other options optional
    attributes.setdefault("show_default", bool(attributes.get("default")))
    return click.option(*flags, *([to] if to else []), help=text, **attributes)


def with_options(command: Callable[..., Any], options: Sequence[AddOption]) -> Callable[..., Any]:
    """Add options to a command; ``--help`` lists them in this order."""
    for add in reversed(options):
        command = add(command)
    return command


def printing(shown: str, text: str, show: Callable[[Any], None], **attributes: Any) -> AddOption:
    """Return an option for which a command only shows something."""

    def callback(context: click.Context, _: click.Parameter, given: Any) -> None:
        if given not in (None, False) and not context.resilient_parsing:
            show(given)
            context.exit()

    attributes = {"is_eager": True, "expose_value": False, "callback": callback, **attributes}
    return option(shown, text, **attributes)


def grouped(
    argument: str, make: Callable[..., Any], options: Sequence[AddOption] = ()
) -> AddOption:
    """Return what makes one argument of the values of options, which are parameters of ``make``;
    those without an option have a default. ``options`` are added to the command.
    """
    names = tuple(signature(make).parameters)

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(**values: Any) -> Any:
            made = make(**{each: values.pop(each) for each in names if each in values})
            return function(**{argument: made}, **values)

        return with_options(command, options)

    return add


def _option(each: Field[Any], section: str) -> AddOption:
    flag = "--" + each.name.replace("_", "-")
    names = [SHORT[each.name], flag] if each.name in SHORT else [flag]
    read = each.metadata["read"]
    doc = f"{each.metadata['doc']}  [{PREFIX}{each.name.upper()}{_default(each.default, read)}]"
    if isinstance(each.default, bool):
        switch = f"{flag}/--no-{flag[2:]}"
        return click.option(
            switch, each.name, cls=SettingOption, section=section, default=None, help=doc
        )
    metavar = _METAVARS[read]
    completed = _COMPLETED.get(read) or OptionValue(metavar, read, _offered(metavar, read))
    return click.option(
        *names,
        each.name,
        cls=SettingOption,
        section=section,
        multiple=each.metadata["many"],
        default=None,
        metavar=metavar,
        help=doc,
        shell_complete=completed.shell_complete,
    )


def _default(value: Any, read: Callable[[str], Any]) -> str:
    """The default as a user would write it; an empty string if there is none."""
    if isinstance(value, bool):
        return f"; default {'true' if value else 'false'}"
    if value in (None, (), ""):
        return ""
    if _METAVARS.get(read) == "DURATION":
        value = f"{value / 3600:g}h" if value >= _HOURS else f"{value:g}s"
    elif read is option_values.size and value % 2**20 == 0:
        value = f"{value // 2**20}MiB"
    return f"; default {value}"


def _offered(metavar: str, read: Callable[[str], Any]) -> Sequence[str]:
    """The values of a setting that a shell completes, if it has few."""
    if read is versions.supported:
        return VERSIONS
    return metavar.strip("[]").split("|") if metavar.startswith("[") else ()
