"""Evaluations as indented lines: each subexpression with its value. Evaluates nothing."""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from policyd._core.values.errors import CelError
from policyd.cel.trace.steps import Step
from policyd.cli.shared.output import counted, styled
from policyd.cli.shared.values import cut, shown


@dataclass(frozen=True, slots=True)
class TreeStyle:
    """The width of lines, and whether true expressions are shown in full (``everything``)."""

    width: int = 100
    everything: bool = False


def readable_width(most: int) -> int:
    """Return the width of the terminal, within readable bounds."""
    return max(80, min(most, shutil.get_terminal_size((100, 24)).columns))


def tree(children: Iterable[Step], depth: int, style: TreeStyle) -> Iterator[str]:
    """Yield a line for each step, indented by ``depth``; only count iterations that add nothing."""
    rounds = [each for each in children if each.round]
    decided = any(each.deciding for each in rounds)
    hidden = 0
    for each in children:
        if each.round and not style.everything and _is_dull(each, decided, rounds):
            hidden += 1
            continue
        indent = "  " * depth
        if each.round:
            label = f"[{each.number}] {each.text}"
            value = shown(each.value, max(20, style.width - len(indent) - len(label) - 4))
            yield f"{indent[:-2]}{_mark(each)}{label} = {value}"
        else:
            yield f"{indent[:-2]}{_mark(each)}{value_line(each.text, each, depth, style)}"
        yield from tree(each.children, depth + 1, style)
    if hidden:
        yield f"{'  ' * depth}… {counted(hidden, 'other iteration')}"


def _is_dull(each: Step, decided: bool, rounds: list[Step]) -> bool:
    """Whether to omit an iteration: another iteration decided, or it is not the first or last."""
    if decided:
        return not each.deciding
    return each is not rounds[0] and each is not rounds[-1]


def _mark(each: Step) -> str:
    return styled("> ", fg="red", bold=True) if each.deciding else "  "


def value_line(name: str, each: Step, depth: int, style: TreeStyle) -> str:
    """Return ``name = value`` on one line."""
    room = style.width - 2 * depth
    label = cut(name, max(30, room * 2 // 3))
    if each.state == "skipped":
        return styled(f"{label} = not evaluated", dim=True)
    if each.state == "cut":
        return f"{label} = stopped by a limit"
    value = shown(each.value, max(16, room - len(label) - 3))
    colour = _colour(each.value)
    return f"{label} = {styled(value, fg=colour) if colour else value}"


def _colour(value: object) -> str | None:
    if isinstance(value, bool):
        return "green" if value else "red"
    return "yellow" if isinstance(value, CelError) else None
