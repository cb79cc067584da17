"""Lookups of cluster data by the program that embeds policyd. Evaluates nothing."""

import logging
from collections.abc import Awaitable, Sequence
from typing import Protocol, TypeVar

from policyd.admission.lookups.authorizer import AccessDecision, Attributes, Authorizer, Failure
from policyd.admission.lookups.params import KindOf, ParamsOf
from policyd.json_types import JSONObject
from policyd.policy.compile.reads.compiled_reads import CompiledRead
from policyd.policy.compile.reads.read_tables import ReadTable
from policyd.policy.kinds.served_resource import Served

_log = logging.getLogger("policyd.lookups")
_NOT_LOOKED_UP = Failure("this program does not look it up")
Found = TypeVar("Found")


class Lookups(Protocol):
    """Looks up, while a request is evaluated, data that the policy sources do not contain.

    Inherit from it to write only the methods that you need: the others return a Failure. Each
    method is called at most once per request for the same arguments; the lookups of one request run
    concurrently in the caller's event loop, so wait with ``await``. A caller with a deadline stops
    waiting shortly before it and cancels the call.

    A ``Failure`` means that the answer is unknown: an evaluation error, which the policy's
    failurePolicy handles. An exception has the same effect and is logged by ``policyd.lookups``.
    """

    async def authorize(self, attributes: Attributes) -> AccessDecision | Failure:
        """Whether a user is allowed an action, for the CEL variable ``authorizer``; in a cluster,
        create a SubjectAccessReview (authorization.k8s.io/v1).
        """
        return _NOT_LOOKED_UP

    async def namespace(self, name: str) -> JSONObject | Failure:
        """Return the Namespace object ``name``, for ``namespaceObject`` and namespaceSelector."""
        return _NOT_LOOKED_UP

    async def is_namespaced(self, api_version: str, kind: str) -> bool | Failure | None:
        """Whether objects of a paramKind are namespaced; None if the cluster serves no such kind.
        Not called for built-in kinds, nor if the sources have its CustomResourceDefinition.
        """
        return _NOT_LOOKED_UP

    async def params(
        self, api_version: str, kind: str, *, namespace: str, name: str, selector: str
    ) -> Sequence[JSONObject] | Failure:
        """Return the complete objects of a paramKind that a paramRef selects, with
        ``metadata.name``.

        ``namespace`` is empty for cluster-scoped kinds. Either ``name`` is given, or ``selector``
        in the API server's syntax (``env in (prod,test),!legacy``; empty: all). Objects with other
        namespaces, names or labels are ignored. For an empty list, parameterNotFoundAction decides.
        """
        return _NOT_LOOKED_UP


class LookupCluster:
    """Adapts Lookups to evaluations; ``authorizer`` takes precedence over its method."""

    def __init__(self, lookups: Lookups, authorizer: Authorizer | None) -> None:
        self._lookups = lookups
        self._authorizer = authorizer

    async def may(self, asked: Attributes) -> AccessDecision | Failure:
        """Whether a user is allowed an action."""
        known = None if self._authorizer is None else self._authorizer.check(asked)
        return await _found(self._lookups.authorize(asked)) if known is None else known

    async def namespace(self, name: str) -> JSONObject | Failure:
        """Return a Namespace object."""
        return await _found(self._lookups.namespace(name))

    def known_namespace(self, name: str) -> JSONObject | None:
        """Return None: nothing is cached between requests."""
        return None

    async def kind(self, question: KindOf) -> tuple[Served, ...] | Failure:
        """Return the resource of a kind; empty if there is no such kind."""
        api_version, kind = question
        namespaced = await _found(self._lookups.is_namespaced(api_version, kind))
        if namespaced is None or isinstance(namespaced, Failure):
            return () if namespaced is None else namespaced
        group, _, version = api_version.rpartition("/")
        return (Served(group, version, "", kind, namespaced),)

    def known_kind(self, question: KindOf) -> tuple[Served, ...] | None:
        """Return None: nothing is cached."""
        return None

    async def params(self, question: ParamsOf) -> tuple[JSONObject, ...] | Failure:
        """Return objects of a kind; empty if there are none."""
        found = await _found(
            self._lookups.params(
                question.api_version,
                question.kind,
                namespace=question.namespace,
                name=question.name,
                selector=question.selector,
            )
        )
        return found if isinstance(found, Failure) else tuple(found)

    def known_params(self, question: ParamsOf) -> tuple[JSONObject, ...] | None:
        """Return None: nothing is cached."""
        return None

    async def table(self, read: CompiledRead) -> ReadTable | Failure:
        """Return why there are no objects of reads."""
        return self.known_table(read)

    def known_table(self, read: CompiledRead) -> Failure:
        """Return why there are no objects of reads."""
        return Failure("lookups have no objects of reads")


async def _found(answer: Awaitable[Found | Failure]) -> Found | Failure:
    """Return the answer; a Failure for an exception, whose message is only logged."""
    try:
        return await answer
    except Exception as error:
        _log.error("a lookup failed", exc_info=error)
        return Failure(f"the lookup failed with {type(error).__name__}")
