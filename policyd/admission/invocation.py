"""Invocation: one policy under one binding and param, the term of Kubernetes. Only data."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from policyd._core.match.matcher import Hit
from policyd._core.plan.plan import Subject
from policyd.json_types import JSON
from policyd.policy.compile.compiled import Binding, CompiledPolicy
from policyd.policy.compile.exemptions import Exemption

Matched = tuple[CompiledPolicy, Hit]
NO_VALIDATIONS: Mapping[int, Exemption] = MappingProxyType({})


class Invocation(NamedTuple):
    """One policy under one binding and param.

    ``as_pod``: it sees the Pod of the object's template. ``exempt`` are the exceptions that lift
    validations, by the index of the validation.
    """

    policy: CompiledPolicy
    binding: Binding
    param: JSON
    subject: Subject
    hit: Hit
    as_pod: bool
    exempt: Mapping[int, Exemption] = NO_VALIDATIONS


class InvocationKey(NamedTuple):
    """Identifies an invocation across the two rounds of mutations."""

    policy: tuple[str, str]
    binding: str
    param: tuple[str, str]


def key_of(invocation: Invocation) -> InvocationKey:
    """Return the policy, binding and param of an invocation."""
    param, where = invocation.param, ("", "")
    if invocation.policy.param_kind is not None and isinstance(param, dict):
        metadata = param.get("metadata") or {}
        where = (metadata.get("namespace") or "", metadata.get("name") or "")
    return InvocationKey(invocation.policy.sort_key, invocation.binding.name, where)


def plain_key(policy: CompiledPolicy) -> InvocationKey:
    """Return the key of the only invocation of a policy that is ``plain``."""
    return InvocationKey(policy.sort_key, policy.bindings[0].name, ("", ""))
