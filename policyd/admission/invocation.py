"""Invocation, as in Kubernetes: one policy under one binding and param. Only data."""

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
