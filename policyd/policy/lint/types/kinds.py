"""The types of a policy's expressions for objects of one kind. Gives no advice."""

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from policyd.cel.check.objects import check_objects
from policyd.cel.env import Environment
from policyd.cel.hints.tree import Tree
from policyd.cel.syntax.ast import Checked, Expr, Ident, Select
from policyd.cel.syntax.parser import parse
from policyd.cel.syntax.recursion import nodes
from policyd.cel.syntax.source import Issue
from policyd.cel.types.structs import ADMISSION, VARIABLES, Structs
from policyd.cel.types.types import DYN, Kind, Type
from policyd.errors import CelSyntaxError
from policyd.json_types import JSONObject
from policyd.mutation.schemas.schemas import ANY_KIND, Gvk
from policyd.policy.compile.reads.compiled_reads import read_type
from policyd.policy.kinds.controllers import CONTROLLERS, controller_rules
from policyd.policy.kinds.object_types import KindSchemas, ObjectTypes
from policyd.policy.kinds.plural import plural
from policyd.policy.kinds.subresources import Subresource, subresources_matched
from policyd.policy.model.expressions import PolicyExpression
from policyd.policy.model.kinds import (
    AnyPolicy,
    Policy,
    ValidatingAdmissionPolicy,
)
from policyd.policy.model.match import NamedRuleWithOperations, covers
from policyd.versions import NEWEST, KubernetesVersion

_MAX_KINDS = 10
_VARIABLES = "variables"
# Syntax that may distinguish the kinds of a policy, so that not all of them need a field.
_GUARD = re.compile(r"\bhas\(|\.\?|\[\?|\.kind\b|\.resource\b|\bvariables\.")
_parsed = functools.lru_cache(maxsize=64)(parse)  # each expression is checked for several kinds


def kinds_of(policy: AnyPolicy, schemas: KindSchemas) -> list[Gvk]:
    """Return the kinds with schemas of the objects that a policy sees, sorted: of the resources
    that its rules name, chosen as the API server does, and of subresources.
    """
    rules = policy.spec.match_constraints.resource_rules
    found = {gvk for rule in rules for gvk, _ in subresource_kinds(rule, schemas)}
    named = resource_kinds(rules, schemas)
    if isinstance(policy, Policy) and policy.spec.pod_controllers:
        named = {gvk for gvk in named if not _is_seen_as_pod(gvk, rules)}
    return sorted(found | named)


def _is_seen_as_pod(gvk: Gvk, rules: Sequence[NamedRuleWithOperations]) -> bool:
    """Whether ``podControllers`` gives a policy the Pod of a template in place of each controller
    that its rules name.
    """
    resource = plural(gvk.kind)
    if CONTROLLERS.get(resource) != gvk.group:
        return False
    derived = controller_rules(rule.plain() for rule in rules)
    as_pods = {operation for rule in derived for operation in rule["operations"]}
    return all(
        as_pods.issuperset(rule.operations)
        for rule in rules
        if gvk.group in rule.api_groups and resource in rule.resources
    )


def resource_kinds(rules: Sequence[NamedRuleWithOperations], schemas: KindSchemas) -> set[Gvk]:
    """Return the kinds with schemas of the resources that match rules name.

    The API server takes the core group for any group: kinds of other groups count among its ten,
    although a rule for the core group never matches them.
    """
    found: set[Gvk] = set()
    for rule in rules:
        if "*" in "".join((*rule.api_groups, *rule.api_versions)):
            continue
        count = 0
        for group in sorted(rule.api_groups):
            for version in sorted(rule.api_versions):
                for resource in sorted(rule.resources):
                    for gvk in schemas.named(group, version, resource):
                        if count < _MAX_KINDS:
                            found.add(gvk)
                            count += 1
        if count == _MAX_KINDS:
            break
    matched = {group for rule in rules for group in rule.api_groups}
    return {gvk for gvk in found if gvk.group in matched and schemas.find(gvk) is not None}


def subresource_kinds(
    rule: NamedRuleWithOperations, schemas: KindSchemas
) -> Iterator[tuple[Gvk, str]]:
    """Yield the kinds with schemas of the subresources that a match rule names, at most ten, each
    with the operation of its requests.
    """
    found = (
        (gvk, each.operation)
        for resource in rule.resources
        for each in subresources_matched(resource, rule.operations)
        if each is not None
        for gvk in kinds_of_subresource(each, resource, rule, schemas)
    )
    yield from islice(((gvk, op) for gvk, op in found if schemas.find(gvk) is not None), _MAX_KINDS)


def kinds_of_subresource(
    subresource: Subresource, resource: str, rule: NamedRuleWithOperations, schemas: KindSchemas
) -> Iterator[Gvk]:
    """Yield the known kinds of the objects of a subresource in the groups of a match rule."""
    api_version, kind = subresource.kind
    if kind:
        if not subresource.resource or covers(rule.api_groups, ""):
            yield Gvk.of(api_version, kind)
        return
    name = resource.partition("/")[0]
    kinds = (
        schemas.of_resource(group, version, name)
        for group in rule.api_groups
        for version in rule.api_versions
    )
    yield from filter(None, kinds)


def tells_kinds_apart(text: str) -> bool:
    """Whether an expression may be meant for only some of the kinds of its policy."""
    return _GUARD.search(text) is not None


class KindTypes:
    """Checks the expressions of a policy for objects of one kind; ANY_KIND: only metadata is
    known; None: of any. ``item``: checks keys of reads, for which such an object is ``item``.
    """

    def __init__(
        self,
        policy: AnyPolicy,
        declared: Sequence[PolicyExpression],
        schemas: KindSchemas,
        gvk: Gvk | None,
        version: KubernetesVersion = NEWEST,
        *,
        item: bool = False,
    ) -> None:
        self.gvk = gvk
        self.reads = dict(_kinds_of_reads(policy))
        patches = not isinstance(policy, ValidatingAdmissionPolicy)
        self.objects = ObjectTypes(schemas, Structs(ADMISSION, patches=patches))
        scope = Environment.admission(authorizer=True, patch_types=patches, version=version).scope()
        variables = {**scope.variables, **dict(_declared(policy, self.objects, gvk))}
        if item:
            variables = {"item": variables["object"]}
        self._scope = replace(scope, variables=variables, provider=self.objects)
        self.variables: dict[str, Checked] = {}
        self._known: dict[str, tuple[Checked | None, list[Issue]]] = {}
        self._declare(declared)
        self._known.clear()

    def _declare(self, variables: Iterable[PolicyExpression]) -> None:
        """Declare the types of ``variables.*``; dyn if the expression has errors for this kind."""
        fields: dict[str, Type] = {}
        for variable in variables:
            self.objects.declare(VARIABLES.name, fields)
            checked, issues = self._checked(variable.text)
            fields[variable.name] = DYN if checked is None or issues else checked.result_type
            # A variable that uses itself or a later one does not compile; following it never ends.
            if checked is not None and _variables_in(checked.expr) <= self.variables.keys():
                self.variables[variable.name] = checked
        self.objects.declare(VARIABLES.name, fields)

    def tree(self, text: str) -> Tree | None:
        """Return the checked expression for hints; None for a syntax error."""
        checked = self.checked(text)
        return None if checked is None else Tree.of(checked, self._scope)

    def issues(self, text: str) -> list[Issue]:
        """Return the type errors of an expression."""
        return self._checked(text)[1]

    def lacks(self, place: tuple[str, ...]) -> bool:
        """Whether the schema of the kind has no field at a place such as (``object``, ``spec``)."""
        here = self._scope.variables.get(place[0], DYN)
        for name in place[1:]:
            if not self.objects.is_object(here):
                return False
            field = self.objects.field(here, name)
            if field is None:
                return True
            here = field
        return False

    def may_lack(self, place: tuple[str, ...]) -> bool:
        """Whether an object may be without the value at a place, which may have indexes."""
        above = self.type_at(place[:-1])
        if above.kind is Kind.MAP:
            return True
        return self.objects.is_object(above) and self.objects.may_lack(above, place[-1])

    def may_be_null(self, place: tuple[str, ...]) -> bool:
        """Whether the value at a place in an object, not in params, may be null."""
        inside = len(place) > 1 and place[0] != "params"
        return inside and self.objects.may_be_null(self.type_at(place[:-1]), place[-1])

    def type_at(self, place: tuple[str, ...]) -> Type:
        """Return the type of the value at a place, which may have indexes; dyn if unknown."""
        here = self._scope.variables.get(place[0], DYN)
        for name in place[1:]:
            if here.kind in (Kind.LIST, Kind.MAP):
                here = here.params[-1]
            elif self.objects.is_object(here):
                here = self.objects.field(here, name) or DYN
            else:
                return DYN
        return here

    def checked(self, text: str) -> Checked | None:
        """Return the expression with its types, even with type errors; None for a syntax error."""
        return self._checked(text)[0]

    def _checked(self, text: str) -> tuple[Checked | None, list[Issue]]:
        found = self._known.get(text)
        if found is None:
            try:
                found = check_objects(
                    text, _parsed(text, self._scope.version), self._scope, self.objects
                )
            except CelSyntaxError as error:
                found = None, [Issue(0, error.text)]
            self._known[text] = found
        return found


def _variables_in(expr: Expr) -> set[str]:
    """Return the names in ``variables.NAME``."""
    return {
        node.field
        for node in nodes(expr)
        if isinstance(node, Select)
        and isinstance(node.operand, Ident)
        and node.operand.name == _VARIABLES
    }


def _declared(
    policy: AnyPolicy, objects: ObjectTypes, gvk: Gvk | None
) -> Iterator[tuple[str, Type]]:
    whole = (objects.of_kind(gvk) if gvk is not None else None) or DYN
    yield "object", whole
    yield "oldObject", whole
    kind = policy.spec.param_kind
    if kind is not None:
        named = Gvk.of(kind.api_version, kind.kind)
        typed = objects.of_kind(named) if gvk is not None else None
        yield "params", typed or DYN
    elif isinstance(policy, Policy) and policy.spec.params is not None:
        # Its name is no path of an expression, which would be the name of the type.
        known = objects.of_schema("Params", _schema_of(policy.spec.params))
        yield "params", known if gvk is not None else DYN
    reads = policy.spec.reads if isinstance(policy, Policy) else ()
    for read, (name, of) in zip(reads, _kinds_of_reads(policy), strict=True):
        item = objects.of_kind(of) or objects.of_kind(ANY_KIND)
        yield name, read_type(read, item if gvk and item else DYN)
    if policy.spec.variables:
        yield "variables", VARIABLES


def _kinds_of_reads(policy: AnyPolicy) -> Iterator[tuple[str, Gvk]]:
    for read in policy.spec.reads if isinstance(policy, Policy) else ():
        yield f"reads.{read.name}", Gvk.of(read.api_version, read.kind)


def by_kinds(messages: Iterable[tuple[Gvk, str]]) -> str:
    """Return the messages about kinds in a line, equal ones once, after all their kinds."""
    kinds: dict[str, list[str]] = {}
    for gvk, message in messages:
        kinds.setdefault(message, []).append(gvk.label)
    return "; ".join(f"{', '.join(of)}: {message}" for message, of in kinds.items())


def _schema_of(value: Any) -> JSONObject:
    """Return the schema of a constant; empty for null, for floats, which are also compared with
    integers, and for what else may be of any type. Fields that are missing are reported elsewhere.
    """
    match value:
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer"}
        case str():
            return {"type": "string"}
        case list():
            items = [_schema_of(each) for each in value]
            same = bool(items) and all(each == items[0] for each in items)
            return {"type": "array", "items": items[0] if same else {}}
        case dict():
            return {
                "type": "object",
                "properties": {str(key): _schema_of(each) for key, each in value.items()},
                "required": [*map(str, value)],
                "x-kubernetes-preserve-unknown-fields": True,
            }
    return {}
