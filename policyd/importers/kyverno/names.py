"""Names of Policies, from those of a policy of Kyverno and its rules."""

import re
from collections.abc import Sequence

_LONGEST = 253  # characters: the limit of names in Kubernetes
_FOREIGN = re.compile(r"[^a-z0-9.-]+")


def policy_names(policy: str, rules: Sequence[str], *, ordered: bool) -> list[str]:
    """Return a name for each rule: the policy's if it has one rule.

    ``ordered``: they sort as the rules stand.

    >>> policy_names("labels", ["check-team", "check-owner"], ordered=False)
    ['labels-check-team', 'labels-check-owner']
    >>> policy_names("labels", ["check-team", "check-owner"], ordered=True)
    ['labels-1-check-team', 'labels-2-check-owner']
    """
    if len(rules) == 1:
        return [policy]
    names = [f"{policy}-{_name(rule)}" for rule in rules]
    if ordered and names != sorted(names):
        width = len(str(len(rules)))
        names = [f"{policy}-{i:0{width}}-{_name(rule)}" for i, rule in enumerate(rules, 1)]
    if len(set(names)) < len(names) or max(map(len, names)) > _LONGEST:
        names = [f"{policy}-{number}" for number in range(1, len(rules) + 1)]
    return names


def _name(rule: str) -> str:
    return _FOREIGN.sub("-", rule.lower()).strip("-.")
