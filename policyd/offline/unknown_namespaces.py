"""Finds policies that read unknown parts of the requests' namespaces. Evaluates no expression."""

from collections.abc import Collection, Iterator
from typing import Literal

from policyd._core.match.labels import NAMESPACE_NAME
from policyd._core.match.matcher import MatchInput, input_of
from policyd.admission.applicable import Applicable
from policyd.admission.review import AdmissionRequest, decode
from policyd.admission.subject import Subjects
from policyd.json_types import JSON, JSONObject
from policyd.offline.admitting import BOTH
from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.params import Namespaces
from policyd.policy.compile.policy_set import CompiledPolicySet

NamespacePart = Literal["labels", "annotations", "other fields"]
PARTS: tuple[NamespacePart, ...] = ("labels", "annotations", "other fields")


class UnknownNamespaces:
    """Collects, over requests, the ``names`` of unknown namespaces and the policies that read each
    part of them. ``given`` has the parts that are known of every namespace.
    """

    def __init__(self, policies: CompiledPolicySet, given: Collection[NamespacePart]) -> None:
        self._policies = policies
        self._given = frozenset(given)
        self.names: dict[str, None] = {}
        self.readers: dict[NamespacePart, dict[str, None]] = {}

    def add(self, review: JSONObject | bytes) -> None:
        """Add the reads of policies that match a request. Raises ReviewError."""
        request = decode(review)
        name = request.namespace
        if not name or request.is_namespace or name in self._policies.namespaces:
            return
        for policy, part in self._read(request):
            if part not in self._given:
                self.names[name] = None
                self.readers.setdefault(part, {})[policy.name] = None

    def _read(self, request: AdmissionRequest) -> Iterator[tuple[CompiledPolicy, NamespacePart]]:
        """Yield the policies that read a request's namespace, with the parts that they read."""
        policies = self._policies
        subjects = Subjects(
            request, policies.namespaces, schemas=policies.schemas, reads=policies.reads
        )
        for webhook in BOTH:
            applicable = Applicable(policies, subjects, policies.params, webhook)
            for policy, _ in applicable.match(None):
                plan = policy.validation if webhook == "validate" else policy.mutation
                if plan is not None and plan.frame.sees_namespace:
                    yield from ((policy, part) for part in _parts(policy.namespace_fields))
        for policy in policies.policies:
            if any(each.selects_namespaces for each in policy.rule_sets) and self._selects(
                policy, request, subjects
            ):
                yield policy, "labels"

    def _selects(
        self, policy: CompiledPolicy, request: AdmissionRequest, subjects: Subjects
    ) -> bool:
        """Whether the match of the policy depends on the namespace's labels."""
        asked = _AskedLabels(self._policies.namespaces)

        def view(obj: JSON, old: JSON) -> MatchInput:
            return input_of(request, asked.labels, obj, old, self._policies.equivalents)

        for rules in policy.rule_sets:
            if rules is not policy.controllers:
                rules.match(view(request.object, request.old_object))
            elif (pod := subjects.pod(request.object)) is not None:
                rules.match(view(pod, subjects.pod(request.old_object)))
        return asked.asked


class _AskedLabels:
    """Notes whether a selector needs the labels of a namespace."""

    def __init__(self, known: Namespaces) -> None:
        self._known = known
        self.asked = False

    def labels(self, name: str) -> dict[str, str] | str:
        self.asked = True
        return self._known.labels(name)


def _parts(fields: Collection[tuple[str, ...]]) -> Iterator[NamespacePart]:
    """Yield the parts that these fields of ``namespaceObject`` belong to."""
    # Apart from its fields, expressions read it as a whole only to compare it with null.
    for path in [each for each in fields if each] or fields:
        if path in ((), ("metadata",)):
            yield from PARTS
        elif path[:2] in (("metadata", "labels"), ("metadata", "annotations")):
            if path[2:] != (NAMESPACE_NAME,):
                yield "labels" if path[1] == "labels" else "annotations"
        elif path != ("metadata", "name"):
            yield "other fields"
