"""The table of contracts in ``tools/layout.toml``; the comments there explain each section."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PLACE = "tools/layout.toml"
SECTIONS = {"layers", "forbidden", "third_party", "files", "folders", "names", "commits"}


class TableError(Exception):
    """The table cannot be read; the message names the section."""


@dataclass(frozen=True, slots=True)
class Forbidden:
    """No module of ``source`` may reach a module of ``targets``; ``why`` is part of the message."""

    source: str
    targets: Sequence[str]
    why: str


@dataclass(frozen=True, slots=True)
class Table:
    """The sections, as ``layout.toml`` documents them."""

    layers: Mapping[str, Sequence[Sequence[str]]]  # package: lines, top first, of parts
    forbidden: Sequence[Forbidden]
    third_party: Mapping[str, Sequence[str]]
    file_lines: int
    compiled_lines: int
    folder_modules: int
    folders_below: Sequence[str]
    folders_except: Mapping[str, str]
    names_except: Mapping[str, str]
    commits_after: str
    subject_length: int


def read_table(root: Path) -> Table:
    """The table of the tree at ``root``; raises TableError if its form is wrong."""
    try:
        read = tomllib.loads((root / PLACE).read_text("utf-8"))
        return parse(read)
    except FileNotFoundError:
        raise TableError(f"{PLACE}: not found in {root}") from None
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise TableError(f"{PLACE}: {type(error).__name__}: {error}") from error


def parse(read: Mapping[str, Any]) -> Table:
    if unknown := read.keys() - SECTIONS:
        raise TableError(f"{PLACE}: unknown sections {sorted(unknown)}")
    layers = {
        package: [[part.strip() for part in line.split("|")] for line in lines]
        for package, lines in read["layers"].items()
    }
    for package, lines in layers.items():
        parts = [part for line in lines for part in line]
        if twice := {part for part in parts if parts.count(part) > 1}:
            raise TableError(f"{PLACE}: layers of {package}: {sorted(twice)} stand there twice")
    return Table(
        layers=layers,
        forbidden=[
            Forbidden(each["from"], each["to"], each["why"]) for each in read.get("forbidden", [])
        ],
        third_party=read["third_party"],
        file_lines=read["files"]["lines"],
        compiled_lines=read["files"].get("compiled", read["files"]["lines"]),
        folder_modules=read["folders"]["modules"],
        folders_below=read["folders"]["below"],
        folders_except=read["folders"]["except"],
        names_except=read["names"]["except"],
        commits_after=read["commits"]["after"],
        subject_length=read["commits"]["length"],
    )
