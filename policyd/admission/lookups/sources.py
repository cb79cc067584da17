"""Sources of the namespaces and params of a request. Offline, the policy sources provide them
(``policy/compile/params.py``); authorizer checks are in ``authorizer.py``.

Evaluates nothing and fetches nothing: ``lookups/tasks.py`` fetches.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from policyd._core.lib.authorization import Failure
from policyd._core.values.errors import CelError
from policyd.errors import Unanswered
from policyd.json_types import JSON, JSONObject
from policyd.policy.compile.compiled import CompiledParamRef
from policyd.policy.compile.params import KnownParamKind, Namespaces


class NamespaceSource(Protocol):
    """Provides namespaces. A namespace not known yet ends the evaluation (Unanswered)."""

    def labels(self, name: str) -> dict[str, str] | str:
        """Return the labels of a namespace; a string is the reason they are unavailable."""

    def object(self, name: str) -> JSONObject | Callable[[], JSON]:
        """Return ``namespaceObject`` for a request in that namespace, or a function for it."""


class ParamSource(Protocol):
    """Provides params. Params not known yet end the evaluation (Unanswered); unavailable params
    raise ParamError.
    """

    def kind(self, param_kind: tuple[str, str]) -> KnownParamKind:
        """Return the kind and its objects in the sources."""

    def collect(
        self, kind: KnownParamKind, ref: CompiledParamRef, namespace: str
    ) -> list[JSONObject]:
        """Return the params of a binding for a request in ``namespace``, sorted by name."""


class NamespaceName(NamedTuple):
    """The lookup of a Namespace object."""

    name: str


class LookedUpNamespaces:
    """A NamespaceSource that calls ``look_up``; None means not known yet and ends the evaluation
    (Unanswered). Within one request the first answer for a namespace is kept.
    """

    def __init__(self, look_up: Callable[[NamespaceName], JSONObject | Failure | None]) -> None:
        self._look_up = look_up
        self._seen: dict[str, Namespaces | Failure] = {}

    def labels(self, name: str) -> dict[str, str] | str:
        """Return the labels of a namespace; a string is the reason they are unavailable."""
        found = self._find(name)
        if isinstance(found, Failure):
            return f"cannot look up the labels of namespace {name!r}: {found.why}"
        return found.labels(name)

    def object(self, name: str) -> Callable[[], JSON]:
        """Return a function that returns ``namespaceObject`` for a request in that namespace."""
        return lambda: self._object(name)

    def _object(self, name: str) -> JSON:
        found = self._find(name)
        if isinstance(found, Failure):
            return CelError(f"cannot look up namespace {name!r}: {found.why}")
        return found.object(name)

    def _find(self, name: str) -> Namespaces | Failure:
        seen = self._seen.get(name)
        if seen is None:
            answer = self._look_up(NamespaceName(name))
            if answer is None:
                unknown = f"namespace {name!r} is not known in time"
                raise Unanswered(NamespaceName(name), unknown)
            seen = answer if isinstance(answer, Failure) else Namespaces([answer])
            self._seen[name] = seen
        return seen
