"""The declarations of Kubernetes' CEL environment for tests of the front end, independent of the core."""

from functools import cache
from pathlib import Path

from policyd.cel.types.declarations import OverloadDecl, group, parse_signature

_TABLE = Path(__file__).with_name("kubernetes_functions.tsv")


@cache
def functions() -> dict[str, tuple[OverloadDecl, ...]]:
    """All functions by name."""
    rows = [line.split("\t") for line in _TABLE.read_text().splitlines() if line[0] != "#"]
    return group(parse_signature(signature, name, ident) for name, ident, signature in rows)
