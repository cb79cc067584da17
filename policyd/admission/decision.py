"""Build one AdmissionResponse from the findings of policies: actions, messages, codes, limits.
Evaluates nothing.

Messages, codes and reasons of ValidatingAdmissionPolicy and MutatingAdmissionPolicy are the ones of
Kubernetes (k8s.io/apiserver, admission/plugin/policy), without the leading
`RESOURCE "NAME" is forbidden: `. kubectl prints the message, or for the reason Invalid only the
details: ``The KIND "NAME" is invalid: FIELD: CAUSE``, with one line for each cause if there are
several.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from policyd._core.go.printing import JSON_ESCAPES
from policyd.admission.metadata import metadata_string, object_name
from policyd.admission.review import AdmissionRequest, AdmissionResponse, Cause, ObjectDetails
from policyd.bounded_text import MAX_CAUSES_CHARS, MAX_STATUS_CHARS
from policyd.policy.compile.compiled import CompiledPolicy

REASON_CODES = {
    "Unauthorized": 401,
    "Forbidden": 403,
    "Invalid": 422,
    "RequestEntityTooLarge": 413,
}
MAX_AUDIT_FAILURES = 50
MAX_ANNOTATION_BYTES = 10 * 1024
# All audit annotations of one response; the API server writes them into one line of its log.
MAX_ANNOTATIONS_CHARS = 512 * 1024
# The API server's limits on Warning headers: in total, and for each one if the total is exceeded.
MAX_WARNINGS_CHARS = 4096
CUT_WARNING_CHARS = 256
MAX_KEY_CHARS = 63
LEFT_OUT = "… (left out: the audit annotations are too large)"
_HASH_CHARS = 8
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(slots=True)  # frozen would triple the cost of creating one
class Finding:
    """One violation or error of a policy for the request, under one binding and param; never
    changed.

    ``binding`` is None if the message names none. ``code`` 0 means the code follows from
    ``reason``. ``error`` distinguishes an error from a false validation. ``field`` is the path of
    the field at fault, if known. ``rollout`` is why a denial is not enforced: then ``actions`` are
    the rollout's.
    """

    policy: CompiledPolicy
    binding: str | None
    message: str
    reason: str = "Invalid"
    index: int = 0
    actions: tuple[str, ...] = ("Deny",)
    code: int = 0
    error: bool = False
    field: str = ""
    rollout: str = ""


@dataclass(slots=True)
class Verdict:
    """The findings of all policies for one request, in the order of decisions; filled by
    ``Findings``. ``refusal`` is the error that fails the request regardless of failurePolicy;
    ``held`` is why policies with a rollout, by ``sort_key``, are not enforced; empty if they are.
    """

    findings: list[Finding] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    refusal: Finding | None = None
    held: dict[tuple[str, str], str] | None = None
    _exempted: set[tuple[str, ...]] | None = None
    _seen: dict[str, set[str]] | None = None
    _annotated: int = 0

    def annotate(self, policy: str, key: str, value: str) -> None:
        """Add an audit annotation; merge distinct values of several bindings as Kubernetes does."""
        name = annotation_key(f"{policy}.{key}")
        value = _cut_bytes(value, MAX_ANNOTATION_BYTES)
        if self._seen is None:
            self._seen = {}
        seen = self._seen.setdefault(name, set())
        if value in seen:
            return
        self._annotated += len(value)
        if self._annotated > MAX_ANNOTATIONS_CHARS:
            value = LEFT_OUT
        before = self.annotations.get(name)
        if before is None:
            self.annotations[name] = value
        elif value not in seen:
            self.annotations[name] = f"{before}, {value}"
        seen.add(value)

    def exempt(self, policy: str, exemption: str, reason: str) -> None:
        """Add an exception to the audit annotation of its policy."""
        self.annotate("exception", policy, f"{exemption}: {reason}" if reason else exemption)

    def stage(self, policy: str, decision: str, why: str) -> None:
        """Add the audit annotation of a rollout that does not enforce a policy."""
        self.annotations[annotation_key(f"rollout.{policy}")] = f"{decision}: {why}"

    def exempts_first(self, *key: str) -> bool:
        """Return whether this is the first call with ``key``: a policy, or one of its exceptions.
        Several params and the second round of mutations concern the same request.
        """
        if self._exempted is None:
            self._exempted = set()
        first = key not in self._exempted
        self._exempted.add(key)
        return first


def annotation_key(key: str) -> str:
    """Return ``key`` in the form that the API server accepts: no slash, at most 63 characters; a
    longer key is cut and gets a hash.
    """
    key = key.replace("/", ".")
    if len(key) <= MAX_KEY_CHARS:
        return key
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    return f"{key[: MAX_KEY_CHARS - _HASH_CHARS - 1]}-{digest}"


def admitted(request: AdmissionRequest, generation: str) -> AdmissionResponse:
    """Return the response if no policy has a finding."""
    return AdmissionResponse(request.uid, True, audit_annotations={"generation": generation})


def respond(
    request: AdmissionRequest, verdict: Verdict, generation: str, patch: bytes | None = None
) -> AdmissionResponse:
    """Return the response for ``verdict``. Only a Deny action, or an error that fails the request
    regardless of failurePolicy, denies the request.
    """
    if verdict.refusal is not None:
        return _refused(request, verdict.refusal, generation)
    if not verdict.findings:
        annotations = {**verdict.annotations, "generation": generation}
        return AdmissionResponse(request.uid, True, audit_annotations=annotations, patch=patch)
    denials = [finding for finding in verdict.findings if "Deny" in finding.actions]
    annotations = _audit(verdict, generation)
    warnings = limited([_warning(f) for f in verdict.findings if "Warn" in f.actions])
    if not denials:
        return AdmissionResponse(
            request.uid, True, warnings=warnings, audit_annotations=annotations, patch=patch
        )
    first = denials[0]
    texts = [_denial(finding) for finding in denials]
    return AdmissionResponse(
        request.uid,
        False,
        first.code or REASON_CODES.get(first.reason, 422),
        first.reason,
        message_of(texts),
        bounded_causes(list(map(_cause, denials, texts))),
        warnings,
        annotations,
        None,
        details_of(request),
    )


def _refused(request: AdmissionRequest, refusal: Finding, generation: str) -> AdmissionResponse:
    """Return the response for an error that fails the request: the message of Kubernetes, followed
    by the policy at fault.
    """
    bound = f" with binding '{refusal.binding}'" if refusal.binding is not None else ""
    text = f"{refusal.message} (mutation of policy '{refusal.policy.name}'{bound})"
    internal = refusal.reason == "InternalError"
    return AdmissionResponse(
        uid=request.uid,
        allowed=False,
        code=refusal.code,
        reason=refusal.reason,
        message=f"Internal error occurred: {text}" if internal else text,
        causes=(Cause(text),) if internal else (),
        details=details_of(request),
        audit_annotations={"generation": generation},
    )


def _cause(finding: Finding, text: str) -> Cause:
    """Return a denial with its ``text`` as a cause; without a field for the kinds of Kubernetes, as
    in Kubernetes.
    """
    path = finding.field
    if not path or finding.policy.kind != "Policy":
        return Cause(text)
    # The message of a pattern also has the path; kubectl prints the field before the message.
    place = f"{path}: "
    message = text.replace(f"({place}", "(", 1)
    message = message.replace(f" denied request: {place}", " denied request: ", 1)
    reason = "FieldValueInvalid" if finding.reason == "Invalid" and not finding.error else ""
    return Cause(message, path, reason)


def _denial(finding: Finding) -> str:
    policy, binding = finding.policy, finding.binding
    match policy.kind:
        case "ValidatingAdmissionPolicy":
            bound = f" with binding '{binding}'" if binding is not None else ""
            return f"{policy.kind} '{policy.name}'{bound} denied request: {finding.message}"
        case "MutatingAdmissionPolicy":
            if binding is None:
                return f'policy "{policy.name}" denied request: {finding.message}'
            return (
                f"policy '{policy.name}' with binding '{binding}' denied request: {finding.message}"
            )
        case "Policy":
            return f"policy '{policy.name}' denied request: {finding.message}"


def _warning(finding: Finding) -> str:
    policy = finding.policy
    if policy.kind == "Policy":
        # The API server silently drops a warning with a control character.
        line = _CONTROL.sub(" ", finding.message)
        return f"Validation failed for policy '{policy.name}': {line}"
    bound = f" with binding '{finding.binding}'" if finding.binding is not None else ""
    return f"Validation failed for {policy.kind} '{policy.name}'{bound}: {finding.message}"


def limited(warnings: list[str]) -> tuple[str, ...]:
    """Remove duplicate warnings; over the API's limit, cut each one and drop the last ones."""
    if not warnings:
        return ()
    # The API server would silently drop a warning with a control character.
    lines = [line for line in dict.fromkeys(warnings) if not _CONTROL.search(line)]
    if sum(map(len, lines)) <= MAX_WARNINGS_CHARS:
        return tuple(lines)
    kept: list[str] = []
    total = 0
    for line in lines:
        if total >= MAX_WARNINGS_CHARS:
            break
        kept.append(line[:CUT_WARNING_CHARS])
        total += len(kept[-1])
    return tuple(kept)


def _audit(verdict: Verdict, generation: str) -> dict[str, str]:
    annotations = {**verdict.annotations, "generation": generation}
    failures = [finding for finding in verdict.findings if "Audit" in finding.actions]
    if failures:
        rows = [_failure(finding) for finding in failures[:MAX_AUDIT_FAILURES]]
        text = json.dumps(rows, separators=(",", ":"), ensure_ascii=False)
        annotations["validation_failure"] = text.translate(JSON_ESCAPES)
    return annotations


def _failure(finding: Finding) -> dict[str, object]:
    row: dict[str, object] = {"message": finding.message, "policy": finding.policy.name}
    if finding.policy.kind != "Policy":
        row["binding"] = finding.binding
    row["expressionIndex"] = finding.index
    row["validationActions"] = list(finding.actions)
    return row


def _cut_bytes(text: str, limit: int) -> str:
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= limit:
        return text
    return raw[:limit].decode("utf-8", "ignore")


# Kubernetes' word for an object without a name, such as a deletecollection's
# (k8s.io/apiserver pkg/admission/errors.go).
NAMELESS = "Unknown"


def message_of(texts: Sequence[str]) -> str:
    """Return the texts of all denials, one per line: the first one unchanged, then the distinct
    others that fit, and the number of those left out.
    """
    first, *others = texts
    if not others:
        return first
    lines = [first]
    room = MAX_STATUS_CHARS - len(first)
    distinct = dict.fromkeys(map(_on_one_line, others))
    distinct.pop(first, None)
    for index, line in enumerate(distinct):
        room -= len(line) + 1
        if room < 0:
            lines.append(f"… and {len(distinct) - index} more")
            break
        lines.append(line)
    return "\n".join(lines)


def bounded_causes(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    """Return the first cause, the others that fit, and the number of causes left out."""
    room = MAX_CAUSES_CHARS
    for index, cause in enumerate(causes[1:], 1):
        room -= len(cause.text)
        if room < 0:
            return (*causes[:index], Cause(f"… and {len(causes) - index} more"))
    return tuple(causes)


def details_of(request: AdmissionRequest) -> ObjectDetails:
    """Return the object of the client as Kubernetes describes it: its name or generateName, and
    the resource as its kind.
    """
    asked = request.raw.get("requestResource") or request.raw["resource"]
    name = object_name(request) or metadata_string(request, "generateName") or NAMELESS
    return ObjectDetails(name, asked.get("group") or "", asked["resource"])


def _on_one_line(text: str) -> str:
    return " ".join(text.split()) if "\n" in text else text
