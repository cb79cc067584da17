"""The explanation of a rule: what it reports, why that matters, and an example of both ways."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from policyd.policy.lint.lint_rules import RULES, refused
from policyd.policy.source.loader import read_one

_EXAMPLES = Path(__file__).parent / "examples.yaml"


@dataclass(frozen=True, slots=True)
class RuleDetail:
    """Why a rule matters. ``wrong`` and ``right`` are YAML, empty if no document can show it: whole
    documents, or fields of the spec of a Policy.
    """

    why: str = ""
    wrong: str = ""
    right: str = ""


@functools.cache
def details() -> Mapping[str, RuleDetail]:
    """Return the details of the rules by name."""
    found = read_one(_EXAMPLES.read_bytes(), _EXAMPLES.name)
    return {name: RuleDetail(**fields) for name, fields in found.items()}


def explanation(name: str) -> str:
    """Return the text of ``policyd lint --explain RULE`` for a known rule."""
    rule, detail = RULES[name], details().get(name, RuleDetail())
    parts = [f"{name} ({rule.severity}): {rule.about}"]
    parts += [text for text in (detail.why, rule.remedy) if text]
    for title, example in (("Wrong", detail.wrong), ("Right", detail.right)):
        if example:
            indented = "".join(f"  {line}" for line in example.splitlines(keepends=True))
            parts.append(f"{title}:\n{indented.rstrip()}")
    if refused(name):
        parts.append("An error cannot be disabled.")
    else:
        parts.append(
            f"To disable it:\n"
            f"  policyd lint --disable {name} …                  # for one run\n"
            f"  # policyd-lint: disable={name} the reason        # in a file, above the field"
        )
    return "\n\n".join(parts)
