"""The part of an explanation that concerns a failed case, as lines: which policies denied or
changed the object, or why none did. Evaluates nothing.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from policyd.cli.explain.as_text import in_detail, policy_lines, rank, short_lines
from policyd.cli.shared.tree import TreeStyle
from policyd.offline.stories import PolicyStory, WebhookStory

_CHANGES = ("changes it", "would change it", "changes nothing")
_ABOUT_CHANGES = frozenset(("patched", "patch", "idempotent"))
_FEW = 5  # unmatched policies named; the others are counted
_IN_FULL = 2  # admitting policies shown with every expression


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
        yield from _lines(each, style)
    if stories[-1].response["allowed"] and "allowed" in keys:
        yield from _nobody([each for each in policies if each not in acted], style)
    elif not acted:
        yield from _others(policies, style)


def _lines(each: PolicyStory, style: TreeStyle) -> Iterator[str]:
    return policy_lines(each, style) if in_detail(each, style) else short_lines(each, style)


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
