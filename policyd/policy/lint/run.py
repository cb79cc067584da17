"""One run of lint: the sources, and data that several rules share, computed on first use."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from policyd.json_types import JSONObject
from policyd.mutation.schemas.schemas import Schemas
from policyd.policy.compile.checked import CheckedExpression, checked_expressions
from policyd.policy.kinds.definitions import definitions
from policyd.policy.kinds.served import Resources, known_resources
from policyd.policy.lint.types.kinds import TypedPolicies
from policyd.policy.model.kinds import AnyPolicy
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

    def policies(self) -> Iterator[tuple[Document, AnyPolicy]]:
        """Yield the policies whose expressions have types, in file order."""
        for document in self.sources.documents:
            if isinstance(document.model, AnyPolicy):
                yield document, document.model

    @cached_property
    def expressions(self) -> tuple[CheckedExpression, ...]:
        """Return all expressions that compile."""
        return tuple(checked_expressions(self.sources))

    @cached_property
    def _definitions(self) -> list[JSONObject]:
        return [each.raw for each in definitions(self.sources).documents]

    @cached_property
    def resources(self) -> Resources:
        """Return the resources of Kubernetes and of the sources' definitions."""
        return known_resources(self._definitions)

    @cached_property
    def schemas(self) -> Schemas:
        """Return the schemas by which mutations merge."""
        return Schemas.builtin(self.sources.version).with_crds(self._definitions)

    @cached_property
    def typed(self) -> TypedPolicies:
        """Return the types of the policies' expressions, by kind."""
        return TypedPolicies(self.sources)
