"""What policyd answers to webhook configurations, in the form of recorded rows, and random ones to
ask both. No tests here.
"""

import random
from collections.abc import Iterator
from copy import deepcopy

from policyd.json_types import JSON, JSONObject
from policyd.versions import KubernetesVersion
from policyd.webhooks.validation import problems, with_defaults
from tests.builders.webhook_configurations import HOOK, KINDS, Case, configuration
from tests.builders.webhook_values import HOOKS

BAD_REQUEST, INVALID = 400, 422
# What becomes a part of strings.
SIGNS = "abzAZ019-_./:*#?%@[]<>\"'\\ \n\té{}|&=+,;~`$^!()\u2028\U0001f600\x7f"


def answered(case: Case, version: KubernetesVersion) -> JSONObject:
    """What policyd answers, in the form of a row."""
    sent = case.configuration
    found = problems(sent, version=version)
    row: JSONObject = {"name": case.name}
    if not found:
        return {**row, "status": 201, "webhooks": with_defaults(sent).get("webhooks")}
    if found[0].reason == "BadRequest":
        return {**row, "status": BAD_REQUEST, "message": str(found[0])}
    causes = [[each.field, each.reason, each.text] for each in found]
    return {**row, "status": INVALID, "causes": causes}


def random_cases(seed: int, count: int) -> Iterator[Case]:
    """Yield configurations with changed fields of several cases, most of them invalid."""
    chance = random.Random(seed)
    fields = [each for each in HOOKS.values() if isinstance(each, dict)]
    for number in range(count):
        hooks = []
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            hook = dict(HOOK)
            for _ in range(chance.choice([1, 1, 2, 3])):
                hook |= _changed(deepcopy(chance.choice(fields)), chance)
            hooks.append({name: value for name, value in hook.items() if value is not ...})
        yield Case(f"{seed}: {number}", configuration(chance.choice(KINDS), *hooks))


def _changed(value: JSON, chance: random.Random) -> JSON:
    if isinstance(value, dict):
        return {
            name: _changed(each, chance) if chance.random() < 0.3 else each
            for name, each in value.items()
        }
    if isinstance(value, list):
        changed = [_changed(each, chance) if chance.random() < 0.4 else each for each in value]
        return [*changed, chance.choice(changed)] if changed and chance.random() < 0.1 else changed
    if isinstance(value, str):
        at = chance.randint(0, len(value))
        return value[:at] + chance.choice(SIGNS) + value[at + chance.randint(0, 1) :]
    if isinstance(value, int) and not isinstance(value, bool):
        return value + chance.choice([-1, 1, 100_000])
    return value
