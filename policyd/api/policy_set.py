"""PolicySet: load policies and evaluate AdmissionReviews with them. Starts no server."""

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Self

from policyd.admission.authorizer import Authorizer
from policyd.api.evaluation import (
    CompiledSet,
    Evaluator,
    Result,
    Webhook,
    call_of,
    encode,
    to_dict,
)
from policyd.api.lookups import Lookups
from policyd.api.result import ReviewResult
from policyd.json_types import JSON
from policyd.policy.compile import compiler
from policyd.policy.source import loader
from policyd.policy.source.documents import Sources
from policyd.versions import NEWEST, KubernetesVersion, supported

_SHOWN_NAMES = 5


class PolicySet:
    """Compiled policies; immutable. Evaluate with a set in one thread at a time.

    Make one with ``load``, ``from_text`` or ``from_documents``. All three raise ``PolicyError``
    with every problem of every document, and ``ValueError`` for a Kubernetes version that is not
    supported. ``kubernetes_version`` (default: the newest supported one) is the version whose CEL
    functions, costs and admission rules apply. ``authorizer`` answers the checks of the CEL
    variable ``authorizer``; without one, such a check is an evaluation error.

    A set without policies allows every request: check ``names`` where that would be a mistake.
    """

    def __init__(self, compiled: CompiledSet, authorizer: Authorizer | None = None) -> None:
        # What a set is compiled to is no part of the public API.
        self._evaluator = Evaluator(compiled, authorizer)

    @classmethod
    def load(
        cls,
        paths: str | PathLike[str] | Iterable[str | PathLike[str]],
        *,
        kubernetes_version: str | KubernetesVersion = NEWEST,
        authorizer: Authorizer | None = None,
    ) -> Self:
        """The policies of a file or directory, or of several.

        A directory is read recursively: its ``.yaml``, ``.yml`` and ``.json`` files, gzipped ones
        (``.gz``) too, but no name that starts with a dot. ``-`` is standard input. A path that does
        not exist or cannot be read is a problem of the ``PolicyError``.
        """
        version = supported(str(kubernetes_version))
        listed = [paths] if isinstance(paths, str | PathLike) else paths
        sources = loader.load([Path(each) for each in listed], version=version)
        return cls._compile(sources, authorizer)

    @classmethod
    def from_text(
        cls,
        text: str,
        name: str = "<text>",
        *,
        kubernetes_version: str | KubernetesVersion = NEWEST,
        authorizer: Authorizer | None = None,
    ) -> Self:
        """The policies of YAML or JSON text of any number of documents; problems have ``name`` as
        their file.
        """
        version = supported(str(kubernetes_version))
        return cls._compile(loader.load_text(text, name, version=version), authorizer)

    @classmethod
    def from_documents(
        cls,
        *documents: Mapping[str, JSON],
        kubernetes_version: str | KubernetesVersion = NEWEST,
        authorizer: Authorizer | None = None,
    ) -> Self:
        """The policies of objects as a JSON or YAML decoder returns them; nothing is kept of them.

        Problems have ``documents[0]`` (the first argument) as their file, and line and column 0.
        Raises ``TypeError`` for values that JSON cannot hold.
        """
        version = supported(str(kubernetes_version))
        return cls._compile(loader.load_built(documents, version=version), authorizer)

    @classmethod
    def _compile(cls, sources: Sources, authorizer: Authorizer | None) -> Self:
        return cls(compiler.compile_strict(sources), authorizer)

    @property
    def generation(self) -> str:
        """A hash of the sources: equal sources have equal generations."""
        return self._evaluator.policies.generation

    @property
    def kubernetes_version(self) -> str:
        """The Kubernetes version that policies are evaluated as, like ``1.37``."""
        return str(self._evaluator.policies.version)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the policies, in the order of decisions: by name."""
        return tuple(policy.name for policy in self._evaluator.policies.policies)

    def review(
        self,
        review: Mapping[str, JSON] | bytes,
        webhook: Webhook = "validate",
        *,
        timeout: float | None = None,
        authorizer: Authorizer | None = None,
    ) -> dict[str, JSON]:
        """The AdmissionReview (admission.k8s.io/v1) that answers one, as a webhook server sends it:
        ``["response"]["patch"]`` is base64.

        ``review`` is decoded JSON or the bytes of a request's body; bytes are checked as the server
        checks them, and faster. ``timeout`` is in seconds; None leaves only each policy's own. A
        policy that is not done in time follows its failurePolicy. ``authorizer`` replaces that of
        the set.

        Raises ``ReviewError`` for what is no AdmissionReview; never for a denial.
        """
        call = call_of(review, webhook, timeout)
        return to_dict(self._with(authorizer).answer(call))

    def review_bytes(
        self,
        review: bytes,
        webhook: Webhook = "validate",
        *,
        timeout: float | None = None,
        authorizer: Authorizer | None = None,
    ) -> bytes:
        """``review`` from the body of a request to the body of its answer."""
        return encode(self._with(authorizer).answer(call_of(review, webhook, timeout)))

    def evaluate(
        self,
        review: Mapping[str, JSON] | bytes,
        webhook: Webhook | None = None,
        *,
        timeout: float | None = None,
        authorizer: Authorizer | None = None,
    ) -> ReviewResult:
        """The decision about an AdmissionReview, with its patch and every violation.

        Does what the API server does with both webhooks: mutates, then validates the mutated
        object; a denial is the last. ``webhook`` is for one of them alone. The other arguments are
        those of ``review``; ``timeout`` is for both webhooks together.
        """
        evaluator = self._with(authorizer)
        result = Result(review, webhook, timeout)
        for call in result.calls():
            result.add(call, evaluator.answer(call))
        return result.finish()

    async def areview(
        self,
        review: Mapping[str, JSON] | bytes,
        webhook: Webhook = "validate",
        *,
        lookups: Lookups | None = None,
        timeout: float | None = None,
        authorizer: Authorizer | None = None,
    ) -> dict[str, JSON]:
        """``review`` that looks up what policies need to know of a cluster: authorizer checks,
        namespaces and params.

        The event loop runs on while it waits, but not while expressions are evaluated. Nothing is
        looked up that no policy needs, nor what an ``authorizer`` answers. Without ``lookups`` it
        is ``review``.
        """
        call = call_of(review, webhook, timeout)
        return to_dict(await self._with(authorizer).look_up(call, lookups))

    async def aevaluate(
        self,
        review: Mapping[str, JSON] | bytes,
        webhook: Webhook | None = None,
        *,
        lookups: Lookups | None = None,
        timeout: float | None = None,
        authorizer: Authorizer | None = None,
    ) -> ReviewResult:
        """``evaluate`` that looks up what policies need to know, as ``areview`` does."""
        evaluator = self._with(authorizer)
        result = Result(review, webhook, timeout)
        for call in result.calls():
            result.add(call, await evaluator.look_up(call, lookups))
        return result.finish()

    def __repr__(self) -> str:
        names = self.names
        shown = ", ".join(names[:_SHOWN_NAMES])
        if len(names) > _SHOWN_NAMES:
            shown += f", … {len(names) - _SHOWN_NAMES} more"
        counted = f"{len(names)} {'policy' if len(names) == 1 else 'policies'}"
        about = f"generation {self.generation}, Kubernetes {self.kubernetes_version}"
        return f"<PolicySet of {counted}{': ' if shown else ''}{shown}; {about}>"

    def _with(self, authorizer: Authorizer | None) -> Evaluator:
        if authorizer is None:
            return self._evaluator
        return Evaluator(self._evaluator.policies, authorizer)
