"""The parts of a request that the log and the recent denials show: user and names, no objects."""

import time
from functools import lru_cache
from typing import NamedTuple

from policyd.admission.confidential import WITHHELD, is_confidential
from policyd.admission.metadata import controller_of, generated_from, object_name
from policyd.admission.recorder import PolicyEvent
from policyd.admission.review import AdmissionRequest

Value = str | int | float | bool | list[str] | None


class Named(NamedTuple):
    """The names of a request and its object: plain strings, which keep nothing else alive. They
    include the owner because controllers, not users, create most Pods.
    """

    uid: str
    operation: str
    resource: tuple[str, str, str]
    sub_resource: str
    namespace: str
    name: str
    generate_name: str
    owner: str
    user: str
    dry_run: bool


def named(request: AdmissionRequest) -> Named:
    """Return the names of a request."""
    name = object_name(request)
    return Named(
        request.uid,
        request.operation,
        request.resource,
        request.sub_resource,
        request.namespace,
        name,
        "" if name else generated_from(request),
        controller_of(request),
        request.user_info.get("username") or "",
        request.dry_run,
    )


def fields_of(request: Named, event: PolicyEvent) -> dict[str, Value]:
    """Return the fields of one event of a request; those without a value are empty or None."""
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
        "generateName": request.generate_name,
        "owner": request.owner,
        "user": request.user,
        "dryRun": request.dry_run or None,
    }


def message_of_event(request: AdmissionRequest, event: PolicyEvent) -> str:
    """Return the policy's own message, withheld if it may quote the value of a Secret or a token.
    The reason of an exception quotes no object.
    """
    return event.message if event.exception or not is_confidential(request) else WITHHELD


def timestamp(seconds: float) -> str:
    """Return a time in the format of the log."""
    whole, milliseconds = divmod(int(seconds * 1000), 1000)
    return f"{_second(whole)}.{milliseconds:03}Z"


@lru_cache(maxsize=4)
def _second(seconds: int) -> str:
    """Return a whole second; cached, because many lines share it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
