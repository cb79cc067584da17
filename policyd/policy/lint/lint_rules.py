"""The rules of ``policyd lint``: a summary of each, and the function that finds it; and what
comments and ``--disable`` suppress.

``lint_rules.json`` is the table; the functions run in its order. The names are stable: comments in
policies, ``--disable`` and reports refer to them. The page docs/reference/lint-rules.md is
generated from this table by ``tools/make_lint_docs.py``.
"""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from policyd.errors import Problem, Severity
from policyd.policy.source.lint_comments import LintComment


class LintRule(NamedTuple):
    """The summary of a rule in one line, and what to write instead, or why it is reported.

    ``found_by`` names functions of modules of this package by what ``all`` calls them with: each
    of the ``policies`` or ``documents``, or all ``sources``. Rules without one are found when
    policies are read and compiled.
    """

    name: str
    severity: Severity
    about: str
    remedy: str
    found_by: Mapping[str, Sequence[str]] = {}


def _read() -> dict[str, LintRule]:
    rows = json.loads(Path(__file__).with_suffix(".json").read_bytes())
    return {
        row["name"]: LintRule(
            row["name"], row["severity"], row["about"], row["remedy"], row.get("foundBy", {})
        )
        for row in rows
    }


RULES: Mapping[str, LintRule] = _read()


def nearest(name: str, most: int = 1) -> str:
    """Return ``did you mean X?`` for an unknown rule name; ``most``: how many names it offers."""
    found = difflib.get_close_matches(name, RULES, n=most)
    return (
        f"did you mean {' or '.join(found)}?" if found else "policyd lint --rules lists the rules"
    )


def refused(name: str) -> str:
    """Return why a rule cannot be disabled; empty if it can."""
    rule = RULES.get(name)
    if rule is None:
        return f"there is no rule {name!r}"
    return "" if rule.severity == "advice" else f"{name} is an error: only advice can be disabled"


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
