"""What only a cluster knows, looked up by the program that embeds policyd. Evaluates nothing."""

import logging
from collections.abc import Awaitable, Sequence
from typing import Protocol, TypeVar

from policyd.admission.authorizer import AccessDecision, Attributes, Authorizer, Failure
from policyd.admission.lookups.params import KindOf, ParamsOf
from policyd.json_types import JSONObject
from policyd.policy.live.reach import Served

_log = logging.getLogger("policyd.lookups")
_NOT_LOOKED_UP = Failure("this program does not look it up")
Found = TypeVar("Found")


class Lookups(Protocol):
    """Looks up, while a request is evaluated, what the policy sources do not hold.

    Inherit from it to write only the methods that are needed: the others then answer with a
    Failure. Each is called at most once for a question and request, and questions of one request at
    the same time, in the event loop of the caller: wait with ``await``. A caller that has a
    deadline stops waiting shortly before it, and cancels the call.

    A ``Failure`` says that there will be no answer: an evaluation error, which the policy's
    failurePolicy decides. So does an exception, which is logged by ``policyd.lookups``.
    """

    async def authorize(self, attributes: Attributes) -> AccessDecision | Failure:
        """Whether a user may do something, for the CEL variable ``authorizer``; ask with a
        SubjectAccessReview (authorization.k8s.io/v1).
        """
        return _NOT_LOOKED_UP

    async def namespace(self, name: str) -> JSONObject | Failure:
        """The Namespace object of that name, for ``namespaceObject`` and namespaceSelector."""
        return _NOT_LOOKED_UP

    async def is_namespaced(self, api_version: str, kind: str) -> bool | Failure | None:
        """Whether objects of a paramKind live in namespaces; None if the cluster serves no such
        kind. Not called for built-in kinds, nor where the sources have its
        CustomResourceDefinition.
        """
        return _NOT_LOOKED_UP

    async def params(
        self, api_version: str, kind: str, *, namespace: str, name: str, selector: str
    ) -> Sequence[JSONObject] | Failure:
        """The objects of a paramKind that a paramRef means, whole, with ``metadata.name``.

        ``namespace`` is empty for cluster-scoped kinds. Either ``name`` is given, or ``selector``
        in the API server's words (``env in (prod,test),!legacy``; empty: all). Objects of other
        namespaces, names and labels are left out. Nothing found is an empty list:
        parameterNotFoundAction decides.
        """
        return _NOT_LOOKED_UP


class LookupCluster:
    """Lookups in the form that evaluations take them; ``authorizer`` is asked before they are."""

    def __init__(self, lookups: Lookups, authorizer: Authorizer | None) -> None:
        self._lookups = lookups
        self._authorizer = authorizer

    async def may(self, asked: Attributes) -> AccessDecision | Failure:
        """Whether a user may do something."""
        known = None if self._authorizer is None else self._authorizer.check(asked)
        return await _found(self._lookups.authorize(asked)) if known is None else known

    async def namespace(self, name: str) -> JSONObject | Failure:
        """A Namespace object."""
        return await _found(self._lookups.namespace(name))

    def known_namespace(self, name: str) -> JSONObject | None:
        """Nothing is kept from one request to the next."""
        return None

    async def kind(self, question: KindOf) -> tuple[Served, ...] | Failure:
        """The resource of a kind; empty where there is no such kind."""
        api_version, kind = question
        namespaced = await _found(self._lookups.is_namespaced(api_version, kind))
        if namespaced is None or isinstance(namespaced, Failure):
            return () if namespaced is None else namespaced
        group, _, version = api_version.rpartition("/")
        return (Served(group, version, "", kind, namespaced),)

    def known_kind(self, question: KindOf) -> tuple[Served, ...] | None:
        """Nothing is kept."""
        return None

    async def params(self, question: ParamsOf) -> tuple[JSONObject, ...] | Failure:
        """Objects of a kind; empty where there are none."""
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
        """Nothing is kept."""
        return None


async def _found(answer: Awaitable[Found | Failure]) -> Found | Failure:
    """The answer; a Failure for an exception, whose text stays in the log."""
    try:
        return await answer
    except Exception as error:
        _log.error("a lookup failed", exc_info=error)
        return Failure(f"the lookup failed with {type(error).__name__}")
