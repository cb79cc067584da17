"""Expressions that occur in several places of a set are checked once: policies are often copied."""

from collections import Counter
from collections.abc import Iterable

from policyd.cel.env import Environment
from policyd.cel.syntax.ast import Checked
from policyd.cel.types.types import Type
from policyd.json_types import JSONObject
from policyd.policy.model.expressions import ExpressionRole, expressions_of

# The result depends on the text, its role, whether there are params, and the declared variables.
_Key = tuple[str, ExpressionRole, bool, int]
NO_VARIABLES = 0


class RepeatedExpressions:
    """The checked expressions of one load. Only texts that occur twice are kept: the tree of an
    expression takes much more memory than its program.
    """

    def __init__(self, documents: Iterable[JSONObject] = ()) -> None:
        found = Counter(each.text for raw in documents for each in expressions_of(raw))
        self._repeated = frozenset(text for text, times in found.items() if times > 1)
        self._checked: dict[_Key, Checked] = {}
        self._declared: dict[tuple[int, str, Type], int] = {}

    def repeats(self, text: str) -> bool:
        """Whether an expression of this text occurs twice."""
        return text in self._repeated

    def declared(self, before: int, name: str, result: Type) -> int:
        """Return the number of a list of declared variables: one more, after those ``before``."""
        return self._declared.setdefault((before, name, result), len(self._declared) + 1)

    def check(
        self,
        text: str,
        role: ExpressionRole,
        environment: Environment,
        *,
        params: bool,
        variables: int,
    ) -> Checked:
        """Return the checked expression; raises CelCompileError as ``Environment.check`` does.

        ``variables``: the number of those that the environment declares (``declared``).
        """
        if text not in self._repeated:
            return environment.check(text, expect=role.results)
        key = text, role, params, variables
        found = self._checked.get(key)
        if found is None:
            found = self._checked[key] = environment.check(text, expect=role.results)
        return found
