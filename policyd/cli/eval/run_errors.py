"""Run-time errors of ``policyd eval``: the part that failed, and a hint. Evaluates nothing."""

from collections.abc import Iterable, Iterator

from policyd.cel.hints.tree import listed, near
from policyd.cel.syntax.source import Source
from policyd.cel.trace.steps import Step
from policyd.cli.eval.common import error_text
from policyd.cli.shared.output import styled

_NO_KEY = "no such key: "


def run_error(text: str, message: str, root: Step) -> Iterator[str]:
    """Yield a run-time error, the line with a caret below the part that failed, and a hint."""
    yield error_text(message)
    failed, values = _culprit(root)
    yield Source(text).marked(failed.fault)
    hint = _key_hint(message.removeprefix(_NO_KEY), values) if message.startswith(_NO_KEY) else ""
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
                of_file = ": its content is that of FILE" if each.text == "object" else ""
                return f"{each.text} is null{of_file}"
            if not isinstance(value, dict) or key in value:
                continue
            keys = [name for name in value if isinstance(name, str)]
            close = near(key, keys)
            if close:
                return f"did you mean {close}?"
            return f"the keys are {listed(keys)}" if keys else "the map is empty"
    return ""
