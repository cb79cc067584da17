"""What the log and the recent denials show of a request: who wanted what, but not the object."""

import time

from policyd.admission.confidential import WITHHELD, is_confidential
from policyd.admission.metadata import controller_of, metadata_string
from policyd.admission.recorder import PolicyEvent
from policyd.admission.review import AdmissionRequest

Value = str | int | float | bool | list[str] | None


def fields_of(request: AdmissionRequest, event: PolicyEvent) -> dict[str, Value]:
    """Return the fields of one event of a request; those without a value are empty or None. The
    owner is there because controllers, not users, create most Pods.
    """
    group, version, resource = request.resource
    resource = f"{resource}/{request.sub_resource}" if request.sub_resource else resource
    return {
        "uid": request.uid,
        "policy": event.policy,
        "effect": event.effect,
        "exception": event.exception,
        "rollout": event.rollout,
        "generation": event.generation,
        "operation": request.operation,
        "resource": "/".join(part for part in (group, version, resource) if part),
        "namespace": request.namespace,
        "name": request.name,
        "generateName": "" if request.name else metadata_string(request, "generateName"),
        "owner": controller_of(request),
        "user": request.user_info.get("username"),
        "dryRun": request.dry_run or None,
    }


def message_of_event(request: AdmissionRequest, event: PolicyEvent) -> str:
    """Return the policy's own message. It is withheld if it may quote the value of a Secret or a
    token; the reason of an exception is the policy's own.
    """
    return event.message if event.exception or not is_confidential(request) else WITHHELD


def timestamp(seconds: float) -> str:
    """Return a time as logs have it."""
    whole, milliseconds = divmod(int(seconds * 1000), 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{milliseconds:03}Z"
