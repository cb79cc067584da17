"""What ``--help`` calls the values of options and arguments names their types."""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click

from policyd import option_values
from policyd.cli import policyd
from policyd.cli.shared.settings import settings_options
from policyd.config import Settings
from tests.builders.commands import every

READERS = {
    Path: "PATH",
    option_values.file: "FILE",
    option_values.file_or_config_map: "FILE",
    option_values.directory: "DIR",
}
# What every other value is called; a choice lists its values.
OTHERS = {
    "BYTES", "DURATION", "EXPRESSION", "GLOB", "HOST:PORT", "KEY=VALUE", "KEY=VALUE,…", "KIND",
    "KIND/[NAMESPACE/]NAME", "NAME", "NAME[/UID]", "NAME:PORT", "NAME=JSON", "NAMESPACE/NAME[:PORT]", "NUMBER",
    "PERCENT", "POLICY", "REF", "REGEX", "RESOURCE", "RULE", "RULE,…", "SELECTOR", "URL", "VERSION", "WHEN",
}  # fmt: skip


def parameters() -> Iterator[tuple[str, click.Context, click.Parameter]]:
    context = click.Context(policyd)
    for each in policyd.params:
        yield "policyd", context, each
    for name, inner in every():
        yield from ((name, inner, each) for each in inner.command.params)


ALL = [
    (f"{name} {each.opts[-1]}", context, each)
    for name, context, each in parameters()
    if not getattr(each, "is_flag", False)
]


def kind_of(name: str, each: click.Parameter) -> str:
    """FILE, DIR or PATH for what takes a path, and else an empty string."""
    if isinstance(each.type, click.File):
        return "FILE"
    if isinstance(each.type, click.Path):
        return {(True, False): "FILE", (False, True): "DIR", (True, True): "PATH"}[
            (each.type.file_okay, each.type.dir_okay)
        ]
    read = {field.name: READERS.get(field.metadata["read"], "") for field in fields(Settings)}
    return read.get(each.name or "", "") if name == "serve" else ""


def names_its_type(context: click.Context, each: click.Parameter) -> bool:
    shown = each.make_metavar(context).replace("...", "")
    kind = kind_of(context.info_name or "", each)
    if kind:
        plural = "S" if each.nargs == -1 else ""
        return shown.removesuffix("|configmap/NAME") in (kind + plural, f"[{kind}{plural}]")
    return bool({shown, shown.strip("[]")} & OTHERS) or "|" in shown


def test_a_metavar_names_the_type() -> None:
    assert [name for name, context, each in ALL if not names_its_type(context, each)] == []


def completes_paths(context: click.Context, each: click.Parameter) -> bool:
    wanted = {"FILE": {"file"}, "DIR": {"dir"}, "PATH": {"file"}, "": set()}
    kind = kind_of(context.info_name or "", each)
    offered = {item.type for item in each.shell_complete(context, "x")}
    return offered & {"file", "dir"} == wanted[kind]


def test_a_shell_completes_paths() -> None:
    assert [name for name, context, each in ALL if not completes_paths(context, each)] == []


def test_a_setting_of_a_path_says_which() -> None:
    @click.command("sample")
    @settings_options
    def sample() -> None: ...

    found = {each.name: each.make_metavar(click.Context(sample)) for each in sample.params}
    assert {name for name, text in found.items() if text == "DIR"} == {"capture"}
    assert {name for name, text in found.items() if text == "PATH"} == {"policies"}
    assert {name for name, text in found.items() if text == "FILE"} == {
        "admin_token_file", "client_ca", "kubeconfig", "tls_cert", "tls_key", "token_keys",
    }  # fmt: skip
