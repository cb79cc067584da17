"""How long many policies take to load: policies of the library, each with a name of its own, and
either with expressions of their own or as copies; and simple ones.
"""

import gc
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import yaml

from policyd.gc_policy import collect_seldom
from policyd.policy.compile import compiler
from policyd.policy.model.expressions import PolicyExpression, expressions_of
from policyd.policy.source import loader
from tools.bench import core, start

Row = core.Row
COUNT = 10_000
FILES = 100
TARGET = "3 s"


def changed(each: PolicyExpression, number: int) -> str:
    """The expression with a condition or a comment of its own: the same result, another text."""
    if each.role.name == "validation":
        return f"({each.text}\n) && {number} < {number + 1}"
    return f"{each.text}\n// {number}"


def different(text: str, number: int) -> str:
    """The documents of a file with expressions that no other file has."""
    documents = list(yaml.load_all(text, yaml.CSafeLoader))
    for document in documents:
        for each in list(expressions_of(document)):
            if each.start:  # a part of a string
                continue
            held: Any = document
            for step in each.path[:-1]:
                held = held[step]
            held[each.path[-1]] = changed(each, number)
    return yaml.dump_all(documents, Dumper=yaml.CSafeDumper, sort_keys=False)


def write(folder: Path, texts: Iterator[str]) -> Path:
    """Write policies to a hundred files."""
    folder.mkdir()
    listed = list(texts)
    for number in range(FILES):
        some = "\n---\n".join(listed[number::FILES])
        (folder / f"{number:03d}.yaml").write_text(some)
    return folder


def seconds(folder: Path) -> float:
    """CPU of loading the policies, all of which must be good."""
    usual = gc.get_threshold()
    collect_seldom()
    try:
        before = process_time()
        found = compiler.compile_strict(loader.load([folder]))
        taken = process_time() - before
    finally:
        gc.set_threshold(*usual)
    if len(found.policies) != COUNT:
        raise SystemExit(f"{len(found.policies)} policies instead of {COUNT}")
    return taken


def crowd() -> Iterator[Row]:
    """The CPU of loading, for each kind of crowd, with garbage collected as in a command."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        listed = [text for _, text in start.texts(COUNT)]
        own = write(folder / "own", (different(text, i) for i, text in enumerate(listed)))
        yield f"{COUNT:,} policies, all different", f"{seconds(own):.1f} s of CPU", TARGET
        copies = write(folder / "copies", iter(listed))
        yield f"{COUNT:,} copies under other names", f"{seconds(copies):.1f} s of CPU", TARGET
        simple = folder / "simple"
        simple.mkdir()
        core.simple_policies(simple, COUNT)
        yield f"{COUNT:,} simple policies", f"{seconds(simple):.1f} s of CPU", TARGET
