"""Differences between expected and found values: short ones in columns, long ones below each other,
objects and patches as a unified diff of their YAML. Compares nothing itself.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from policyd.cli.shared.output import colored_diff, diff_lines, styled
from policyd.policy.source.json_text.encoding import json_bytes
from policyd.policy.source.yaml_output import dump
from policyd.policy.suite.expectations import ERROR, Mismatch

_HEADS = ("", "expected", "found")


def compared(mismatches: Iterable[Mismatch], width: int) -> Iterator[str]:
    """Yield the lines for all keys of a case that differ."""
    short: list[tuple[str, str, str]] = []
    long: list[Mismatch] = []
    errors: list[Mismatch] = []
    for each in mismatches:
        row = (each.key, _text(each.expected), _text(each.found))
        if each.key == ERROR:
            errors.append(each)
        elif _is_tree(each) or sum(map(len, row)) + 4 > width:
            long.append(each)
        else:
            short.append(row)
    if short:
        yield from _table(short)
    for each in long:
        yield from _diff(each) if _is_tree(each) else _stacked(each)
    for each in errors:
        yield from _erred(each)


def _erred(each: Mismatch) -> Iterator[str]:
    """Explain an error that the case does not expect, or the reverse, with the remedy."""
    if not each.found:
        yield "error: no policy erred: remove error: true"
        return
    yield "error: the policy erred, and the case does not expect it"
    yield from (f"  {styled(text, fg='red')}" for text in each.found)
    yield from _remedy(" ".join(map(str, each.found)))


def _remedy(text: str) -> Iterator[str]:
    """Say what to change in the policy or the suite for the text of an error."""
    if "authorizer: there is no cluster" in text:
        yield "  Add rules to the suite under authorizer:, as in"
        yield "  authorizer: [{user: ann, verb: create, resource: pods}]"
    elif "no params found" in text:
        yield "  Add the object to the suite under params:, or correct name and namespace of the"
        yield "  paramRef: without namespace it is that of the request."
    else:
        guard = "Guard the field with has() or .? in the policy"
        yield f"  {guard}, or write error: true in the case if"
        yield "  the error is intended."


def _is_tree(each: Mismatch) -> bool:
    """Whether both sides are objects or lists of objects."""
    return _nested(each.expected) and _nested(each.found)


def _nested(value: Any) -> bool:
    if isinstance(value, list):
        return not value or isinstance(value[0], dict)
    return isinstance(value, dict)


def _table(rows: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in (_HEADS, *rows)) for i in range(2)]
    for key, expected, found in (_HEADS, *rows):
        cells = (f"{expected:<{widths[1]}}", found)
        if key:
            cells = (styled(cells[0], fg="green"), styled(cells[1], fg="red"))
        yield f"{key:<{widths[0]}}  {cells[0]}  {cells[1]}"


def _stacked(each: Mismatch) -> Iterator[str]:
    yield each.key
    yield f"  expected: {styled(_text(each.expected), fg='green')}"
    yield f"  found:    {styled(_text(each.found), fg='red')}"


def _diff(each: Mismatch) -> Iterator[str]:
    """Yield the differing lines with some context; keys are in the order of the expected value."""
    yield f"{each.key}: - expected, + found"
    found = _in_order_of(each.expected, each.found)
    lines = list(diff_lines(dump(each.expected).splitlines(), dump(found).splitlines()))[2:]
    yield from (f"  {line}" for line in colored_diff(lines, removed="green", added="red"))


def _in_order_of(model: Any, value: Any) -> Any:
    """Copy a value with its keys in the order of the model; new keys come last."""
    if isinstance(model, dict) and isinstance(value, dict):
        keys = [key for key in model if key in value]
        keys += [key for key in value if key not in model]
        return {key: _in_order_of(model.get(key), value[key]) for key in keys}
    if isinstance(model, list) and isinstance(value, list):
        models = [*model, *[None] * (len(value) - len(model))]
        return [_in_order_of(one, each) for one, each in zip(models, value, strict=False)]
    return value


def _text(value: Any) -> str:
    return json_bytes(value).decode()
