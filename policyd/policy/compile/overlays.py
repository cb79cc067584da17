"""Compile the overlays of a policy and bind them to the kinds that its match rules name, so that
their problems are reported when the policy loads. Evaluates nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from policyd._core.eval.program import Program
from policyd.cel.syntax.source import Source
from policyd.errors import Problem
from policyd.json_types import FieldPath
from policyd.mutation import overlay
from policyd.mutation.overlay import Overlay
from policyd.mutation.schemas.schemas import Gvk, KindSchema, Schemas
from policyd.pattern import Pattern, PatternError, compile_pattern
from policyd.pattern.faults import Fault
from policyd.policy.compile.expressions import Expressions
from policyd.policy.kinds.controllers import CONTROLLERS
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import Policy
from policyd.policy.source.loaded_documents import Document, string_at
from policyd.versions import NEWEST, KubernetesVersion

if TYPE_CHECKING:
    from policyd.policy.kinds.object_types import KindSchemas

MISSING_SCHEMA = "missing-schema"


class KnownKinds:
    """The schemas of all kinds, and the kind of each resource; read on first use."""

    def __init__(
        self, definitions: Iterable[Document], version: KubernetesVersion = NEWEST
    ) -> None:
        self.definitions = list(definitions)
        self._crds = [document.raw for document in self.definitions]
        self.schemas = Schemas.builtin(version).with_crds(self._crds)

    def of_resource(self, group: str, version: str, resource: str) -> KindSchema | None:
        """Return the schema of a resource's objects, if they can be merged."""
        gvk = self._kinds.of_resource(group, version, resource)
        schema = self.schemas.lookup(*gvk) if gvk is not None else None
        return schema if schema is not None and schema.mergeable else None

    def versions(self, group: str, resource: str) -> list[str]:
        """Return the versions in which a resource is served."""
        return self._kinds.versions(group, resource)

    @cached_property
    def _kinds(self) -> "KindSchemas":
        # Imported here because few policies have overlays.
        from policyd.policy.kinds.object_types import KindSchemas

        return KindSchemas(self._crds, self.schemas.version)


def needed(document: Document, kinds: KnownKinds) -> list[Document]:
    """Return the other documents that a policy depends on: overlays are bound to schemas."""
    policy = document.model
    if isinstance(policy, Policy) and any(not each.kind.mutator for each in policy.spec.mutations):
        return kinds.definitions
    return []


class OverlayCompiler:
    """Compiles the overlays of one document; their problems go to ``expressions.problems``."""

    def __init__(self, document: Document, expressions: Expressions) -> None:
        self._document = document
        self._expressions = expressions
        self._reported = set(expressions.problems)

    def compile(self, value: dict[str, Any], path: FieldPath) -> Overlay:
        found, faults = overlay.read(value, path, self)
        self.report(faults)
        return found

    def report(self, faults: Iterable[Fault]) -> None:
        """Report faults as problems, each only once."""
        for fault in faults:
            finding = FormProblem(fault.path, fault.message, fault.hint, fault.at_key, fault.rule)
            problem = self._document.problem(finding)
            if fault.offset:
                problem = self._inside(problem, fault)
            if problem not in self._reported:
                self._reported.add(problem)
                self._expressions.problems.append(problem)

    def _inside(self, problem: Problem, fault: Fault) -> Problem:
        """Return the problem with its place at the fault's offset in the string."""
        text = string_at(self._document.raw, fault.path)
        return self._document.placed(Source(text).at(fault.offset, problem), problem.path)

    def expression(self, text: str, start: int, end: int, path: FieldPath) -> Program | None:
        """See ``policyd.mutation.overlays.tree.Compiler``."""
        return self._expressions.program(path, start)

    def pattern(self, tree: Mapping[str, Any], path: FieldPath) -> Pattern | None:
        """See ``policyd.mutation.overlays.tree.Compiler``."""
        try:
            return compile_pattern(tree)
        except PatternError as error:
            self.report(replace(each, path=(*path, *each.path)) for each in error.faults)
            return None

    def guard(self, tree: Mapping[str, Any], path: FieldPath) -> Pattern | None:
        """See ``policyd.mutation.overlays.tree.Compiler``."""
        pattern = self.pattern(tree, path)
        return guard_of(pattern) if pattern is not None else None


def guard_of(pattern: Pattern) -> Pattern | None:
    """Return the part of a pattern that is a condition of the whole pattern."""
    return Pattern(pattern.guard, None) if pattern.guard is not None else None


def bind(
    policy: Policy, overlays: Iterable[Overlay], kinds: KnownKinds, compiler: OverlayCompiler
) -> None:
    """Bind overlays to the kinds that the match rules name; each mismatch is a problem.

    Kinds known only from requests (wildcards, subresources) are bound at the first request.
    """
    overlays = list(overlays)
    if not overlays:
        return
    schemas, faults = _named(policy, kinds)
    compiler.report(faults)
    for each in overlays:
        for schema in schemas:
            compiler.report(
                replace(fault, message=f"{schema.gvk}: {fault.message}")
                if len(schemas) > 1
                else fault
                for fault in each.bind(schema)
            )


def _named(policy: Policy, kinds: KnownKinds) -> tuple[list[KindSchema], list[Fault]]:
    """Return the schemas of the kinds that a policy mutates, and a fault for each without one."""
    found: dict[Gvk, KindSchema] = {}
    faults = []
    for path, group, resource, known in named_resources(policy, kinds):
        if known == []:
            faults.append(_unknown(path, group, resource))
        found |= {schema.gvk: schema for schema in known or ()}
    return [found[gvk] for gvk in sorted(found)], faults


def named_resources(
    policy: Policy, kinds: KnownKinds
) -> Iterator[tuple[FieldPath, str, str, list[KindSchema] | None]]:
    """Yield the path, group and name of each resource of the match rules, with the schemas of its
    kind: None if it is known only from requests. Kinds of controllers count as Pods.
    """
    templates = CONTROLLERS if policy.spec.pod_controllers else {}
    for index, rule in enumerate(policy.spec.match_constraints.resource_rules):
        for number, resource in enumerate(rule.resources):
            path = ("spec", "matchConstraints", "resourceRules", index, "resources", number)
            unread = not rule.api_versions or "" in (resource, *rule.api_versions)
            if unread or "*" in resource or "/" in resource or "*" in rule.api_groups:
                yield path, "", resource, None
                continue
            for group in rule.api_groups:
                if templates.get(resource) == group:
                    continue
                versions: Iterable[str] = rule.api_versions
                if "*" in versions:
                    versions = kinds.versions(group, resource)
                found = (kinds.of_resource(group, each, resource) for each in versions)
                yield path, group, resource, [each for each in found if each is not None]


def _unknown(path: FieldPath, group: str, resource: str) -> Fault:
    name = f"{resource}.{group}" if group else resource
    hint = remedy(name) if group else "see the name"
    return Fault(
        path,
        f"no schema of {name} is known, and an overlay cannot be merged without",
        f"{hint}, or write a JSONPatch mutation",
        rule=MISSING_SCHEMA if group else "invalid",
    )


def remedy(definition: str) -> str:
    """Return the hint where to get the schema of a custom resource."""
    return (
        f"add the CustomResourceDefinition {definition} to the policies "
        "(a server with --cluster reads it from there)"
    )
