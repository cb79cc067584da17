"""The files of built-in schemas: one for each supported Kubernetes version. Builds no types.

``tools/make_schemas.py`` describes and writes them. The file of the default version is complete;
the files of other versions have the differences from it.
"""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path

from policyd.json_types import JSONObject
from policyd.versions import NEWEST, RECORDED, KubernetesVersion

_DIRECTORY = Path(__file__).parent
_NAME = len(b'{"name":"')


def read_table(version: KubernetesVersion) -> tuple[JSONObject, Mapping[str, bytes]]:
    """Return the first line of a version's table, and the line of each schema by its name."""
    head, lines = lines_of(table_path(NEWEST).read_bytes())
    if version != NEWEST:
        head, changed = lines_of(table_path(version).read_bytes())
        lines |= changed
    return head, lines


def recent_kinds() -> Mapping[str, str]:
    """Return the kinds of the recorded versions ("group/version/kind"), with their definitions.

    Fields of earlier versions are in ``policy/kinds/removed.json``.
    """
    found: dict[str, str] = {}
    for version in RECORDED:
        found |= lines_of(table_path(version).read_bytes())[0]["kinds"]
    return found


def table_path(version: KubernetesVersion) -> Path:
    return _DIRECTORY / f"kubernetes-{version}.jsonl.gz"


def lines_of(packed: bytes) -> tuple[JSONObject, dict[str, bytes]]:
    """Return the first line of a file, and the others by the name of their schema."""
    first, *lines = gzip.decompress(packed).split(b"\n")
    return json.loads(first), {
        line[_NAME : line.index(b'"', _NAME)].decode(): line for line in lines
    }
