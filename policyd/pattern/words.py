"""Print what a pattern expects, for messages: ``?*``, ``{name: ?*, image: "a b"}``."""

from typing import Any

_LIMIT = 80


def expected(tree: Any) -> str:
    """Print a pattern tree on one line, cut if long."""
    text = _flow(tree)
    return text if len(text) <= _LIMIT else text[: _LIMIT - 3] + "..."


def _flow(tree: Any) -> str:
    if isinstance(tree, dict):
        if not tree:
            return "an object"
        return "{" + ", ".join(f"{key}: {_flow(value)}" for key, value in tree.items()) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(map(_flow, tree)) + "]"
    if tree is None:
        return "null"
    if isinstance(tree, bool):
        return "true" if tree else "false"
    return str(tree) or '""'
