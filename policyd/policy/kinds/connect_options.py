"""The schemas of the options of CONNECT requests, as k8s.io/api, ``core/v1`` declares them: OpenAPI
documents have them only as parameters. They have no metadata.
"""

from policyd.json_types import JSON, JSONObject
from policyd.policy.kinds.subresources import SUBRESOURCES

_BOOLEAN: JSONObject = {"type": "boolean", "omit": "empty"}
_STRING: JSONObject = {"type": "string", "omit": "empty"}
_STREAMS: JSONObject = {
    **dict.fromkeys(("stdin", "stdout", "stderr", "tty"), _BOOLEAN),
    "container": _STRING,
}
_FIELDS: dict[str, JSONObject] = {
    "attach": _STREAMS,
    "exec": {**_STREAMS, "command": {"type": "array", "items": {"type": "string"}}},
    "portforward": {"ports": {"type": "array", "items": {"type": "integer"}, "omit": "empty"}},
    "proxy": {"path": _STRING},
}


def _schema(kind: str, fields: JSONObject) -> JSONObject:
    own: dict[str, JSON] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
    return {"type": "object", "go": kind, "properties": {**own, **fields}}


# kind -> the schema; all are in the core group, v1.
CONNECT_OPTIONS = {
    each.kind[1]: _schema(each.kind[1], _FIELDS[each.subresource])
    for each in SUBRESOURCES
    if each.operation == "CONNECT"
}
