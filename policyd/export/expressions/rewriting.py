"""Inline ``params`` of a Policy, which Kubernetes does not have: as a variable of the policy, and
as a literal where there are no variables. Rewrites source, evaluates nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from policyd.export.expressions.literals import dyn
from policyd.export.expressions.occurrences import Occurrence, replaced
from policyd.json_types import JSON, JSONObject
from policyd.policy.source.yaml_edit.edits import TextEdit
from policyd.versions import KubernetesVersion

_PARAMS = frozenset({"params"})


@dataclass(frozen=True, slots=True)
class InlineParams:
    """The inline ``params`` of a policy, and the variable that holds them in the export.

    >>> from policyd.versions import NEWEST
    >>> params = InlineParams({"least": 2}, "params", NEWEST)
    >>> params.definition
    {'name': 'params', 'expression': "dyn({'least': 2})"}
    >>> params.with_variable("object.spec.replicas >= params.least")
    'object.spec.replicas >= variables.params.least'
    >>> params.without_variables("object.spec.replicas >= params.least")
    'object.spec.replicas >= dyn(2)'
    """

    params: JSONObject
    variable: str
    version: KubernetesVersion

    @property
    def definition(self) -> JSONObject:
        """The variable; it belongs before all others of the policy."""
        return {"name": self.variable, "expression": dyn(self.params)}

    def with_variable(self, text: str) -> str:
        """Return an expression with ``variables.NAME`` in place of ``params``.

        Raises Untranslatable, as ``without_variables`` does.
        """
        return replaced(text, _PARAMS, lambda use: self._as_variable(text, use), self.version)

    def without_variables(self, text: str) -> str:
        """Return an expression with the values themselves: for matchConditions."""
        return replaced(text, _PARAMS, lambda use: self._as_literal(text, use), self.version)

    def _as_variable(self, text: str, use: Occurrence) -> Iterator[TextEdit]:
        if "variables" in use.shadowed:  # a macro's variable of that name
            yield from self._as_literal(text, use)
        else:
            yield TextEdit(use.start, use.end, f"variables.{self.variable}")

    def _as_literal(self, text: str, use: Occurrence) -> Iterator[TextEdit]:
        """Replace ``params`` and the fields after it by the value of the last one that is known."""
        value: JSON = self.params
        end = use.end
        for access in use.accesses:
            follows = access.span is not None and not text[end : access.span[0]].strip()
            if not follows or not isinstance(value, dict) or access.key not in value:
                break
            assert access.span is not None
            value, end = value[access.key], access.span[1]
        yield TextEdit(use.start, end, dyn(value))


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """Return the name, or the name with the first number that makes it free.

    >>> free_name("params", ["params"])
    'params2'
    """
    names = frozenset(taken)
    if wanted not in names:
        return wanted
    number = 2
    while f"{wanted}{number}" in names:
        number += 1
    return f"{wanted}{number}"
