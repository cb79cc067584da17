"""One request through both webhooks, with what each policy had to say: for commands that judge many
objects. The answers are those of the server.
"""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import orjson

from policyd._core.patch.apply import apply
from policyd.admission.authorizer import Authorizer
from policyd.admission.decision import Finding
from policyd.admission.engine import Engine, Only, Webhook, judge
from policyd.admission.recorder import NullRecorder
from policyd.admission.review import AdmissionRequest, decode, to_dict
from policyd.admission.subject import Subjects
from policyd.json_types import JSON, JSONObject
from policyd.offline.stories import BOTH
from policyd.policy.compile.policy_set import PolicySet

Outcome = Literal["deny", "warn", "audit"]


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that a policy had against the request. ``error``: it could not be judged."""

    policy: str
    kind: str
    binding: str
    outcome: Outcome
    message: str
    error: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the webhooks, called one after the other, made of a request.

    ``matched`` are the names of the policies that had to do with it. ``after`` is the object with
    the ``patch`` of the mutating webhook. ``message`` is that of the denial.
    """

    allowed: bool
    message: str
    causes: tuple[str, ...]
    code: int
    said: tuple[Said, ...]
    warnings: tuple[str, ...]
    matched: tuple[str, ...]
    patch: tuple[JSONObject, ...]
    after: JSON


class Judge:
    """Asks compiled policies; ``authorizer`` answers what their expressions ask of theirs."""

    def __init__(self, policies: PolicySet, authorizer: Authorizer | None = None) -> None:
        self._policies = policies
        self._authorizer = authorizer

    def knowing(self, namespace: JSONObject) -> "Judge":
        """The same with one more Namespace object."""
        return Judge(self._policies.with_namespace(namespace), self._authorizer)

    def judge(
        self,
        review: Mapping[str, JSON] | bytes,
        webhooks: tuple[Webhook, ...] = BOTH,
        only: Only | None = None,
    ) -> Judgement:
        """The mutating webhook, and the validating one on what it made; a denial is the last.
        ``only`` says which policies are asked.

        Raises ReviewError for what is no AdmissionReview.
        """
        request = decode(review if isinstance(review, bytes) else dict(review))
        said: list[Said] = []
        warnings: list[str] = []
        matched: dict[str, None] = {}
        patch: list[JSONObject] = []
        answer: JSONObject = {"allowed": True}
        for webhook in webhooks:
            subjects = Subjects(request, self._policies.namespaces, self._authorizer)
            engine = Engine(self._policies, subjects, webhook, 0, NullRecorder())
            matches = engine.matches(only)
            matched.update((policy.name, None) for policy, _ in matches)
            answer = to_dict(judge(engine, matches))["response"]
            said += [each for finding in engine.verdict.findings for each in _said(finding)]
            warnings += answer.get("warnings", ())
            if "patch" in answer:
                patch = orjson.loads(b64decode(answer["patch"]))
                after = apply(patch, request.object)
                request = AdmissionRequest({**request.raw, "object": after}, request.unreadable)
            if not answer["allowed"]:
                break
        status = answer.get("status", {})
        return Judgement(
            allowed=answer["allowed"],
            message=status.get("message", ""),
            causes=causes_of(answer),
            code=status.get("code", 0),
            said=tuple(said),
            warnings=tuple(warnings),
            matched=tuple(matched),
            patch=tuple(patch),
            after=request.object,
        )


def causes_of(response: JSONObject) -> tuple[str, ...]:
    """The texts of a denial, one for each violation; none for what is allowed."""
    if response.get("allowed"):
        return ()
    status = response.get("status") or {}
    causes = (status.get("details") or {}).get("causes") or [status]
    return tuple(str(cause.get("message", "")) for cause in causes)


def _said(finding: Finding) -> list[Said]:
    policy, words = finding.policy, {"Deny": "deny", "Warn": "warn", "Audit": "audit"}
    outcomes: list[Outcome] = [words[action] for action in finding.actions]  # type: ignore[misc]
    return [
        Said(
            policy.name, policy.kind, finding.binding or "", outcome, finding.message, finding.error
        )
        for outcome in outcomes
    ]
