"""Mutating policies together, and all that they tell of a request. No tests here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonpatch
import orjson

from policyd.admission import engine
from policyd.admission.recorder import Happening, PolicyEvent, Recorder
from policyd.admission.review import AdmissionRequest, decode
from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source import loader


@dataclass(frozen=True)
class Mutated:
    """What became of an object. ``operations`` are those of the patch, ``by`` how many each policy
    brought, ``told`` the errors and conflicts.
    """

    object: Any
    operations: list[JSONObject]
    by: dict[str, int]
    told: list[tuple[Happening, str, str]]


class _Listener(Recorder):
    """Keeps what happened, and who changed something."""

    def __init__(self) -> None:
        self.told: list[tuple[Happening, str, str]] = []
        self.by: dict[str, int] = {}

    def patch_operations(self, policy: str, count: int) -> None:
        self.by[policy] = self.by.get(policy, 0) + count

    def happened(self, request: AdmissionRequest, event: PolicyEvent) -> None:
        self.told.append((event.what, event.policy, event.message))


def together(paths: Sequence[Path], namespaces: Iterable[JSONObject] = ()) -> CompiledPolicySet:
    """The policies of some folders, with the namespaces that they know."""
    policies = compiler.compile_strict(loader.load(paths))
    return policies.with_namespaces(namespaces)


def mutated(policies: CompiledPolicySet, review: JSONObject) -> Mutated:
    """What the policies make of a review's object, by a patch library that is not theirs."""
    listener = _Listener()
    request = decode(review)
    response = engine.review(policies, request, webhook="mutate", recorder=listener)
    assert response.allowed, response
    operations = orjson.loads(response.patch) if response.patch else []
    after = jsonpatch.apply_patch(review["request"].get("object"), operations)
    return Mutated(after, operations, listener.by, listener.told)


def with_object(review: JSONObject, thing: Any) -> JSONObject:
    """The review with another object."""
    return {**review, "request": {**review["request"], "object": thing}}
