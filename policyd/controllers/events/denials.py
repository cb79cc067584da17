"""The content of an Event about one denial, and the object it regards. Writes nothing.

The object of a denied CREATE does not exist, so nobody can describe it. If a controller sent the
request, the Event regards the owner: ``kubectl describe replicaset`` shows why there are no Pods.
"""

from typing import NamedTuple

from policyd.admission.confidential import WITHHELD, is_confidential
from policyd.admission.metadata import (
    controller_reference,
    generated_from,
    metadata_string,
    object_name,
)
from policyd.admission.recorder import PolicyEvent
from policyd.admission.review import AdmissionRequest
from policyd.bounded_text import encodable
from policyd.policy.kinds.builtin import BUILTIN_KINDS
from policyd.policy.kinds.plural import plural

VIOLATION, ERROR = "PolicyViolation", "PolicyError"
# Kubernetes keeps the Events of cluster-scoped objects here.
DEFAULT_NAMESPACE = "default"
# Bytes of a note in events.k8s.io/v1; core/v1 has no limit.
MOST_NOTE_BYTES = 1024
_CUT = "…"
_MOST_NAME = 253  # characters of the longest name in Kubernetes
_EVENT_GROUPS = ("", "events.k8s.io")
# (group, resource) -> (apiVersion, kind), for subresources, whose objects may have other kinds.
_KINDS = {
    (api_version.rpartition("/")[0], plural(kind)): (api_version, kind)
    for api_version, kind in BUILTIN_KINDS
}


class Regarding(NamedTuple):
    """The object that an Event regards; ``uid`` is empty if it does not exist yet."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class ReportedDenial(NamedTuple):
    """The content of an Event. Equal denials are one Event with a count."""

    regarding: Regarding
    reason: str
    note: str

    @property
    def namespace(self) -> str:
        """Return the namespace of the Event."""
        return self.regarding.namespace or DEFAULT_NAMESPACE


def reported(request: AdmissionRequest, event: PolicyEvent) -> ReportedDenial | None:
    """Return the denial to report for an event of a policy; None for no report.

    Denied requests about Events are not reported: they could cause endless further denials.
    """
    if event.effect != "denied" or request.dry_run or _about_events(request):
        return None
    name = object_name(request)
    shown, message = name, event.message
    prefix = generated_from(request)
    if prefix:
        # Each attempt has another name but the same Event.
        name, shown = prefix, f"{prefix}*"
        if request.name:
            message = message.replace(request.name, shown)
    if is_confidential(request):
        message = WITHHELD
    kind = request.kind[2]
    if request.sub_resource:
        kind = f"{_kind(request)[1]}/{request.sub_resource}"
    how = "denied by" if event.what == "denial" else "denied because of an error of"
    note = f"{request.operation} of {kind} {shown} {how} policy {event.policy}: {message}"
    reason = VIOLATION if event.what == "denial" else ERROR
    return ReportedDenial(_regarding(request, name), reason, _bounded(note))


def _about_events(request: AdmissionRequest) -> bool:
    group, _, resource = request.resource
    return resource == "events" and group in _EVENT_GROUPS


def _regarding(request: AdmissionRequest, name: str) -> Regarding:
    namespace = "" if request.is_namespace else request.namespace
    creates = request.operation == "CREATE" and not request.sub_resource
    owner = _owner(request, namespace) if creates else None
    if owner is not None:
        return owner
    known = request.operation in ("UPDATE", "DELETE")
    uid = metadata_string(request, "uid") if known else ""
    return _bounded_reference(*_kind(request), namespace, name, uid)


def _owner(request: AdmissionRequest, namespace: str) -> Regarding | None:
    """Return the owner that controls the object, if its Events belong in the object's namespace: a
    Node, which owns static Pods, has its Events elsewhere.
    """
    reference = controller_reference(request)
    found = [reference.get(field) for field in ("apiVersion", "kind", "name", "uid")]
    if not all(isinstance(each, str) for each in found):
        return None
    api_version, kind, name, uid = map(str, found)
    if not BUILTIN_KINDS.get((api_version, kind), True) and namespace:
        return None
    return _bounded_reference(api_version, kind, namespace, name, uid)


def _bounded_reference(*fields: str) -> Regarding:
    """Return a reference with strings of valid length: other clients could send longer ones."""
    return Regarding(*(encodable(each[:_MOST_NAME]) for each in fields))


def _kind(request: AdmissionRequest) -> tuple[str, str]:
    """Return apiVersion and kind of the object, even if the request is about a subresource."""
    group, version, resource = request.resource
    if request.sub_resource and (group, resource) in _KINDS:
        return _KINDS[group, resource]
    group, version, kind = request.kind
    return (f"{group}/{version}" if group else version), kind


def _bounded(note: str) -> str:
    """Return the note within its limit."""
    note = encodable(note[: MOST_NOTE_BYTES + 1])
    encoded = note.encode()
    if len(encoded) <= MOST_NOTE_BYTES:
        return note
    return encoded[: MOST_NOTE_BYTES - len(_CUT.encode())].decode(errors="ignore") + _CUT
