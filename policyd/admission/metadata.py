"""Read the metadata of a request's object, for answers and logs. An unreadable part is absent."""

from typing import Any

from policyd.admission.review import AdmissionRequest


def metadata_string(request: AdmissionRequest, key: str) -> str:
    """Return a string of the object's metadata, of oldObject's if there is no object, or ""."""
    found = _metadata(request).get(key)
    return found if isinstance(found, str) else ""


def controller_of(request: AdmissionRequest) -> str:
    """Return the owner that controls the object as ``KIND/NAME``, or ""."""
    owner = controller_reference(request)
    kind, name = owner.get("kind"), owner.get("name")
    return f"{kind}/{name}" if isinstance(kind, str) and isinstance(name, str) else ""


def controller_reference(request: AdmissionRequest) -> dict[str, Any]:
    """Return the ownerReference of the owner that controls the object; empty if there is none."""
    owners = _metadata(request).get("ownerReferences")
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, dict) and owner.get("controller") is True:
            return owner
    return {}


def _metadata(request: AdmissionRequest) -> dict[str, Any]:
    found = (request.object or request.old_object or {}).get("metadata")
    return found if isinstance(found, dict) else {}
