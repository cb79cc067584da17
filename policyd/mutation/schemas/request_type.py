"""The Go type of ``request`` (k8s.io/api admission/v1), for which no API server has a schema.
``options`` are JSON in Go too.
"""

import functools

from policyd._core.schema.types import Field
from policyd.json_types import JSONObject
from policyd.mutation.schemas.type_builder import Builder

REQUEST_KIND = ("admission.k8s.io", "v1", "AdmissionRequest")
_KIND, _RESOURCE = "v1.GroupVersionKind", "v1.GroupVersionResource"
_TEXT: JSONObject = {"type": "string", "go": "string"}
_TEXTS: JSONObject = {"type": "array", "items": _TEXT, "go": "[]string"}
_EXTRA: JSONObject = {
    "type": "object",
    "go": "map[string]v1.ExtraValue",
    "additionalProperties": {**_TEXTS, "go": "v1.ExtraValue"},
}


@functools.cache
def request_type() -> Field:
    user = _struct("v1.UserInfo", {"groups": _TEXTS, "extra": _EXTRA})
    # Two fields of one named type can be compared.
    names = (_names(_KIND, "kind"), _names(_RESOURCE, "resource"))
    builder = Builder({each["go"]: each for each in names}.__getitem__)
    members = {
        "kind": {"$ref": _KIND, "go": _KIND},
        "requestKind": {"$ref": _KIND, "go": _KIND},
        "resource": {"$ref": _RESOURCE, "go": _RESOURCE},
        "requestResource": {"$ref": _RESOURCE, "go": _RESOURCE},
        "userInfo": user,
    }
    return builder.field(_struct("v1.AdmissionRequest", members), preserve=False)


def _names(go: str, last: str) -> JSONObject:
    return _struct(go, dict.fromkeys(("group", "version", last), _TEXT))


def _struct(go: str, members: JSONObject) -> JSONObject:
    return {"type": "object", "go": go, "properties": members}
