"""Checks of suites: named cases, each with a request and an expectation, and the paths of tables.

Reads no files: the paths of a table over an ``objectFile`` are checked when its cases run.
"""

from collections.abc import Iterator, Sequence

from policyd.json_types import FieldPath, JSONObject, object_in
from policyd.mutation.schemas.schemas import Gvk, Schemas, field_below
from policyd.mutation.schemas.unknown_fields import field_hint
from policyd.policy.checks.match import check_metadata, duplicates, required
from policyd.policy.model.changes import PathError, changed, parts_of
from policyd.policy.model.findings import FormProblem, quoted
from policyd.policy.model.suite import Case, ClusterState, PolicyTest, SuiteRequest, TableRow
from policyd.policy.model.suite_cases import RIVALS, SuiteCase, cases_of

NO_EXPECTATION = "no-expectation"  # the rule of a case without expect, which `policyd test` can add
_KIND_FIELDS = {
    "apiVersion": "write apiVersion: v1 for a Pod and the like, apps/v1 for a Deployment",
    "kind": "write kind, such as kind: Pod",
}
_OBJECTS = {"object", "object_file", "old_object", "old_object_file"}
_REVIEWS = {"review", "review_file"}


def check_suite(suite: PolicyTest) -> Iterator[FormProblem]:
    """Check a suite: named cases, each with a request and an expectation."""
    yield from check_metadata(suite.metadata)
    if not suite.cases:
        yield required(("cases",), "a suite needs at least one case")
    if suite.policies is not None and not suite.policies:
        yield required(("policies",), "remove the field to test all policies")
    yield from _check_state(suite, ())
    yield from duplicates(("cases",), (case.name for case in suite.cases), "name")
    for index, case in enumerate(suite.cases):
        yield from _check_case(case, ("cases", index))
    names = {case.name for case in suite.cases if case.table is None}
    for each in cases_of(suite):
        if each.name in names and "table" in each.path:
            yield FormProblem((*each.path, "name"), f"Duplicate value: {quoted(each.name)}")
        yield from _check_request(each)


def changed_object(obj: JSONObject, case: SuiteCase) -> JSONObject:
    """Return the object of a row with its changes; raises PathError for a path that the object, or
    a kind of Kubernetes, does not have.
    """
    for path in case.changes:
        _check_names(obj, path)
    return changed(obj, case.changes, case.removed)


def path_of(case: SuiteCase, error: PathError) -> FieldPath:
    """Return the place of a wrong path in the suite."""
    if error.path in case.changes:
        return (*case.path, "set", error.path)
    return (*case.path, "remove", case.removed.index(error.path))


def _check_case(case: Case, path: FieldPath) -> Iterator[FormProblem]:
    yield from _check_given(case, path)
    if case.table is None:
        yield from _check_expectation(case, path)
        return
    if not case.table:
        yield required((*path, "table"), "a table needs at least one row")
    yield from duplicates((*path, "table"), (row.name for row in case.table), "name")
    for number, row in enumerate(case.table):
        at: FieldPath = (*path, "table", number)
        yield from _check_given(row, at)
        if row.expect is not None or case.expect is None:
            yield from _check_expectation(row, at)


def _check_given(case: Case | TableRow, path: FieldPath) -> Iterator[FormProblem]:
    """Check the name, the request and the state of a case or row."""
    if not case.name.strip():
        yield required((*path, "name"))
    yield from _check_rivals(case.request, (*path, "request"))
    yield from _check_kinds(case.request, (*path, "request"))
    yield from _check_state(case, path)


def _check_expectation(case: Case | TableRow, path: FieldPath) -> Iterator[FormProblem]:
    if case.expect is None or not case.expect.fields_given:
        yield FormProblem(
            (*path, "expect"),
            "Required value: at least allowed: true or false",
            "policyd test --update writes what it observes",
            rule=NO_EXPECTATION,
        )


def _check_rivals(request: SuiteRequest, path: FieldPath) -> Iterator[FormProblem]:
    for inline, file in RIVALS:
        if getattr(request, inline) is not None and getattr(request, file) is not None:
            names = SuiteRequest.fields
            one, other = (names[each].alias for each in (inline, file))
            wrong = f"Forbidden: {one} and {other} are mutually exclusive"
            yield FormProblem((*path, other), wrong, at_key=True)


def _check_request(case: SuiteCase) -> Iterator[FormProblem]:
    """Check the whole request of a test, and the paths that change its object."""
    request, at = case.request, (*case.path, "request")
    if _REVIEWS & request.fields_given:
        if request.fields_given - _REVIEWS - {"namespace_labels"}:
            yield FormProblem(at, "Forbidden: review and reviewFile exclude all other fields")
        if case.changes or case.removed:
            wrong = "Forbidden: set and remove change an object, and the request is a whole review"
            yield FormProblem(case.path, wrong, "use object or objectFile instead")
    elif not _OBJECTS & request.fields_given:
        yield required(at, "object, objectFile, oldObject, oldObjectFile, review or reviewFile")
    else:
        yield from _check_paths(case)


def _check_kinds(request: SuiteRequest, at: FieldPath) -> Iterator[FormProblem]:
    """Report objects without apiVersion or kind: no policy would match their request."""
    given = {"object": request.object, "oldObject": request.old_object}
    for name, each in given.items() if request.kind is None else ():
        for field, hint in _KIND_FIELDS.items():
            if each is not None and not each.get(field):
                yield required((*at, name, field), hint=hint)


def _check_paths(case: SuiteCase) -> Iterator[FormProblem]:
    request = case.request
    inline = request.object if request.object is not None else request.old_object
    from_file = request.object_file is not None and request.object is None
    try:
        if inline is None or from_file:
            for path in (*case.changes, *case.removed):
                parts_of(path)
        else:
            changed_object(inline, case)
    except PathError as error:
        yield FormProblem(
            path_of(case, error),
            f"Invalid value: {quoted(error.path)}: {error.message}",
            error.hint,
            at_key=error.path in case.changes,
        )


def _check_names(obj: JSONObject, path: str) -> None:
    """Raise PathError if the kind of the object has no such field: a misspelt one would be added
    and would change nothing.
    """
    schema = Schemas.builtin().lookup(*Gvk.of_object(obj))
    field = None if schema is None else schema.root
    for part in parts_of(path):
        if field is None:
            return
        below = field_below(field, part)
        if below is None and field.type.fields and schema is not None:
            hint = field_hint(part, field.type, schema.root.type)
            raise PathError(path, f"{part}: {obj['kind']} has no such field there", hint)
        field = below


def _check_state(state: ClusterState, path: FieldPath) -> Iterator[FormProblem]:
    for index, each in enumerate(state.params):
        yield from _check_object(each, (*path, "params", index), "a parameter object")
    for index, each in enumerate(state.reads):
        yield from _check_object(each, (*path, "reads", index), "an object of the cluster")
    names = [namespace.name for namespace in state.namespaces]
    yield from duplicates((*path, "namespaces"), names, "name")
    for index, name in enumerate(names):
        if not name:
            yield required((*path, "namespaces", index, "name"))


def _check_object(given: JSONObject, path: FieldPath, what: str) -> Iterator[FormProblem]:
    texts: Sequence[tuple[FieldPath, object]] = (
        (("apiVersion",), given.get("apiVersion")),
        (("kind",), given.get("kind")),
        (("metadata", "name"), object_in(given, "metadata").get("name")),
    )
    for field, value in texts:
        if not isinstance(value, str) or not value:
            yield required((*path, *field), f"{what} has apiVersion, kind and a name")
