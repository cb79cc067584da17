"""Build the AdmissionReview of a case: its request, with the changes of a table's row."""

from policyd.json_types import JSONObject
from policyd.policy.checks.suite import changed_object, path_of
from policyd.policy.kinds.mapping import BUILT_IN, ResourceMapper
from policyd.policy.model.base import camel
from policyd.policy.model.changes import PathError
from policyd.policy.model.findings import path_text
from policyd.policy.model.suite_cases import SuiteCase
from policyd.policy.source.loaded_documents import Document
from policyd.policy.suite.case_files import CaseError, one_object
from policyd.policy.suite.reviews import ResourceNeeded, build_review

# Fields that are no part of an AdmissionRequest, or are built.
_BUILT = frozenset(
    ("object", "object_file", "old_object", "old_object_file", "operation", "namespace_labels")
)

_TRIPLES = ("kind", "resource", "request_kind", "request_resource")


def review_of(case: SuiteCase, suite: Document, mapper: ResourceMapper = BUILT_IN) -> JSONObject:
    """Return the AdmissionReview that a case describes; ``mapper`` knows the kinds of the policies.
    Raises CaseError, and OSError for a file that cannot be read.
    """
    request = case.request
    whole = _given(suite, request.review, request.review_file)
    if whole is not None:
        if "request" in whole:
            return whole
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": whole}
    obj = _given(suite, request.object, request.object_file)
    old = _given(suite, request.old_object, request.old_object_file)
    if case.changes or case.removed:
        if obj is None:
            old = _changed(old or {}, case, suite)
        else:
            # An UPDATE without an old object is one of the object before the changes.
            old = obj if old is None and request.operation == "UPDATE" else old
            obj = _changed(obj, case, suite)
    given = request.plain_given(_BUILT)
    for field in _TRIPLES:
        triple = getattr(request, field)
        if triple is not None:  # with its empty group, which the API server sends too
            given[camel(field)] = triple.plain()
    try:
        return build_review(
            obj, old_object=old, operation=request.operation, overrides=given, mapper=mapper
        )
    except ResourceNeeded as error:
        raise CaseError(
            f"{error}: set request.resource, such as {{group: apps, version: v1, resource: "
            "deployments}"
        ) from None


def _given(suite: Document, inline: JSONObject | None, file: str | None) -> JSONObject | None:
    if inline is not None or file is None:
        return inline
    return one_object(suite, file)


def _changed(obj: JSONObject, case: SuiteCase, suite: Document) -> JSONObject:
    try:
        return changed_object(obj, case)
    except PathError as error:
        at_key = error.path in case.changes
        line, _ = suite.origin.find(path_text(path_of(case, error)), at_key=at_key)
        hint = f"; {error.hint}" if error.hint else ""
        path = "" if error.message.startswith(f"{error.path}: ") else f"{error.path}: "
        raise CaseError(f"{path}{error.message}{hint}", line) from None
