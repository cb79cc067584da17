"""The result of loading the sources. Only data."""

from dataclasses import dataclass, field

from policyd.errors import Problem
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.files import Bundle
from policyd.policy.source.loaded_documents import Sources
from policyd.versions import KubernetesVersion


@dataclass(frozen=True, slots=True)
class LoadedSet:
    """A policy set, the failures of its suites, and its bundles.

    If the server needs them: ``image`` to restore the set at the next start, and ``sources`` to
    export it.
    """

    policies: CompiledPolicySet
    failures: tuple[Problem, ...] = ()
    bundles: tuple[Bundle, ...] = ()
    image: bytes = field(default=b"", repr=False)
    sources: Sources | None = field(default=None, repr=False)

    @property
    def state(self) -> tuple[str, KubernetesVersion]:
        """Return the values that distinguish one set from another."""
        return self.policies.generation, self.policies.version
