"""What random expressions are made of (words.json): texts that functions parse, numbers at the edges, a document."""

import json
from pathlib import Path
from typing import Any

from policyd.cel.types.declarations import parse_type
from policyd.cel.types.types import Type

_WORDS: dict[str, Any] = json.loads((Path(__file__).parent / "words.json").read_text())

# Literals as they are written, and texts.
INTS: list[str] = _WORDS["ints"]
UINTS: list[str] = _WORDS["uints"]
DOUBLES: list[str] = _WORDS["doubles"]
BYTES: list[str] = _WORDS["bytes"]
BAD_LITERALS: list[str] = _WORDS["bad_literals"]
TEXTS: list[str] = _WORDS["texts"]
FORMATS: list[str] = _WORDS["formats"]

# The texts that a function's string argument is mostly taken from, by function and place.
_ZONED = "FullYear Month DayOfYear DayOfMonth Date DayOfWeek Hours Minutes Seconds Milliseconds"
ARGUMENTS: dict[tuple[str, int], list[str]] = {
    **{(name, 0): _WORDS["quantities"] for name in ("quantity", "isQuantity")},
    **{(name, 0): _WORDS["ips"] for name in ("ip", "isIP", "ip.isCanonical")},
    **{(name, 0): _WORDS["cidrs"] for name in ("cidr", "isCIDR")},
    **{(name, 0): _WORDS["semvers"] for name in ("semver", "isSemver")},
    **{(name, 0): _WORDS["urls"] for name in ("url", "isURL")},
    **{(name, 1): _WORDS["regexes"] for name in ("matches", "find", "findAll")},
    **{(f"get{part}", 1): _WORDS["zones"] for part in _ZONED.split()},
    **{(name, 0): _WORDS[f"{name}_texts"] for name in ("int", "uint", "double", "bool")},
    ("containsIP", 1): _WORDS["ips"],
    ("containsCIDR", 1): _WORDS["cidrs"],
    ("timestamp", 0): _WORDS["timestamps"],
    ("duration", 0): _WORDS["durations"],
    ("format.named", 0): FORMATS,
    ("validate", 1): _WORDS["names"],
    ("format", 0): _WORDS["templates"],
}

ADMISSION: dict[str, Any] = _WORDS["admission"]  # request and namespaceObject
DOCUMENT: dict[str, Any] = _WORDS["document"]
# Paths into the document by the type of what is there, and paths that lead nowhere.
PATHS: dict[Type, list[str]] = {parse_type(name): paths for name, paths in _WORDS["paths"].items()}
MISSING_PATHS: list[str] = _WORDS["missing_paths"]
# JSON values that variables hold.
ANY_VALUES: list[Any] = _WORDS["any_values"]
# What recorded expressions are bent with.
SPLICES: dict[str, list[str]] = _WORDS["splices"]
