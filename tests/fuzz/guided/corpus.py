"""The inputs in the tree: for each target a small corpus that reaches what was reached once, and the
inputs that found a bug.

``corpus/TARGET.jsonl.gz`` is written by ``python -m tests.fuzz.guided --keep``. ``findings.jsonl`` is
written by hand: a line for each bug, with the target, what was wrong, and the input as ``text`` or, if
it is not UTF-8, ``base64``.
"""

import base64
import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests import shared

HERE = Path(__file__).parent
FINDINGS = HERE / "findings.jsonl"
# Bytes of inputs that one target may keep; the smallest ones come first.
ROOM = 80_000


class Found(NamedTuple):
    """An input that found a bug."""

    target: str
    about: str
    data: bytes


def findings() -> list[Found]:
    return [Found(row["target"], row["about"], _data(row)) for row in shared.rows(FINDINGS)]


def kept(target: str) -> list[bytes]:
    """The corpus of a target; empty before there is one."""
    file = _file(target)
    return [_data(row) for row in shared.rows(file)] if file.exists() else []


def keep(target: str, inputs: Iterable[bytes]) -> int:
    """Replace the corpus of a target by these inputs; return how many had room."""
    lines, size = [], 0
    for data in sorted(inputs, key=lambda each: (len(each), each)):
        size += len(data)
        if size > ROOM:
            break
        lines.append(json.dumps(_row(data), ensure_ascii=False).encode())
    packed = gzip.compress(b"".join(line + b"\n" for line in lines), mtime=0)
    _file(target).write_bytes(packed)
    return len(lines)


def _file(target: str) -> Path:
    return HERE / "corpus" / f"{target}.jsonl.gz"


def _row(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _data(row: dict[str, str]) -> bytes:
    return row["text"].encode() if "text" in row else base64.b64decode(row["base64"])
