"""The rules of ``policyd lint``: a summary of each, and the function that finds it.

``lint_rules.json`` is the table; the functions run in its order. The names are stable: comments in
policies, ``--disable`` and reports refer to them. The page docs/reference/lint-rules.md is
generated from this table by ``tools/make_lint_docs.py``.
"""

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from policyd.errors import Severity


class LintRule(NamedTuple):
    """The summary of a rule in one line, and what to write instead, or why it is reported.

    ``found_by`` are functions of modules of this package: each takes a ``LintRun`` and returns
    problems. Rules without one are found when policies are read and compiled.
    """

    name: str
    severity: Severity
    about: str
    remedy: str
    found_by: tuple[str, ...] = ()


def _read() -> dict[str, LintRule]:
    rows = json.loads(Path(__file__).with_suffix(".json").read_bytes())
    return {
        row["name"]: LintRule(
            row["name"], row["severity"], row["about"], row["remedy"], tuple(row.get("foundBy", ()))
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
