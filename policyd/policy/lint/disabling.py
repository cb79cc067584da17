"""Suppress problems by comments and ``--disable``, and report problems of the comments."""

from collections.abc import Iterable, Iterator, Sequence

from policyd.errors import Problem
from policyd.policy.lint.lint_rules import nearest, refused
from policyd.policy.source.lint_comments import LintComment


def faults(comments: Iterable[LintComment]) -> Iterator[Problem]:
    """Yield the problems of the comments: rules that are unknown or cannot be disabled."""
    for comment in comments:
        if not comment.rules:
            hint = "write # policyd-lint: disable=RULE and the reason"
            yield comment.fault("invalid policyd-lint comment", hint)
        for name in comment.rules:
            reason = refused(name)
            if reason:
                yield comment.fault(reason, nearest(name) if "no rule" in reason else "")


def suppress(
    problems: Sequence[Problem], comments: Sequence[LintComment], disabled: frozenset[str]
) -> tuple[list[Problem], list[LintComment]]:
    """Return the remaining problems, and the comments that disabled none."""
    kept = []
    used: set[LintComment] = set()
    for problem in problems:
        covering = [comment for comment in comments if comment.covers(problem)]
        used.update(covering)
        if not covering and not (problem.severity == "advice" and problem.rule in disabled):
            kept.append(problem)
    return kept, [each for each in comments if each not in used and each.rules]
