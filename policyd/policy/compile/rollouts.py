"""The rollout of a policy, compiled: where it is enforced, and its actions elsewhere. Finds the
rollouts of each policy among the documents; ``admission/staging.py`` decides about requests.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256

from policyd._core.match.matcher import MatchRules
from policyd.errors import Problem
from policyd.json_types import JSONObject
from policyd.near_names import nearest_or_listed
from policyd.policy.compile.bindings import of_policy, policy_name, problems_of
from policyd.policy.compile.match_rules import match_rules
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import POLICY_KINDS, Policy
from policyd.policy.model.rollout import PolicyRollout, Rollout
from policyd.policy.source.loaded_documents import Document, Sources

KIND = "Rollout"
_WHOLE = 100
_HASHED_BYTES = 8
_NOW = partial(datetime.now, UTC)
_EVERYTHING: JSONObject = {
    "operations": ["*"],
    "apiGroups": ["*"],
    "apiVersions": ["*"],
    "resources": ["*/*"],
}


@dataclass(frozen=True, slots=True)
class CompiledRollout:
    """Where a policy is enforced: ``namespaces`` are rules that match the requests of the selected
    namespaces (None: of all), ``percent`` is None without that field. ``nowhere``: ``enforce`` has
    no field. ``otherwise`` are the actions elsewhere. From ``until`` (UTC) it is over. ``given``
    are the fields as they are written.
    """

    namespaces: MatchRules | None = None
    percent: int | None = None
    new_only: bool = False
    nowhere: bool = True
    otherwise: tuple[str, ...] = ("Audit",)
    until: datetime | None = None
    given: JSONObject = field(default_factory=dict)
    now: Callable[[], datetime] = _NOW

    @property
    def over(self) -> bool:
        """Whether the policy is enforced everywhere by now."""
        return self.until is not None and self.now() >= self.until


def number_of(policy: str, namespace: str, kind: str, name: str) -> int:
    """Return the number, 0 to 99, of a namespace in the rollout of a policy, or the number of a
    cluster-scoped object (``namespace`` is empty).

    It depends on nothing else, so that all replicas agree, and a higher percentage includes what a
    lower one does.
    """
    of = namespace or f"{kind}\0{name}"
    digest = sha256(f"{policy}\0{of}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:_HASHED_BYTES], "big") % _WHOLE


def compile_rollout(rollout: PolicyRollout) -> CompiledRollout:
    """Compile the rollout of a policy."""
    enforce = rollout.enforce
    given: JSONObject = {
        "enforce": enforce.plain_given(()),
        "otherwise": list(rollout.otherwise),
        **({} if rollout.until is None else {"until": rollout.plain()["until"]}),
    }
    selector = enforce.namespace_selector
    namespaces = None
    if selector is not None:
        constraints = {"resourceRules": [_EVERYTHING], "namespaceSelector": selector.plain()}
        namespaces = match_rules(constraints)
    return CompiledRollout(
        namespaces=namespaces,
        percent=enforce.percent,
        new_only=enforce.new_only,
        nowhere=selector is None and enforce.percent is None and not enforce.new_only,
        otherwise=rollout.otherwise,
        until=rollout.until,
        given=given,
    )


class PolicyRollouts:
    """The documents of kind Rollout, by the names of the policies."""

    def __init__(self, sources: Sources) -> None:
        self._by_policy: dict[str, list[Document]] = {}
        self._policies: dict[str, Document] = {}
        for document in sources.documents:
            if not document.is_policy:
                continue
            if document.kind == KIND:
                self._by_policy.setdefault(policy_name(document), []).append(document)
            elif document.kind in POLICY_KINDS:
                self._policies[document.name] = document

    def of(self, policy: Document) -> list[Document]:
        """Return the usable Rollouts of a policy."""
        named = self._by_policy.get(policy.name, [])
        return [each for each in named if isinstance(each.model, Rollout)]

    def broken(self, policy: Document) -> list[Problem]:
        """Return why the Rollouts that name the policy cannot be used: errors in them, more than
        one, or one beside ``spec.rollout``. Which one is meant is not known then.
        """
        named = self._by_policy.get(policy.name, [])
        wrong = [each for each in named if each.model is None]
        clashes = self._problems(policy.name, named)
        return [*problems_of(wrong), *(of_policy(*each) for each in clashes)]

    def problems(self) -> Iterator[Problem]:
        """Yield what is wrong between Rollouts and policies."""
        for name, named in self._by_policy.items():
            for _, problem in self._problems(name, named):
                yield problem

    def _problems(self, name: str, named: list[Document]) -> Iterator[tuple[Document, Problem]]:
        policy = self._policies.get(name)
        for number, document in enumerate(named):
            wrong = _wrong(name, policy, named[0] if number else None)
            if wrong and document.model is not None:
                hint = nearest_or_listed(name, self._policies) if policy is None else ""
                yield document, document.problem(FormProblem(("spec", "policyName"), wrong, hint))


def rollout_of(policy: Document, documents: list[Document]) -> CompiledRollout | None:
    """Return the rollout of a policy: its own, or a document's."""
    model = policy.model
    if isinstance(model, Policy) and model.spec.rollout is not None:
        return compile_rollout(model.spec.rollout)
    for document in documents:
        if isinstance(document.model, Rollout):
            return compile_rollout(document.model.spec)
    return readable_rollout(policy)


def readable_rollout(policy: Document) -> CompiledRollout | None:
    """Return ``spec.rollout`` of a broken Policy if it is valid: it is not enforced elsewhere, its
    errors included.
    """
    given = policy.spec.get("rollout")
    if policy.kind != "Policy" or not isinstance(given, dict):
        return None
    if any(problem.path.startswith("spec.rollout") for problem in policy.problems):
        return None
    return compile_rollout(PolicyRollout.validated(given))


def _wrong(name: str, policy: Document | None, first: Document | None) -> str:
    if policy is None:
        return f'Not found: "{name}": no policy has this name'
    if first is not None:
        return f"Duplicate value: {name!r}: {first.label} is the rollout of this policy"
    if isinstance(policy.model, Policy) and policy.model.spec.rollout is not None:
        return f"Invalid value: {name!r}: this policy has a spec.rollout of its own"
    return ""
