"""The facade ``policyd.PolicySet``: load policies, judge reviews, in plain Python values. No
server.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter_ns

from policyd.admission import engine
from policyd.admission.authorizer import Authorizer
from policyd.admission.engine import Webhook
from policyd.admission.review import decode, to_dict
from policyd.json_types import JSON
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import PolicySet as CompiledSet
from policyd.policy.source import loader
from policyd.versions import NEWEST, KubernetesVersion, supported


class PolicySet:
    """A compiled, immutable set of policies."""

    def __init__(self, compiled: CompiledSet, authorizer: Authorizer | None = None) -> None:
        self._compiled = compiled
        self._authorizer = authorizer

    @classmethod
    def load(
        cls,
        paths: Sequence[str | Path],
        *,
        kubernetes_version: str | KubernetesVersion = NEWEST,
    ) -> "PolicySet":
        """Load and compile all policies of files and directories, which are then evaluated as this
        Kubernetes version does; ValueError for one that is not supported.

        Raises PolicyError with every problem of every document; nothing is loaded then.
        """
        version = supported(str(kubernetes_version))
        sources = loader.load([Path(path) for path in paths], version=version)
        return cls(compiler.compile_strict(sources))

    @property
    def generation(self) -> str:
        """A hash of the sources."""
        return self._compiled.generation

    @property
    def kubernetes_version(self) -> str:
        """The Kubernetes version that the policies are evaluated as."""
        return str(self._compiled.version)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the policies, in the order of decisions."""
        return tuple(policy.name for policy in self._compiled.policies)

    def review(
        self,
        review: Mapping[str, JSON] | bytes,
        webhook: Webhook = "validate",
        *,
        timeout: float | None = None,
        authorizer: Authorizer | None = None,
    ) -> dict[str, JSON]:
        """Judge one AdmissionReview and return the AdmissionReview that answers it.

        ``review`` is the decoded JSON or its bytes. ``timeout`` is in seconds; None leaves only
        each policy's own. ``authorizer`` answers what expressions ask of theirs; without it such a
        check is an error. Raises ReviewError for input that is no AdmissionReview, never for a
        denial.
        """
        if webhook not in ("validate", "mutate"):
            raise ValueError(f"webhook must be 'validate' or 'mutate', not {webhook!r}")
        deadline = 0 if timeout is None else perf_counter_ns() + int(timeout * 1e9)
        request = decode(review if isinstance(review, bytes) else dict(review))
        response = engine.review(
            self._compiled,
            request,
            webhook=webhook,
            deadline=deadline,
            authorizer=authorizer or self._authorizer,
        )
        return to_dict(response)
