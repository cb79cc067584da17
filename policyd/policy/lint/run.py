"""One run of lint: facts about the sources and about each policy that rules share, computed on
first use.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from typing import Any

from policyd.cel.syntax.ast import Checked
from policyd.json_types import FieldPath, JSONObject
from policyd.mutation.schemas.schemas import Gvk, KindSchema, Schemas
from policyd.policy.compile.bindings import PolicyBindings
from policyd.policy.compile.checked import checked_of
from policyd.policy.kinds.definitions import definitions
from policyd.policy.kinds.mapping import BUILT_IN, ResourceMapper
from policyd.policy.kinds.object_types import KindSchemas
from policyd.policy.kinds.served import Resources, known_resources
from policyd.policy.lint.types.kinds import KindTypes, kinds_of
from policyd.policy.model.base import labels_of
from policyd.policy.model.expressions import (
    KEY,
    VARIABLE,
    ExpressionRole,
    HeldMutation,
    PolicyExpression,
    expressions_of,
    mutations_of,
)
from policyd.policy.model.kinds import (
    POLICY_KINDS,
    AnyPolicy,
    MutatingAdmissionPolicySpec,
    Policy,
    PolicySpec,
)
from policyd.policy.model.match import NamedRuleWithOperations, ParamKind, Validation
from policyd.policy.model.reads import PolicyRead
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.versions import KubernetesVersion


@dataclass(frozen=True)
class LintRun:
    """``today`` determines what has expired; without it, nothing. ``target`` is the oldest
    Kubernetes version that the policies must run on, if set.
    """

    sources: Sources
    today: date = date.min
    target: KubernetesVersion | None = None

    @cached_property
    def policies(self) -> tuple["LintedPolicy", ...]:
        """Return the policies whose expressions have types, in file order."""
        return tuple(
            LintedPolicy(self, document, document.model)
            for document in self.sources.documents
            if isinstance(document.model, AnyPolicy)
        )

    @cached_property
    def _by_document(self) -> Mapping[int, "LintedPolicy"]:
        return {id(each.document): each for each in self.policies}

    def policy(self, document: Document) -> "LintedPolicy | None":
        """Return the policy of a document; None if it is none, or has problems."""
        return self._by_document.get(id(document))

    @cached_property
    def policy_documents(self) -> tuple[Document, ...]:
        """Return the documents of policies, also those with problems."""
        return self.sources.of_kind(*POLICY_KINDS)

    @cached_property
    def by_name(self) -> Mapping[tuple[str, str], Document]:
        """Return the documents of policies by kind and name."""
        return {(each.kind, each.name): each for each in self.policy_documents}

    @cached_property
    def kinds_beside(self) -> set[tuple[str, str]]:
        """Return apiVersion and kind of the objects that policies see beside the request's."""
        return {
            (each.api_version, each.kind) for policy in self.policies for _, each in policy.beside
        }

    @cached_property
    def namespace_labels(self) -> set[str]:
        """Return the labels that the loaded Namespaces have."""
        spaces = self.sources.of_kind("Namespace")
        return {key for each in spaces for key in labels_of(each.raw)}

    @cached_property
    def definitions(self) -> list[JSONObject]:
        """Return the CustomResourceDefinitions."""
        return [each.raw for each in definitions(self.sources).documents]

    @cached_property
    def resources(self) -> Resources:
        """Return the resources of Kubernetes and of the sources' definitions."""
        return known_resources(self.definitions)

    @cached_property
    def bindings(self) -> PolicyBindings:
        """Return the bindings of policies."""
        return PolicyBindings(self.sources)

    @cached_property
    def mapper(self) -> ResourceMapper:
        """Return the kinds of Kubernetes and of the sources' definitions."""
        return BUILT_IN.with_definitions(self.definitions)

    @cached_property
    def published(self) -> KindSchemas:
        """Return the OpenAPI schemas of kinds, which give expressions their types."""
        return KindSchemas(self.definitions, self.sources.version)

    @cached_property
    def schemas(self) -> Schemas:
        """Return the schemas by which mutations merge."""
        return Schemas.builtin(self.sources.version).with_crds(self.definitions)


@dataclass(frozen=True, eq=False)
class LintedPolicy:
    """A policy, its document, and what its text and the kinds that it matches say about it."""

    run: LintRun
    document: Document
    model: AnyPolicy

    @cached_property
    def rules(self) -> Sequence[NamedRuleWithOperations]:
        """Return the match rules."""
        return self.model.spec.match_constraints.resource_rules

    @property
    def named_resources(self) -> Iterator[tuple[NamedRuleWithOperations, str, FieldPath]]:
        """Yield each rule with each of its resources, and the path of the resource."""
        rules: FieldPath = ("spec", "matchConstraints", "resourceRules")
        for index, rule in enumerate(self.rules):
            for number, resource in enumerate(rule.resources):
                yield rule, resource, (*rules, index, "resources", number)

    @cached_property
    def expressions(self) -> tuple[PolicyExpression, ...]:
        """Return all expressions, variables before their uses."""
        return tuple(expressions_of(self.document.raw))

    def of_role(self, *roles: ExpressionRole) -> list[PolicyExpression]:
        """Return the expressions of these roles."""
        return [each for each in self.expressions if each.role in roles]

    @cached_property
    def compiled(self) -> tuple[tuple[PolicyExpression, Checked], ...]:
        """Return the expressions that compile, with their types."""
        found = checked_of(self.document, self.run.sources.version)
        return tuple((each.expression, each.checked) for each in found)

    @cached_property
    def mutations(self) -> tuple[HeldMutation, ...]:
        """Return the mutations."""
        return tuple(mutations_of(self.document.raw))

    @property
    def validations(self) -> Sequence[Validation]:
        """Return the validations; a policy that only mutates has none."""
        spec = self.model.spec
        return () if isinstance(spec, MutatingAdmissionPolicySpec) else spec.validations

    @property
    def checks(self) -> bool:
        """Whether the policy validates or audits, besides any mutations."""
        spec = self.model.spec
        return not isinstance(spec, MutatingAdmissionPolicySpec) and bool(
            spec.validations or spec.audit_annotations
        )

    @property
    def own(self) -> PolicySpec | None:
        """Return the spec of a Policy, which has more fields than other kinds; None of those."""
        return self.model.spec if isinstance(self.model, Policy) else None

    @property
    def beside(self) -> Iterator[tuple[FieldPath, ParamKind | PolicyRead]]:
        """Yield the kinds that the policy sees beside the request's, each with its path."""
        if self.model.spec.param_kind is not None:
            yield ("spec", "paramKind"), self.model.spec.param_kind
        for index, read in enumerate(self.own.reads if self.own else ()):
            yield ("spec", "reads", index), read

    @cached_property
    def patterns(self) -> list[tuple[FieldPath, dict[str, Any]]]:
        """Return the patterns of validations, each with its path."""
        found: list[tuple[FieldPath, dict[str, Any]]] = []
        for index, each in enumerate(self.own.validations if self.own else ()):
            path: FieldPath = ("spec", "validations", index)
            found += [((*path, "pattern"), each.pattern)] if each.pattern is not None else []
            trees = enumerate(each.any_pattern or ())
            found += [((*path, "anyPattern", number), tree) for number, tree in trees]
        return found

    @cached_property
    def overlays(self) -> list[tuple[FieldPath, dict[str, Any]]]:
        """Return the overlays, each with its path."""
        return [(each.path, each.held) for each in self.mutations if each.kind.mutator is None]

    @cached_property
    def kinds(self) -> list[Gvk]:
        """Return the kinds with schemas of the objects that the policy sees, sorted."""
        return kinds_of(self.model, self.run.published)

    @cached_property
    def schemas(self) -> Mapping[Gvk, KindSchema]:
        """Return the schemas by which mutations of these kinds merge, as far as they are known."""
        found = ((gvk, self.run.schemas.lookup(*gvk)) for gvk in self.kinds)
        return {gvk: schema for gvk, schema in found if schema is not None}

    @cached_property
    def types(self) -> Callable[[Gvk | None], KindTypes]:
        """Return the function that gives the types of the expressions for objects of a kind."""
        published, version = self.run.published, self.run.sources.version
        variables = self.of_role(VARIABLE)
        return cache(lambda gvk: KindTypes(self.model, variables, published, gvk, version))

    def read_keys(self) -> Iterator[tuple[PolicyExpression, KindTypes]]:
        """Yield the keys of the reads of known kinds, each with the types for what it reads."""
        reads = self.own.reads if self.own else ()
        published, version = self.run.published, self.run.sources.version
        for each in self.of_role(KEY):
            read = reads[int(each.path[2])]
            gvk = Gvk.of(read.api_version, read.kind)
            if published.find(gvk) is not None:
                yield each, KindTypes(self.model, (), published, gvk, version, item=True)
