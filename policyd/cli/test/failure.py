"""Why a case failed, as lines: the differences between expected and found values, and the part of
an explanation that concerns it. Evaluates nothing.

Short values are in columns, long ones below each other, objects and patches as a unified diff of
their YAML.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from typing import Any

from policyd.cli.explain.as_text import in_detail, policy_lines, rank, short_lines
from policyd.cli.shared.output import colored_diff, diff_lines, styled
from policyd.cli.shared.tree import TreeStyle
from policyd.offline.stories import PolicyStory, WebhookStory
from policyd.policy.source.json_text.encoding import json_bytes
from policyd.policy.source.yaml_output import dump
from policyd.policy.suite.expectations import ERROR, Mismatch

_CHANGES = ("changes it", "would change it", "changes nothing")
_ABOUT_CHANGES = frozenset(("patched", "patch", "idempotent"))
_FEW = 5  # unmatched policies named; the others are counted
_IN_FULL = 2  # admitting policies shown with every expression
# What holds texts, and the signs of a regular expression in one.
_TEXTS = ("message", "warnings", "causes")
_PATTERN = (".*", ".+", "|", "^", "\\d")
_HEADS = ("", "expected", "found")


def deciding(stories: Sequence[WebhookStory], keys: Set[str], style: TreeStyle) -> Iterator[str]:
    """Yield the lines for a case that differs from what is expected in these keys."""
    policies = sorted((each for story in stories for each in story.policies), key=rank)
    changes = bool(keys & _ABOUT_CHANGES)
    acted = [
        each
        for each in policies
        if each.matched and (changes or each.outcome not in _CHANGES) and each.outcome != "admits"
    ]
    for each in acted:
        shown = policy_lines if in_detail(each, style) else short_lines
        yield from shown(each, style)
    if stories[-1].response["allowed"] and "allowed" in keys:
        yield from _nobody([each for each in policies if each not in acted], style)
    elif not acted:
        yield from _others(policies, style)


def _nobody(policies: Sequence[PolicyStory], style: TreeStyle) -> Iterator[str]:
    """Explain why no policy denied: in detail if few policies admit."""
    admitting = [each for each in policies if each.outcome == "admits"]
    if len(admitting) > _IN_FULL:
        yield from _others(policies, style)
        return
    for each in admitting:
        yield from policy_lines(each, replace(style, everything=True))
    if not admitting:
        yield from _others(policies, style)


def _others(policies: Sequence[PolicyStory], style: TreeStyle) -> Iterator[str]:
    """Yield one line for each policy that matched, and for the first of the others."""
    lines = dict.fromkeys(
        (each.matched, line)
        for each in sorted(policies, key=lambda each: not each.matched)
        for line in short_lines(each, style)
    )
    yield from (line for matched, line in lines if matched)
    others = [line for matched, line in lines if not matched]
    yield from others[:_FEW]
    if len(others) > _FEW:
        yield f"- and {len(others) - _FEW} more"


def compared(mismatches: Iterable[Mismatch], width: int, *, deletes: bool = False) -> Iterator[str]:
    """Yield the lines for all keys of a case that differ; ``deletes``: there is no object."""
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
        if _is_tree(each):
            yield from _diff(each)
            continue
        yield each.key
        yield f"  expected: {styled(_text(each.expected), fg='green')}"
        yield f"  found:    {styled(_text(each.found), fg='red')}"
    yield from dict.fromkeys(filter(None, map(_reading, mismatches)))
    for each in errors:
        yield from _erred(each, deletes)


def _reading(each: Mismatch) -> str:
    """Say how an expected value is read that was probably meant otherwise; empty if none was."""
    if each.key in _TEXTS and any(sign in text for text in each.expected for sign in _PATTERN):
        return f"  {each.key}: each string is a part of a text, not a pattern"
    if each.key == "patched" and _is_part(each.expected, each.found):
        return "  patched is the whole object: policyd test --update writes it; or expect patch"
    return ""


def _is_part(part: Any, whole: Any) -> bool:
    """Whether all fields of an object are in another object."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and _is_part(part[key], whole[key]) for key in part)
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(_is_part, part, whole))
    return bool(part == whole)


def _erred(each: Mismatch, deletes: bool) -> Iterator[str]:
    """Explain an error that the case does not expect, or the reverse, with the remedy."""
    if not each.found:
        yield "error: no policy erred: remove error: true"
        return
    yield "error: the policy erred, and the case does not expect it"
    yield from (f"  {styled(text, fg='red')}" for text in each.found)
    yield from _remedy(" ".join(map(str, each.found)), deletes)


def _remedy(text: str, deletes: bool) -> Iterator[str]:
    """Say what to change in the policy or the suite for the text of an error."""
    if "authorizer: there is no cluster" in text:
        yield "  Add rules to the suite under authorizer:, as in"
        yield "  authorizer: [{user: ann, verb: create, resource: pods}]"
    elif "no params found" in text:
        yield "  Add the object to the suite under params:, or correct name and namespace of the"
        yield "  paramRef: without namespace it is that of the request."
    else:
        guard = "Guard the field with has(), .? or [?KEY] in the policy"
        if deletes and "object" in text.replace("oldObject", ""):
            guard = "On DELETE object is null: read oldObject in the policy"
        yield f"  {guard}, or write error: true in the"
        yield "  case if the error is intended."


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
