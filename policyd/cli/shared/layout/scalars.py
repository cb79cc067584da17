"""The lines of one value of a document: long strings folded, short ones without quotes where they
need none. Knows no documents.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from policyd.json_types import JSON, JSONObject
from policyd.policy.source.yaml_output import dump

WIDTH = 100
_LEAST = 40  # columns for a folded string, however deep it is
_SINGLE_BLANK = re.compile(r"(?<! ) (?! )")
_OPERATORS = frozenset({"&&", "||", "?", ":"})
_PLAIN_KEY = re.compile(r"[A-Za-z][\w./-]*", re.ASCII)


def scalar_lines(head: str, value: JSON, indent: int) -> Iterator[str]:
    """Yield the lines of a value without fields or items; ``indent``: of all but the first."""
    if isinstance(value, str) and len(head) + 1 + len(value) > WIDTH:
        folded = _folded(value, max(_LEAST, WIDTH - indent))
        if folded:
            yield f"{head} >-"
            yield from (f"{' ' * indent}{line}" for line in folded)
            return
    first, *others = dump({"k": value}).removesuffix("\n").split("\n")
    yield f"{head} {_requoted(first.removeprefix('k: '), value)}"
    # The lines of a block are indented by 2.
    yield from (f"{' ' * (indent - 2)}{line}" if line else "" for line in others)


def flow_list(value: Sequence[JSON]) -> str:
    """Return a list of scalars on one line."""
    return f"[{', '.join(map(_in_flow, value))}]"


def flow_map(value: JSONObject) -> str:
    """Return a mapping of scalars and lists of scalars on one line."""
    return (
        "{" + ", ".join(f"{key_text(key)}: {_in_flow(each)}" for key, each in value.items()) + "}"
    )


def is_flat(value: JSON) -> bool:
    """Whether it is a list of scalars, or a scalar."""
    inner = value if isinstance(value, list) else [value]
    return not any(isinstance(each, dict | list) for each in inner)


@cache
def key_text(key: str) -> str:
    """Return the name of a field, in quotes if it needs them."""
    if _PLAIN_KEY.fullmatch(key) and dump(key) == f"{key}\n":
        return key
    escaped = (
        each if each.isprintable() and each not in '"\\' else f"\\U{ord(each):08X}" for each in key
    )
    return f'"{"".join(escaped)}"'


def _in_flow(value: JSON) -> str:
    if isinstance(value, list):
        return flow_list(value)
    return _requoted(dump([value], flow=True)[1:-2], value)


def _folded(text: str, width: int) -> list[str]:
    """Return the lines of a folded block, which end after an operator of CEL where one is near;
    none if the string cannot be one.

    A reader joins them with one blank each, so lines break only where there is exactly one.
    """
    if not text.isprintable() or text != text.strip(" "):
        return []
    lines: list[str] = []
    words = _SINGLE_BLANK.split(text)
    while words:
        count, used = 1, len(words[0])
        while count < len(words) and used + 1 + len(words[count]) <= width:
            used += 1 + len(words[count])
            count += 1
        if count < len(words):
            ends = [index for index in range(1, count + 1) if words[index - 1] in _OPERATORS]
            count = ends[-1] if ends else count
        lines.append(" ".join(words[:count]))
        words = words[count:]
    return lines if len(lines) > 1 else []


def _requoted(text: str, value: JSON) -> str:
    """Return the text of a scalar in double quotes instead of single ones where none is escaped."""
    if text.startswith("'") and value.isprintable() and not {'"', "\\"} & {*value}:
        return f'"{value}"'
    return text
