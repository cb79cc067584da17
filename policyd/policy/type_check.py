"""Advice on expressions that do not fit the objects they are about, as status.typeChecking of the
API server gives it.

Only kinds that the rules name without wildcards are looked at, at most ten, and only validations
and their messages (with the variables that they use), and mutations (``mutation_check``), which the
API server does not look at. ``object_types`` and ``object_checker`` say
where the API server is not followed: what is right when a policy runs is not warned about.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from policyd.cel.ast import Checked
from policyd.cel.env import Environment
from policyd.cel.object_checker import check_objects
from policyd.cel.parser import parse
from policyd.cel.source import Issue, Source
from policyd.cel.structs import ADMISSION, VARIABLES, Structs
from policyd.cel.types import DYN, Type
from policyd.errors import CelSyntaxError, CelTypeError, Problem
from policyd.mutation.schema import Gvk, Schemas
from policyd.policy.definitions import definitions
from policyd.policy.documents import Document, Sources
from policyd.policy.model import MutatingAdmissionPolicy, Policy, ValidatingAdmissionPolicy
from policyd.policy.model_match import PATCH_FIELDS, NamedRuleWithOperations, Variable
from policyd.policy.mutation_check import mutation_issues
from policyd.policy.object_types import KindSchemas, ObjectTypes

RULE = "type-check"
_MAX_KINDS = 10
# What may tell the kinds of a policy apart, so that a field need not be in all of them.
_GUARD = re.compile(r"\bhas\(|\.\?|\[\?|\.kind\b|\.resource\b|\bvariables\.")

Checkable = ValidatingAdmissionPolicy | MutatingAdmissionPolicy | Policy


def type_check(sources: Sources) -> list[Problem]:
    """The advice for all policies, in file order. Expressions that do not compile are left out."""
    crds = [each.raw for each in definitions(sources).documents]
    schemas, merging = KindSchemas(crds), Schemas.builtin().with_crds(crds)
    found: list[Problem] = []
    for document in sources.documents:
        if isinstance(document.model, Checkable):
            found += _check(document, document.model, schemas, merging)
    return found


def _check(
    document: Document, policy: Checkable, schemas: KindSchemas, merging: Schemas
) -> Iterator[Problem]:
    rules = policy.spec.match_constraints.resource_rules
    untyped = _Types(policy, schemas, None)
    kinds = [_Types(policy, schemas, gvk) for gvk in kinds_of(rules, schemas)]
    for path, text, patch_type in _expressions(policy):
        if not text or untyped.issues(text):
            continue
        issues = {types.gvk: types.issues(text) for types in kinds if types.gvk is not None}
        for gvk in issues if patch_type else ():
            schema = merging.lookup(*gvk)
            if schema is not None:
                issues[gvk] += mutation_issues(parse(text), schema, patch_type)
        told = {gvk: found for gvk, found in _believable(text, issues).items() if found}
        if told:
            yield _problem(document, path, text, told)


def kinds_of(rules: Iterable[NamedRuleWithOperations], schemas: KindSchemas) -> list[Gvk]:
    """The kinds that rules name and that have schemas, sorted; as the API server chooses them."""
    found: set[Gvk] = set()
    for rule in rules:
        if "*" in "".join((*rule.api_groups, *rule.api_versions)):
            continue
        count = 0
        for group in sorted(rule.api_groups):
            for version in sorted(rule.api_versions):
                for resource in sorted(rule.resources):
                    gvk = schemas.of_resource(group, version, resource)
                    if gvk is not None and count < _MAX_KINDS:
                        found.add(Gvk(*gvk))
                        count += 1
        if count == _MAX_KINDS:
            break
    return sorted(gvk for gvk in found if schemas.find(gvk) is not None)


def _expressions(policy: Checkable) -> Iterator[tuple[str, str, str]]:
    """Path, text and, of mutations, patchType."""
    if not isinstance(policy, MutatingAdmissionPolicy):
        for index, validation in enumerate(policy.spec.validations):
            path = f"spec.validations[{index}]"
            yield f"{path}.expression", validation.expression, ""
            yield f"{path}.messageExpression", validation.message_expression, ""
    if not isinstance(policy, ValidatingAdmissionPolicy):
        for index, mutation in enumerate(policy.spec.mutations):
            path = f"spec.mutations[{index}].{PATCH_FIELDS[mutation.patch_type]}.expression"
            yield path, mutation.expression, mutation.patch_type


class _Types:
    """Checks the expressions of a policy for objects of one kind; None: of any."""

    def __init__(self, policy: Checkable, schemas: KindSchemas, gvk: Gvk | None) -> None:
        self.gvk = gvk
        patches = not isinstance(policy, ValidatingAdmissionPolicy)
        self._objects = ObjectTypes(schemas, Structs(ADMISSION, patches=patches))
        scope = Environment.admission(authorizer=True, patch_types=patches).scope()
        variables = {**scope.variables, **dict(_declared(policy, self._objects, gvk))}
        self._scope = replace(scope, variables=variables, provider=self._objects)
        self._declare(policy.spec.variables)

    def _declare(self, variables: Iterable[Variable]) -> None:
        """The types of ``variables.*``; dyn where the expression does not fit this kind."""
        fields: dict[str, Type] = {}
        for variable in variables:
            self._objects.structs = self._objects.structs.with_fields(VARIABLES.name, fields)
            checked, issues = self._checked(variable.expression)
            fields[variable.name] = DYN if checked is None or issues else checked.result_type
        self._objects.structs = self._objects.structs.with_fields(VARIABLES.name, fields)

    def issues(self, text: str) -> list[Issue]:
        """What is wrong with an expression."""
        return self._checked(text)[1]

    def _checked(self, text: str) -> tuple[Checked | None, list[Issue]]:
        try:
            return check_objects(text, parse(text), self._scope, self._objects)
        except CelSyntaxError as error:
            return None, [Issue(0, error.text)]


def _declared(
    policy: Checkable, objects: ObjectTypes, gvk: Gvk | None
) -> Iterator[tuple[str, Type]]:
    whole = (objects.of_kind(gvk) if gvk is not None else None) or DYN
    yield "object", whole
    yield "oldObject", whole
    kind = policy.spec.param_kind
    if kind is not None:
        group, _, version = kind.api_version.rpartition("/")
        typed = objects.of_kind(Gvk(group, version, kind.kind)) if gvk is not None else None
        yield "params", typed or DYN
    elif isinstance(policy, Policy) and policy.spec.params is not None:
        yield "params", DYN
    if policy.spec.variables:
        yield "variables", VARIABLES


def _believable(text: str, issues: Mapping[Gvk, list[Issue]]) -> Mapping[Gvk, list[Issue]]:
    """Where an expression may tell kinds apart, what is wrong for some kinds only is no mistake."""
    if len(issues) < 2 or not _GUARD.search(text):
        return issues
    everywhere = set.intersection(*({issue.pos for issue in found} for found in issues.values()))
    return {
        gvk: [issue for issue in found if issue.pos in everywhere] for gvk, found in issues.items()
    }


def _problem(
    document: Document, path: str, text: str, issues: Mapping[Gvk, list[Issue]]
) -> Problem:
    """``message`` and ``excerpt`` are, line for line, the warning of the API server."""
    source = Source(text)
    errors = {gvk: source.error(CelTypeError, found) for gvk, found in issues.items()}
    warning = "\n".join(f"{gvk}: {error.text}\n" for gvk, error in errors.items())
    message, _, excerpt = warning.rstrip("\n").partition("\n")
    first = next(iter(errors.values())).problems[0]
    line, column = document.place_in(path, first.line, first.column)
    return Problem(
        message=message,
        file=document.file,
        line=line,
        column=column,
        path=path,
        excerpt=excerpt,
        rule=RULE,
        severity="advice",
    )
