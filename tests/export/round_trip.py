"""The answers of policies and of their export, both by policyd: mutation, then validation of what came
of it. No tests here.
"""

import copy
import re
from base64 import b64decode
from collections.abc import Iterable, Sequence
from typing import Any

import jsonpatch
import orjson

from policyd.api.policy_set import PolicySet
from policyd.export.exported_policies import exported
from policyd.export.model import ExportedPolicy
from policyd.json_types import JSONObject
from policyd.policy.compile.compiler import compile_strict
from policyd.policy.source.loader import load_built
from policyd.versions import NEWEST, KubernetesVersion

# What is seen of an answer.
Seen = dict[str, Any]

# What only policyd writes: which policy of an export it was, and the expression of an error.
_PREFIX = re.compile(
    r"(?:ValidatingAdmissionP|p)olicy '[^']*'(?: with binding '[^']*')? denied request: "
)
_WARNING = re.compile(r"for (?:ValidatingAdmissionP|p)olicy '[^']*'(?: with binding '[^']*')?: ")
_QUOTED = re.compile(r"(?s)(?:overlay: )?expression '.*' resulted in error: ")
_MORE = re.compile("\n… and [0-9]+ more$")
_PATCHING = re.compile("JSON Patch: |error applying patch: ")
_TEMPLATE = re.compile(r"([/.])spec\1(?:jobTemplate\1spec\1)?template(?=\1)")
_SUFFIX = re.compile(r"(?:-templates|-cronjobs)(?=\.)")


def export_of(
    documents: Sequence[JSONObject], version: KubernetesVersion = NEWEST
) -> tuple[ExportedPolicy, ...]:
    """The export of policies without problems."""
    sources = load_built(documents, version=version)
    assert sources.problems == ()
    return exported(sources)


def differences(
    documents: Sequence[JSONObject],
    export: Iterable[ExportedPolicy],
    requests: Iterable[JSONObject],
    version: KubernetesVersion = NEWEST,
) -> list[str]:
    """In what the export of the documents answers requests otherwise than they do."""
    exports = [document for policy in export for document in policy.documents]
    source, target = (
        PolicySet(compile_strict(load_built(each, version=version)))
        for each in (documents, exports)
    )
    found = []
    for request in requests:
        want, got = answer(source, request), answer(target, request)
        keys = [key for key in want if want[key] != got[key]]
        if keys:
            shown = "; ".join(f"{key}: want {want[key]!r}, got {got[key]!r}" for key in keys)
            found.append(f"{request['operation']} {request['kind']['kind']}: {shown}")
    return found


def answer(policies: PolicySet, request: JSONObject) -> Seen:
    """What a user sees of a request."""
    response = _response(policies, request, "mutate")
    after = copy.deepcopy(request["object"])
    if "patch" in response:
        after = jsonpatch.apply_patch(after, orjson.loads(b64decode(response["patch"])))
    annotations = dict(response.get("auditAnnotations") or {})
    warnings = list(response.get("warnings") or ())
    if response["allowed"]:
        response = _response(policies, {**request, "object": after}, "validate")
        annotations |= response.get("auditAnnotations") or {}
        warnings += response.get("warnings") or ()
    status = response.get("status") or {}
    return {
        "allowed": response["allowed"],
        "code": status.get("code"),
        "reason": status.get("reason"),
        "message": _first(str(status.get("message", ""))),
        "warnings": [_QUOTED.sub("error: ", _WARNING.sub("", each)) for each in warnings],
        "annotations": {
            _SUFFIX.sub("", key): value
            for key, value in annotations.items()
            if key not in ("generation", "validation_failure") and not key.startswith("exception.")
        },
        "object": after if response["allowed"] else None,
    }


def _response(policies: PolicySet, request: JSONObject, webhook: Any) -> Any:
    head = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    return policies.review({**head, "request": request}, webhook)["response"]


def _first(message: str) -> str:
    """The first denial of a message that has one a line, as its policy words it."""
    begins = [each.end() for each in _PREFIX.finditer(message)]
    if not begins:
        return without_template(message)
    starts = [each.start() for each in _PREFIX.finditer(message)][1:]
    own = _MORE.sub("", message[begins[0] : starts[0] - 1 if starts else None])
    return without_template(_QUOTED.sub("error: ", own))


def without_template(message: str) -> str:
    """A message of a patch that cannot be applied, which names the place: that of an export may be in
    the template of a controller.
    """
    return _TEMPLATE.sub("", message) if _PATCHING.search(message) else message
