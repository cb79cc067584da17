"""Write values as short YAML for a suite: on one line, or as an indented block. Reads no YAML."""

import json
from typing import Any

from yaml import ScalarNode

from policyd.policy.source.yaml_edit.values import Style
from policyd.policy.source.yaml_nodes import STR, scalar

WIDTH = 100
# Characters of a string without quotes, also in a flow mapping.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-./()=+@'$<>;:")
_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")


def inline(value: Any) -> str:
    """Return a value on one line, with quotes only where they are needed."""
    if not isinstance(value, str | dict | list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        return value if _is_plain(value) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    return "{" + ", ".join(f"{inline(key)}: {inline(each)}" for key, each in value.items()) + "}"


def entry(key: str, value: Any, indent: int) -> str:
    """Return ``key: value`` for a mapping with that indentation, which the first line lacks; a
    value that does not fit on the line is a block below it.
    """
    line = f"{inline(key)}: {inline(value)}"
    if not isinstance(value, dict | list) or not value:
        return line
    if isinstance(value, dict) and _is_short(value) and indent + len(line) <= WIDTH:
        return line
    if isinstance(value, list) and indent + len(line) <= WIDTH and not _has_maps(value):
        return line
    return f"{inline(key)}:\n{block(value, indent if isinstance(value, list) else indent + 2)}"


def block(value: Any, indent: int) -> str:
    """Return a value as lines with that indentation."""
    margin = " " * indent
    if not isinstance(value, dict | list) or not value:
        return margin + inline(value)
    if isinstance(value, dict):
        return "\n".join(margin + entry(key, each, indent) for key, each in value.items())
    return "\n".join(
        f"{margin}- {block(each, indent + 2).lstrip() if isinstance(each, dict) else inline(each)}"
        for each in value
    )


def _is_short(value: dict[str, Any]) -> bool:
    """Whether a mapping reads well on one line: nothing nested but lists of scalars."""
    return not any(
        isinstance(each, dict) or (isinstance(each, list) and _has_maps(each))
        for each in value.values()
    )


def _has_maps(value: list[Any]) -> bool:
    return any(isinstance(each, dict | list) for each in value)


def _is_plain(text: str) -> bool:
    if text[:1] not in _FIRST or not _PLAIN.issuperset(text):
        return False
    if ": " in text or text.endswith((" ", ":")):
        return False
    return scalar(ScalarNode("?", text))[0] == STR


STYLE = Style(inline, block)
