"""Find what does not fit its kind in the objects of a suite and of the files that it names. Runs no
case.
"""

import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from policyd.errors import Problem
from policyd.json_types import FieldPath, JSONObject
from policyd.mutation.schemas.schemas import Schemas, field_below
from policyd.policy.kinds.misfits import RULE, misfits, misfits_of, root_of
from policyd.policy.model.changes import PathError, parts_of
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.suite import PolicyTest
from policyd.policy.model.suite_cases import SuiteCase, cases_of
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.loader import fixture_names
from policyd.policy.suite.case_files import CaseError, documents

_OBJECTS = ("object", "oldObject")


def suite_misfits(suite: Document, schemas: Schemas) -> Iterator[Problem]:
    """Yield what does not fit, each with its place, as advice. Values that an alias repeats are
    reported where it is written.
    """
    seen: set[tuple[int, int, str]] = set()
    for finding in _findings(suite, schemas):
        problem = suite.problem(finding, "advice")
        place = (problem.line, problem.column, problem.message)
        if place not in seen:
            seen.add(place)
            yield problem
    for name in dict.fromkeys(fixture_names(suite)):
        # The runner of the case reports unreadable files.
        with suppress(CaseError, OSError, ValueError, EOFError, zlib.error):
            for document in documents(suite, name):
                found = misfits(document.raw, schemas)
                yield from (document.problem(each, "advice") for each in found)


def _findings(suite: Document, schemas: Schemas) -> Iterator[FormProblem]:
    for path, obj in _objects(suite.raw):
        yield from misfits(obj, schemas, path)
    if isinstance(suite.model, PolicyTest):
        for case in cases_of(suite.model):
            yield from _changes(case, schemas)
            yield from _of_operation(case)


def _of_operation(case: SuiteCase) -> Iterator[FormProblem]:
    """Yield the objects that requests of the case's operation never have."""
    request = case.request
    given = {
        "DELETE": {"object": request.object, "objectFile": request.object_file},
        "CREATE": {"oldObject": request.old_object, "oldObjectFile": request.old_object_file},
    }
    hints = {"DELETE": "write oldObject for what is deleted", "CREATE": "write operation: UPDATE"}
    operation = request.operation or ""
    for field, value in given.get(operation, {}).items():
        if value is not None:
            message, hint = f"a {operation} has no {field}", hints[operation]
            yield FormProblem((*case.path, "request", field), message, hint, True, RULE)


def _objects(suite: JSONObject) -> Iterator[tuple[FieldPath, Any]]:
    """Yield every object that is written in a suite, with its place."""
    yield from _state((), suite)
    for at, case in _items((), suite, "cases"):
        for path, test in ((at, case), *_items(at, case, "table")):
            yield from _state(path, test)
            yield from _request(path, test)
            yield from _request((*path, "request"), test.get("request"))
            expect = test.get("expect")
            if isinstance(expect, dict):
                yield (*path, "expect", "patched"), expect.get("patched")


def _state(at: FieldPath, holder: JSONObject) -> Iterator[tuple[FieldPath, Any]]:
    for field in ("params", "reads"):
        yield from _items(at, holder, field)


def _request(at: FieldPath, request: Any) -> Iterator[tuple[FieldPath, Any]]:
    """Yield the objects of a request, and of the AdmissionReview that it may be."""
    if isinstance(request, dict):
        yield from (((*at, each), request.get(each)) for each in _OBJECTS)
        for field in ("review", "request"):
            yield from _request((*at, field), request.get(field)) if field in request else ()


def _items(at: FieldPath, holder: JSONObject, field: str) -> Iterator[tuple[FieldPath, JSONObject]]:
    listed = holder.get(field)
    for index, each in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(each, dict):
            yield (*at, field, index), each


def _changes(case: SuiteCase, schemas: Schemas) -> Iterator[FormProblem]:
    """Yield what does not fit in the values that a row sets."""
    request = case.request
    root = root_of(request.object if request.object is not None else request.old_object, schemas)
    for path, value in case.changes.items():
        field = root
        with suppress(PathError):  # a problem of the suite
            for part in parts_of(path):
                field = None if field is None else field_below(field, part)
            if field is not None:
                yield from misfits_of(value, field, (*case.path, "set", path))
