"""PolicySet: load policies and evaluate AdmissionReviews with them. Starts no server."""

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Self

from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.review import encode, to_dict
from policyd.api.evaluation import Evaluator, Result, call_of
from policyd.api.lookups import Lookups
from policyd.api.result import ReviewResult
from policyd.json_types import JSON
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.model.suite import Webhook
from policyd.policy.source import loader
from policyd.policy.source.loaded_documents import Sources
from policyd.versions import NEWEST, SPAN, KubernetesVersion, supported

_SHOWN_NAMES = 5


class PolicySet:
    """Compiled policies; immutable. Use a set in one thread at a time.

    Create one with ``load``, ``from_text`` or ``from_documents``. All three raise ``PolicyError``
    with every problem of every document, and ``ValueError`` for a Kubernetes version that is not
    supported. ``kubernetes_version`` (default: the newest supported one) is the version whose CEL
    functions, costs and admission rules apply. ``authorizer`` answers the checks of the CEL
    variable ``authorizer``; without one, such a check is an evaluation error.

    A set without policies allows every request: check ``names`` if that would be a mistake.
    """

    def __init__(self, compiled: CompiledPolicySet, authorizer: Authorizer | None = None) -> None:
        # The compiled form of a set is not part of the public API.
        self._evaluator = Evaluator(compiled, authorizer)

    @classmethod
    def load(
        cls,
        paths: str | PathLike[str] | Iterable[str | PathLike[str]],
        *,
        kubernetes_version: str | KubernetesVersion = NEWEST,
        authorizer: Authorizer | None = None,
    ) -> Self:
        """Load the policies of one or several files or directories.

        A directory is read recursively: its ``.yaml``, ``.yml`` and ``.json`` files, also gzipped
        (``.gz``), except names that start with a dot. ``-`` is standard input. A path that does not
        exist or cannot be read is a problem of the ``PolicyError``.
        """
        version = _version(kubernetes_version)
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
        """Load the policies of YAML or JSON text with any number of documents; problems have
        ``name`` as their file.
        """
        version = _version(kubernetes_version)
        return cls._compile(loader.load_text(text, name, version=version), authorizer)

    @classmethod
    def from_documents(
        cls,
        *documents: Mapping[str, JSON] | Iterable[Mapping[str, JSON]],
        kubernetes_version: str | KubernetesVersion = NEWEST,
        authorizer: Authorizer | None = None,
    ) -> Self:
        """Load policies from objects as returned by a JSON or YAML decoder; the objects are not
        kept. Each argument is an object, or an iterable of objects such as ``yaml.safe_load_all``
        returns.

        Problems have ``documents[0]`` (the first object) as their file, and line and column 0.
        Raises ``TypeError`` for values that JSON cannot represent.
        """
        version = _version(kubernetes_version)
        objects = [*_objects(documents)]
        return cls._compile(loader.load_built(objects, version=version), authorizer)

    @classmethod
    def _compile(cls, sources: Sources, authorizer: Authorizer | None) -> Self:
        return cls(compiler.compile_strict(sources), authorizer)

    @property
    def generation(self) -> str:
        """A hash of the sources: equal sources have equal generations."""
        return self._evaluator.policies.generation

    @property
    def kubernetes_version(self) -> str:
        """The Kubernetes version whose rules apply, for example ``1.37``."""
        return str(self._evaluator.policies.version)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the policies, in the order of decisions: by name."""
        return tuple(policy.name for policy in self._evaluator.policies.policies)

    @property
    def enforced(self) -> "PolicySet":
        """The same policies as if every rollout were over."""
        evaluator = self._evaluator
        return PolicySet(evaluator.policies.enforced, evaluator.authorizer)

    def reading(self, *objects: Mapping[str, JSON] | Iterable[Mapping[str, JSON]]) -> "PolicySet":
        """The same policies, whose reads find only these objects and those among the policies. Each
        argument is an object, or an iterable of objects. Without objects, a read is an error.
        """
        evaluator = self._evaluator
        known = evaluator.policies.reading([dict(each) for each in _objects(objects)])
        return PolicySet(known, evaluator.authorizer)

    def review(
        self,
        review: Mapping[str, JSON] | bytes,
        webhook: Webhook = "validate",
        *,
        timeout: float | None = None,
        authorizer: Authorizer | None = None,
    ) -> dict[str, JSON]:
        """Return the AdmissionReview (admission.k8s.io/v1) response, as a webhook server sends it:
        ``["response"]["patch"]`` is base64.

        ``review`` is decoded JSON or the bytes of a request's body; bytes are checked as the server
        checks them, and faster. ``timeout`` is in seconds; None: 30, the longest that an API server
        waits. A policy that does not finish in time follows its failurePolicy. ``authorizer``
        replaces the set's.

        Raises ``ReviewError`` if ``review`` is not an AdmissionReview; never for a denial.
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
        """Do ``review`` with bytes: from a request's body to the response's body."""
        return encode(self._with(authorizer).answer(call_of(review, webhook, timeout)))

    def evaluate(
        self,
        review: Mapping[str, JSON] | bytes,
        webhook: Webhook | None = None,
        *,
        timeout: float | None = None,
        authorizer: Authorizer | None = None,
        defaults: bool = True,
    ) -> ReviewResult:
        """Return the decision about an AdmissionReview, with its patch and every violation.

        Calls both webhooks like the API server: mutates, adds defaults to the changes, then
        validates the mutated object; a denial ends the sequence. ``webhook`` selects one of them.
        ``defaults=False`` adds no defaults, for a review built without them. The other arguments
        are the same as for ``review``; ``timeout`` covers both webhooks together.
        """
        evaluator = self._with(authorizer)
        result = Result(review, webhook, timeout, evaluator.policies.defaults if defaults else None)
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
        """Do ``review`` with lookups of the cluster data that policies need: authorizer checks,
        namespaces and params.

        The event loop runs during lookups, but not while expressions are evaluated. Only data that
        a policy needs is looked up, and no check that an ``authorizer`` answers. Without
        ``lookups``, it does the same as ``review``.
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
        defaults: bool = True,
    ) -> ReviewResult:
        """Do ``evaluate`` with lookups, as ``areview`` does."""
        evaluator = self._with(authorizer)
        result = Result(review, webhook, timeout, evaluator.policies.defaults if defaults else None)
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


def _version(given: str | KubernetesVersion) -> KubernetesVersion:
    try:
        return supported(str(given))
    except ValueError:
        raise ValueError(
            f"unsupported Kubernetes version {str(given)!r}: expected {SPAN}"
        ) from None


def _objects(
    documents: Iterable[Mapping[str, JSON] | Iterable[Mapping[str, JSON]]],
) -> Iterator[Mapping[str, JSON]]:
    """Yield the objects of the arguments of ``from_documents``."""
    for each in documents:
        if isinstance(each, Mapping):
            yield each
            continue
        if isinstance(each, str | bytes | PathLike) or not isinstance(each, Iterable):
            raise TypeError(
                f"expected objects (dicts), or iterables of them, got {type(each).__name__}: "
                "from_text takes YAML or JSON, load takes paths"
            )
        for obj in each:
            if not isinstance(obj, Mapping):
                raise TypeError(
                    f"expected objects (dicts), got {type(obj).__name__} in an iterable"
                )
            yield obj
