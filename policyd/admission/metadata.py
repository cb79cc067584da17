"""Reads the metadata of a request's object, and finds its name. An unreadable part is absent.

generateName counts only while the API server makes a name from it: anyone with permission to update
an object can change it.
"""

from typing import Any

from policyd.admission.review import AdmissionRequest
from policyd.json_types import object_in
from policyd.policy.kinds.generated_names import is_made_of, unfinished


def metadata_string(request: AdmissionRequest, key: str) -> str:
    """Return a string of the object's metadata, of oldObject's if there is no object, or ""."""
    found = _metadata(request).get(key)
    return found if isinstance(found, str) else ""


def object_name(request: AdmissionRequest) -> str:
    """Return the name of the object, or "" if it has none yet. The requests of a deletecollection
    name the object only in ``oldObject``.
    """
    if request.name or request.sub_resource:
        return request.name
    return metadata_string(request, "name")


def generated_from(request: AdmissionRequest) -> str:
    """Return the generateName from which the API server will make, or has just made, the object's
    name; "" if there is none.
    """
    if request.operation != "CREATE" or request.sub_resource:
        return ""
    prefix, name = metadata_string(request, "generateName"), object_name(request)
    return prefix if not name or is_made_of(name, prefix) else ""


def name_so_far(request: AdmissionRequest) -> str:
    """Return the name of the object, with UNKNOWN for a suffix that is not generated yet."""
    return object_name(request) or unfinished(generated_from(request))


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
    return object_in(request.object or request.old_object, "metadata")
