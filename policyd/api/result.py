"""The decision of policies about one request, as typed values. Decides nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from policyd.json_types import JSONObject

Action = Literal["Deny", "Warn", "Audit"]
_SHOWN_CHARS = 120


@dataclass(frozen=True, slots=True)
class PolicyViolation:
    """One validation that failed, or one error, under one binding of a policy.

    ``kind`` is the policy's: ``ValidatingAdmissionPolicy``, ``MutatingAdmissionPolicy`` or
    ``Policy``. ``binding`` is empty if the binding is part of the policy, or the error concerns all
    bindings. ``message`` is the policy's own, without the ``policy '…' denied request: `` that
    ``ReviewResult.message`` begins with. ``reason`` is a StatusReason of Kubernetes (``Invalid``,
    ``Forbidden`` …; k8s.io/apimachinery pkg/apis/meta/v1/types.go). ``actions`` are the binding's
    validationActions. ``index`` counts ``spec.validations`` from 0; 0 for an error without one.
    ``field`` is the path of the field at fault, as in ``status.details.causes`` of a review's
    response (``spec.containers[0].image``); empty if it is not known.

    ``rollout`` says why the policy's rollout does not enforce a denial, and ``actions`` are then
    the rollout's; otherwise it is empty.

    ``error`` distinguishes an evaluation or configuration error from a false validation. An error
    that failurePolicy Ignore lets pass is not a violation.
    """

    policy: str
    kind: str
    binding: str
    message: str
    reason: str
    actions: tuple[Action, ...]
    index: int = 0
    error: bool = False
    rollout: str = ""
    field: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class ReviewResult:
    """The decision about one request.

    ``code`` (an HTTP status), ``reason`` and ``message`` are fields of the Status that the API
    server's client sees, without the ``RESOURCE "NAME" is forbidden: `` that the API server puts in
    front; 0 and empty if allowed. ``message`` has a line for each denial. ``warnings`` are the
    Warning headers. ``audit_annotations`` are those in the webhook's response: the API server
    prefixes each key with the webhook's name.

    ``patch`` is the JSON Patch (RFC 6902) of the mutating webhook, a list of operations like
    ``{"op": "add", "path": "/metadata/labels", "value": {}}``; empty if nothing changed.
    ``object`` is the object after the patch: the request's if nothing changed, None for DELETE.
    Both are plain JSON values that share unchanged parts with the request: copy them before you
    change them.

    ``violations`` contains every violation, including those with the actions Warn and Audit, in the
    order of decisions: decisions of the mutating webhook first, then by policy name.
    """

    allowed: bool
    code: int = 0
    reason: str = ""
    message: str = ""
    warnings: tuple[str, ...] = ()
    audit_annotations: Mapping[str, str] = field(default_factory=dict)
    patch: list[JSONObject] = field(default_factory=list)
    object: JSONObject | None = None
    violations: tuple[PolicyViolation, ...] = ()

    def __repr__(self) -> str:
        first_line = self.message.partition("\n")[0]
        parts = ["allowed" if self.allowed else f"denied {self.code} {self.reason}: {first_line}"]
        if len(parts[0]) > _SHOWN_CHARS:
            parts[0] = parts[0][:_SHOWN_CHARS] + "…"
        for count, name in (
            (len(self.patch), "patch operation"),
            (len(self.warnings), "warning"),
            (len(self.violations), "violation"),
        ):
            if count:
                parts.append(f"{count} {name}{'s' if count > 1 else ''}")
        return f"<ReviewResult {', '.join(parts)}>"
