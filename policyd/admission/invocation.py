"""Invocation: one policy under one binding and param, as Kubernetes calls it. Only data."""

from typing import NamedTuple

from policyd._core.match.matcher import Hit
from policyd._core.plan.plan import Subject
from policyd.json_types import JSON
from policyd.policy.compile.compiled import Binding, CompiledPolicy

Matched = tuple[CompiledPolicy, Hit]
NO_VALIDATIONS: frozenset[int] = frozenset()


class Invocation(NamedTuple):
    """One policy under one binding and param.

    ``as_pod``: it sees the Pod that the object's template will become. ``exempt`` are the indexes
    of the validations that exceptions lift.
    """

    policy: CompiledPolicy
    binding: Binding
    param: JSON
    subject: Subject
    hit: Hit
    as_pod: bool
    exempt: frozenset[int] = NO_VALIDATIONS


class InvocationKey(NamedTuple):
    """What makes an invocation of the second round of mutations the one of the first."""

    policy: tuple[str, str]
    binding: str
    param: tuple[str, str]


def key_of(invocation: Invocation) -> InvocationKey:
    """The policy, the binding and the param of an invocation."""
    param, where = invocation.param, ("", "")
    if invocation.policy.param_kind is not None and isinstance(param, dict):
        metadata = param.get("metadata") or {}
        where = (metadata.get("namespace") or "", metadata.get("name") or "")
    return InvocationKey(invocation.policy.sort_key, invocation.binding.name, where)
