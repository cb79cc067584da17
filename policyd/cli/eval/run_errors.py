"""Run-time errors of ``policyd eval``: the part that failed, and a hint. Evaluates nothing."""

from collections.abc import Iterable, Iterator
from typing import Any

from policyd.cel.hints.tree import listed, near
from policyd.cel.syntax.source import Source
from policyd.cel.trace.steps import Step
from policyd.cli.eval.common import ROOTS, error_text
from policyd.cli.shared.output import counted, styled

_NO_KEY = "no such key: "
_NO_ITEM = "index out of bounds"
_MOST = 1000  # fields that are looked at for a key
# Where the value of a variable comes from.
_SOURCES = {
    "object": ": its content is that of FILE",
    "variables": ": eval reads no policy; policyd explain -p POLICIES FILE shows its variables",
}
_GIVEN = ": give it with --var '{}={{…}}'"


def run_error(text: str, message: str, root: Step) -> Iterator[str]:
    """Yield a run-time error, the line with a caret below the part that failed, and a hint."""
    yield error_text(message)
    failed, values = _culprit(root)
    yield Source(text).marked(failed.fault)
    hint = ""
    if message.startswith(_NO_KEY):
        hint = _key_hint(message.removeprefix(_NO_KEY), values)
    elif message.startswith(_NO_ITEM):
        counts = (len(each.value) for each in values if isinstance(each.value, list))
        hint = next((f"the list has {counted(n, 'item')}; the first is [0]" for n in counts), "")
    if hint:
        yield f"  {styled('hint', fg='cyan')}: {hint}"


def _culprit(root: Step) -> tuple[Step, list[Step]]:
    """Return the innermost subexpression that is an error, and what it was evaluated with: the
    nearest value first.
    """
    step, around = root, list[Step]()
    while True:
        below = (
            each
            for each in step.children
            if each.failed or (each.round and any(part.failed for part in each.children))
        )
        failed = next(below, None)
        if failed is None:
            return step, [*reversed(step.children), *reversed(around)]
        around += [failed] if failed.round else []
        step = failed


def _key_hint(key: str, values: Iterable[Step]) -> str:
    """Return the remedy for a key that the nearest value does not have."""
    for each in values:
        held = each.value if each.round and isinstance(each.value, list) else [each.value]
        for value in held:
            if value is None:
                source = _SOURCES.get(each.text, _GIVEN.format(each.text))
                return f"{each.text} is null{source if each.text in ROOTS else ''}"
            if not isinstance(value, dict) or key in value:
                continue
            keys = [name for name in value if isinstance(name, str)]
            close = near(key, keys)
            if close:
                return f"did you mean {close}?"
            if path := _below(value, key):
                return f"did you mean {each.text}.{path}?"
            return f"the keys are {listed(keys)}" if keys else "the map is empty"
    return ""


def _below(value: dict[Any, Any], key: str) -> str:
    """Return the path of the nearest key of this name in the maps below; empty if there is none."""
    level, seen = [("", value)], 0
    while level and seen < _MOST:
        below: list[tuple[str, dict[Any, Any]]] = []
        for path, held in level:
            if path and key in held:
                return f"{path}{key}"
            seen += len(held)
            inner = ((name, each) for name, each in held.items() if isinstance(each, dict))
            below += [(f"{path}{name}.", each) for name, each in inner if str(name).isidentifier()]
        level = below
    return ""
