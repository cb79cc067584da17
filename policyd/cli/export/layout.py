"""Lay out documents as people write them: fields in the order of the documentation, long strings
folded, short lists on one line. Changes no value.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from textwrap import TextWrapper

from policyd.json_types import JSON, JSONObject
from policyd.policy.source.yaml_output import dump

_WIDTH = 100
_LEAST = 40  # columns for a folded string, however deep it is
# The fields that come first in an object, by the field that holds it; empty: the document.
_FIRST: Mapping[str, Sequence[str]] = {
    "": ("apiVersion", "kind", "metadata", "spec"),
    "metadata": ("name", "labels", "annotations"),
    "spec": (
        "policyName",
        "paramKind",
        "matchConstraints",
        "matchConditions",
        "variables",
        "failurePolicy",
        "reinvocationPolicy",
        "validations",
        "mutations",
        "auditAnnotations",
        "paramRef",
        "matchResources",
        "validationActions",
    ),
}
_SINGLE_BLANK = re.compile(r"(?<! ) (?! )")
_OPERATORS = frozenset({"&&", "||", "?", ":"})
_COMMENTS = partial(TextWrapper, break_long_words=False, break_on_hyphens=False)
_PLAIN_KEY = re.compile(r"[A-Za-z][\w./-]*", re.ASCII)


def document_text(document: JSONObject) -> str:
    """Return one document as YAML, without ``---``."""
    ordered = _ordered(document, "")
    for field in ("metadata", "spec"):
        if isinstance(ordered.get(field), dict):
            ordered[field] = _ordered(ordered[field], field)
    return "".join(f"{line}\n" for line in _fields(ordered, 0))


def comment(text: str) -> str:
    """Return lines of a comment, wrapped; what could end it is replaced."""
    made = []
    for line in text.splitlines():
        shown = "".join(each if each.isprintable() else "�" for each in line)
        indent = " " * (len(shown) - len(shown.lstrip(" ")))
        made += _COMMENTS(width=_WIDTH - 2, subsequent_indent=f"{indent}  ").wrap(shown)
    return "".join(f"# {line}\n" for line in made)


def _ordered(value: JSONObject, field: str) -> JSONObject:
    return {**{each: value[each] for each in _FIRST[field] if each in value}, **value}


def _fields(value: JSONObject, indent: int) -> Iterator[str]:
    """Yield the lines of an object that has fields."""
    for key, each in value.items():
        head = f"{' ' * indent}{_key(key)}:"
        if isinstance(each, dict) and each:
            yield head
            yield from _fields(each, indent + 2)
        elif isinstance(each, list) and each:
            short = f"{head} {_flow(each)}" if _is_flat(each) else ""
            if 0 < len(short) <= _WIDTH:
                yield short
            else:
                yield head
                yield from _items(each, indent)
        else:
            yield from _scalar(head, each, indent + 2)


def _items(value: Sequence[JSON], indent: int) -> Iterator[str]:
    """Yield the lines of a list that has items."""
    for each in value:
        head = f"{' ' * indent}-"
        if isinstance(each, dict | list) and each:
            within = indent + 2
            lines = _fields(each, within) if isinstance(each, dict) else _items(each, within)
            yield f"{head} {next(lines)[within:]}"
            yield from lines
        else:
            yield from _scalar(head, each, indent + 2)


def _scalar(head: str, value: JSON, indent: int) -> Iterator[str]:
    """Yield the lines of a value without fields or items; ``indent``: of all but the first."""
    if isinstance(value, str) and len(head) + 1 + len(value) > _WIDTH:
        folded = _folded(value, max(_LEAST, _WIDTH - indent))
        if folded:
            yield f"{head} >-"
            yield from (f"{' ' * indent}{line}" for line in folded)
            return
    first, *others = dump({"k": value}).removesuffix("\n").split("\n")
    yield f"{head} {_requoted(first.removeprefix('k: '), value)}"
    # The lines of a block are indented by 2.
    yield from (f"{' ' * (indent - 2)}{line}" if line else "" for line in others)


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


def _is_flat(value: Sequence[JSON]) -> bool:
    return not any(isinstance(each, dict | list) for each in value)


def _flow(value: Sequence[JSON]) -> str:
    texts = [_requoted(dump([each], flow=True)[1:-2], each) for each in value]
    return f"[{', '.join(texts)}]"


def _requoted(text: str, value: JSON) -> str:
    """Return the text of a scalar in double quotes instead of single ones where none is escaped."""
    if text.startswith("'") and value.isprintable() and not {'"', "\\"} & {*value}:
        return f'"{value}"'
    return text


@cache
def _key(key: str) -> str:
    if _PLAIN_KEY.fullmatch(key) and dump(key) == f"{key}\n":
        return key
    escaped = (
        each if each.isprintable() and each not in '"\\' else f"\\U{ord(each):08X}" for each in key
    )
    return f'"{"".join(escaped)}"'
