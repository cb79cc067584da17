"""What policies look up beside the request: namespaces and params, whoever gives them. Offline the
policies' own sources do (``policy/compile/params.py``); authorizer checks are in ``authorizer.py``.
"""

from collections.abc import Callable
from typing import Protocol

from policyd.json_types import JSON, JSONObject
from policyd.policy.compile.compiled import CompiledParamRef
from policyd.policy.compile.params import KnownParamKind


class NamespaceSource(Protocol):
    """Gives what is known of namespaces. What is not known yet ends the evaluation (Unanswered)."""

    def labels(self, name: str) -> dict[str, str] | str:
        """The labels of a namespace; a string says why they cannot be found out."""

    def object(self, name: str) -> JSONObject | Callable[[], JSON]:
        """What ``namespaceObject`` is for a request in that namespace, or what gives it."""


class ParamSource(Protocol):
    """Gives parameter objects. What is not known yet ends the evaluation (Unanswered); params that
    cannot be had are a ParamError.
    """

    def kind(self, param_kind: tuple[str, str]) -> KnownParamKind:
        """The kind and its objects in the sources."""

    def collect(
        self, kind: KnownParamKind, ref: CompiledParamRef, namespace: str
    ) -> list[JSONObject]:
        """The params of a binding for a request in ``namespace``, in the order of their names."""
