"""Protocols for namespaces and params. Offline, the policy sources provide them
(``policy/compile/params.py``); authorizer checks are in ``authorizer.py``.
"""

from collections.abc import Callable
from typing import Protocol

from policyd.json_types import JSON, JSONObject
from policyd.policy.compile.compiled import CompiledParamRef
from policyd.policy.compile.params import KnownParamKind


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
