"""The only list of all CEL expressions of a policy: place, role and visible variables of each.

It reads the plain document, not its model, so that the expressions of a policy whose form is wrong
elsewhere are also checked. It is in this package because the models own the fields; the compiler
and lint, which use it, are in higher packages.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from policyd.cel.types.types import BOOL, DYN, NULL, STRING, Type, list_of
from policyd.errors import Fix
from policyd.json_types import FieldPath, object_in
from policyd.mutation import KINDS, MutationKind
from policyd.mutation.overlays.tree import expressions_in, too_deep
from policyd.policy.model.findings import FormProblem, path_text
from policyd.policy.model.names import is_cel_identifier


@dataclass(frozen=True, slots=True)
class ExpressionRole:
    """The role of an expression. It evaluates to one of ``results``; to any type if that is empty.

    ``variables``: it may use the policy's variables (a variable only earlier ones); ``authorizer``:
    it may use the authorizer; ``patches``: it may use ``Object{}`` and ``JSONPatch{}``.
    ``item``: it sees an object of a read as ``item``, and nothing else.
    """

    name: str
    results: tuple[Type, ...] = ()
    variables: bool = True
    authorizer: bool = True
    patches: bool = False
    item: bool = False


# One key of an object, or several.
KEY = ExpressionRole(
    "key of a read",
    (STRING, list_of(STRING), list_of(DYN), DYN),
    variables=False,
    authorizer=False,
    item=True,
)
# Result types and what is visible: k8s.io/apiserver admission/plugin/policy/*/compilation.go.
CONDITION = ExpressionRole("matchCondition", (BOOL,), variables=False)
VARIABLE = ExpressionRole("variable")
VALIDATION = ExpressionRole("validation", (BOOL,))
MESSAGE = ExpressionRole("messageExpression", (STRING,), authorizer=False)
ANNOTATION = ExpressionRole("auditAnnotation", (STRING, NULL))
TEMPLATE = ExpressionRole("overlay template")
MUTATIONS: Mapping[str, ExpressionRole] = {
    name: ExpressionRole(name, kind.results, patches=True)
    for name, kind in KINDS.items()
    if kind.mutator is not None
}

# The lists of a spec, and the fields of their items that hold CEL; what is seen comes first.
_FIELDS: Mapping[str, tuple[tuple[str, ExpressionRole], ...]] = {
    "reads": (("key", KEY),),
    "matchConditions": (("expression", CONDITION),),
    "variables": (("expression", VARIABLE),),
    "validations": (("expression", VALIDATION), ("messageExpression", MESSAGE)),
    "auditAnnotations": (("valueExpression", ANNOTATION),),
}


@dataclass(frozen=True, slots=True)
class PolicyExpression:
    """One expression. ``path`` is the path of its string; ``start`` is its offset there, for
    strings of overlays, which may have several. ``name`` is the name of the variable, condition …,
    if any.
    """

    role: ExpressionRole
    text: str
    path: FieldPath
    name: str = ""
    start: int = 0

    @property
    def at(self) -> str:
        """Return the path as messages show it."""
        return path_text(self.path)

    def finding(
        self, pos: int, rule: str, message: str, hint: str = "", fix: Fix | None = None
    ) -> FormProblem:
        """Return a problem of the part of the expression at an offset."""
        at = self.start + pos
        return FormProblem(self.path, message, hint, rule=rule, fix=fix, pos=at)


@dataclass(frozen=True, slots=True)
class HeldMutation:
    """One of ``mutations``: its index, its kind, and the value of the field at ``path``."""

    index: int
    kind: MutationKind
    path: FieldPath
    held: dict[str, Any]


def expressions_of(policy: Mapping[str, Any]) -> Iterator[PolicyExpression]:
    """Yield the non-blank expressions of a plain document, variables before their uses."""
    for field, keys in _FIELDS.items():
        for index, item in _items(policy, field):
            for key, role in keys:
                text, name = item.get(key), item.get("name")
                if not _is_given(text):
                    continue
                path = ("spec", field, index, key)
                yield PolicyExpression(role, text, path, name if isinstance(name, str) else "")
    for mutation in mutations_of(policy):
        role = MUTATIONS.get(mutation.kind.patch_type, TEMPLATE)
        if role is TEMPLATE:
            for at, string, start, end in expressions_in(mutation.held, mutation.path):
                yield PolicyExpression(role, string[start:end], at, start=start)
        elif _is_given(mutation.held.get("expression")):
            text = mutation.held["expression"]
            yield PolicyExpression(role, text, (*mutation.path, "expression"))


def mutations_of(policy: Mapping[str, Any]) -> Iterator[HeldMutation]:
    """Yield the mutations of a plain document; one with the fields of two kinds counts twice."""
    for index, item in _items(policy, "mutations"):
        for kind in KINDS.values():
            held = item.get(kind.field)
            if isinstance(held, dict) and not too_deep(held):
                yield HeldMutation(index, kind, ("spec", "mutations", index, kind.field), held)


def names_in(policy: Mapping[str, Any], field: str) -> list[str] | None:
    """Return the names of the items of a list of the spec; None if one of them cannot be read, so
    that it may be any.
    """
    listed = object_in(policy, "spec").get(field) or []
    names = [object_in(each).get("name") for each in listed] if isinstance(listed, list) else [""]
    found = [name for name in names if isinstance(name, str) and is_cel_identifier(name)]
    return found if len(found) == len(names) else None


def _is_given(text: object) -> TypeGuard[str]:
    return isinstance(text, str) and bool(text.strip())


def _items(policy: Mapping[str, Any], field: str) -> Iterator[tuple[int, dict[str, Any]]]:
    listed = object_in(policy, "spec").get(field)
    for index, item in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(item, dict):
            yield index, item
