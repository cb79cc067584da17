"""Translations, compiled like the expressions of a policy, beside the core's patterns."""

from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from policyd._core.eval.program import Program
from policyd.cel.env import Environment
from policyd.cel.types.types import BOOL, STRING
from policyd.export.model import Reason
from policyd.export.patterns.translation import PatternTranslation, translate
from policyd.json_types import JSONObject
from policyd.pattern import Pattern, compile_any_pattern, compile_pattern
from policyd.versions import NEWEST, KubernetesVersion
from tests.export.patterns.generators import pattern

PER_CALL_LIMIT = 1_000_000


@cache
def environment(version: KubernetesVersion) -> Environment:
    """What a policy may use when it is written: what the version before has."""
    return Environment.admission(version=KubernetesVersion(version.major, version.minor - 1))


@dataclass(frozen=True)
class Translated:
    """A pattern, and the programs it becomes."""

    pattern: Pattern
    text: PatternTranslation
    expression: Program
    message: Program

    def denied(self, obj: Any) -> str | None:
        """What Kubernetes reports for an object; None if it is admitted."""
        admitted = self.expression.evaluate({"object": obj})
        message = self.message.evaluate({"object": obj})  # Kubernetes always evaluates it
        assert isinstance(admitted, bool)
        assert isinstance(message, str)
        return None if admitted else message

    def cost(self, obj: Any) -> tuple[int, int]:
        """The cost of the expression, and that of the message."""
        limit = 100 * PER_CALL_LIMIT
        programs = (self.expression, self.message)
        costs = [each.evaluate_with_cost({"object": obj}, cost_limit=limit)[1] for each in programs]
        return costs[0], costs[1]


def translated(
    item: JSONObject, *, version: KubernetesVersion = NEWEST, shown_root: str = ""
) -> Translated:
    """Translate and compile a validation that can be translated."""
    text = translate(item, "object", shown_root, secret=True, version=version)
    assert isinstance(text, PatternTranslation), text
    env = environment(version)
    several: Any = item.get("anyPattern")
    return Translated(
        compile_any_pattern(several) if several is not None else compile_pattern(item["pattern"]),
        text,
        env.compile(text.expression, expect=(BOOL,)),
        env.compile(text.message_expression, expect=(STRING,)),
    )


def reasons(item: JSONObject, *, version: KubernetesVersion = NEWEST) -> list[Reason]:
    """Why a validation cannot be translated."""
    found = translate(item, "object", "", secret=True, version=version)
    assert isinstance(found, list), found
    return found


def validation(random: Random) -> tuple[JSONObject, Any]:
    """A validation that can be translated, and a pattern of it."""
    while True:
        trees = [pattern(random) for _ in range(random.choice([0, 0, 0, 1, 2, 3]))]
        tree = random.choice(trees) if trees else pattern(random)
        item: JSONObject = {"anyPattern": trees} if trees else {"pattern": tree}
        text = translate(item, "object", "", secret=True, version=NEWEST)
        if isinstance(text, PatternTranslation):
            return item, tree
