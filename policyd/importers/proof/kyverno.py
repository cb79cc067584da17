"""Run the rows of Kyverno tests with what was imported. Reads no kyverno-test.yaml itself."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from policyd._core.patch.diff import diff
from policyd.importers.checking import CheckedImport
from policyd.importers.fields import strings_at
from policyd.importers.model import Imported, Refused
from policyd.importers.proof.evaluating import decide
from policyd.importers.proof.files import TestFiles
from policyd.importers.proof.imports import TestedPolicies
from policyd.importers.proof.kyverno_tests import (
    ExpectedResult,
    TestSubject,
    TestValues,
    cluster_objects,
    config_maps,
    expected_results,
    read_values,
    request_fields,
)
from policyd.importers.proof.rows import Proof, ProofRequest, RowState, TestRow, TestUnusable
from policyd.json_types import JSON, JSONObject
from policyd.policy.kinds.definitions import definitions_among
from policyd.policy.source.loaded_documents import Document
from policyd.policy.suite.expectations import same
from policyd.policy.suite.reviews import ResourceNeeded, build_review, in_namespace

_DENIED = frozenset({"fail", "warn"})
_ADMITTED = frozenset({"pass", "skip"})
_PARTIAL = ("kind", "resource", "requestKind", "requestResource")


def prove_kyverno(
    document: Document, policies: TestedPolicies, files: TestFiles
) -> Iterator[Proof]:
    """Yield what becomes of each row of a test: one for each result and object."""
    try:
        results = [*expected_results(document)]
        run = _KyvernoRun(document, policies, files)
    except Refused as error:
        yield Proof(TestRow(document), "not run", reason=f"the test cannot be used: {error}")
        return
    for result in results:
        for subject in result.subjects:
            yield run.prove(result, subject)


class _KyvernoRun:
    """One test with its resources, values and policies."""

    def __init__(self, test: Document, policies: TestedPolicies, files: TestFiles) -> None:
        names = partial(strings_at, test.raw)
        self._test = test
        self._files = files
        self._resources = files.objects(test, names("resources"))
        self._values: TestValues = read_values(test, files)
        self._params = cluster_objects(test, files)
        defined = definitions_among(each.raw for each in self._resources)
        self._mapper = policies.mapper.with_definitions(defined)
        self._policy = policies.named(test, names("policies"), names("exceptions"), files)
        self._namespaces = {
            each.name: each.raw for each in self._resources if each.kind == "Namespace"
        } | self._values.namespaces()

    def prove(self, result: ExpectedResult, subject: TestSubject) -> Proof:
        """Return what became of one row."""
        row = TestRow(
            self._test, result.path, result.policy, result.rule, str(subject), result.result
        )
        imported: Imported | None = None
        try:
            one = self._policy(result.policy, {})
            if one is None:
                raise TestUnusable(f"the sources have no policy {result.policy}")
            imported = one.imported
            if one.policies is None:
                raise TestUnusable("not imported")
            about = result.rules if result.rule else imported.left_out
            missing = [each for each in imported.left_out if each in about]
            if missing:
                raise TestUnusable(f"not imported: the rule {', '.join(missing)}")
            names = _meant(imported, result)
            if not names:
                reason = f"the policy has no rule {result.rule}: it has {', '.join(imported.rules)}"
                return Proof(row, "disagrees", reason=reason, imported=imported)
            meant = [each for each in self._resources if subject.fits(each)]
            if not meant:
                raise TestUnusable(f"the resources of the test have no {subject}")
            for each in meant:
                proof = self._one(row, result, each, one, names)
                if proof.state == "disagrees":
                    break
        except Refused as error:
            return Proof(row, "not run", reason=str(error), imported=imported)
        return proof

    def _one(
        self,
        row: TestRow,
        result: ExpectedResult,
        resource: Document,
        one: CheckedImport,
        names: Sequence[str],
    ) -> Proof:
        values = self._values.of(result, resource.name)
        given = self._policy(result.policy, values)
        trial = self._trial(result, resource, one, values)
        if given is not None and given is not one:
            if given.policies is None:
                why = "; ".join(each.message for each in given.imported.reasons)
                raise TestUnusable(f"it cannot be imported with the values of the test: {why}")
            one, trial = given, replace(trial, given=True)
        assert one.policies is not None
        policies = (each.raw for each in one.imported.documents)
        mutating = [each["metadata"]["name"] for each in policies if each["spec"].get("mutations")]
        mutates = any(name in names for name in mutating)
        # Kyverno mutates by all rules of a policy first, but reports on each.
        found = decide(one.policies, trial, names, {*names, *mutating})
        alone = decide(one.policies, trial, names) if mutates else found
        if found.messages:
            word, detail = "fail", found.messages[0]
        elif found.errors:
            word, detail = "error", found.errors[0]
        else:
            word, detail = "pass", ""
        reason = _compared(result, word, detail)
        if not reason and mutates and result.result == "skip" and alone.changed:
            reason = "the object is changed"
        if not reason and result.patched:
            reason = self._patched(result, resource, found.after)
        state: RowState = "disagrees" if reason else "agrees"
        return Proof(row, state, word, reason, one.imported, trial)

    def _trial(
        self, result: ExpectedResult, resource: Document, one: CheckedImport, values: JSONObject
    ) -> ProofRequest:
        fields = request_fields(values)
        operation = result.operation or fields.pop("operation", "CREATE")
        if self._values.user is not None:
            fields["userInfo"] = self._values.user
        described = self._values.subresource(resource.kind)
        if described is not None:
            fields |= _of_subresource(described)
        old, given = fields.pop("oldObject", None), fields.pop("namespace", "")
        build = partial(
            build_review,
            fields.pop("object", resource.raw),
            old_object=old,
            operation=str(operation),
            mapper=self._mapper,
        )
        try:
            for name in (name for name in _PARTIAL if isinstance(fields.get(name), dict)):
                # Values may set only some fields of it, such as request.requestKind.kind.
                fields[name] = build()["request"][name] | fields[name]
            built = build(overrides=fields)
        except ResourceNeeded as error:
            raise TestUnusable(str(error)) from None
        review = in_namespace(built)
        if given:  # a value of the variable only: the object keeps its own
            review["request"]["namespace"] = given
        params = (*self._params, *config_maps(values, one.imported.source))
        return ProofRequest.within(review, self._namespaces, params)

    def _patched(self, result: ExpectedResult, resource: Document, after: JSONObject) -> str:
        """Return how the mutated object differs from the expected one; empty: it does not."""
        expected = [
            each
            for each in self._files.objects(self._test, [result.patched])
            if (each.kind, each.name) == (resource.kind, resource.name)
            and (each.namespace or "default") == (resource.namespace or "default")
        ]
        if not expected:
            raise TestUnusable(f"{result.patched} has no {resource.label}")
        differing = differences(expected[0].raw, after)
        if result.result == "fail":
            return "" if differing else "the object is as the test expects it not to be"
        return f"differs from {result.patched} in {', '.join(differing)}" if differing else ""


def _meant(imported: Imported, result: ExpectedResult) -> Sequence[str]:
    """Return the names of the Policies that a row is about: the Policies of its rule, or all of
    them if it names none, or the source has no rules. Empty: there is no such rule.
    """
    if not result.rule or "" in imported.rules:
        return [each.name for each in imported.documents]
    return next((imported.rules[each] for each in result.rules if each in imported.rules), ())


def _compared(result: ExpectedResult, word: str, detail: str) -> str:
    """Return why a decision is not the expected one; empty if it is."""
    expected = result.result
    if expected in _ADMITTED and word == "pass":
        return ""
    if expected in _DENIED and (word == "fail" or (result.patched and word == "pass")):
        return ""
    if expected == "error" and word in ("fail", "error"):
        return ""
    return f"expected {expected}, found {word}{f': {detail}' if detail else ''}"


def _of_subresource(described: JSONObject) -> JSONObject:
    """Return the fields of a request for the sub-resource of another resource."""
    parent, own = described.get("parentResource") or {}, described.get("subresource") or {}
    name = str(own.get("name", ""))
    kind = {key: str(own.get(key, "")) for key in ("group", "version", "kind")}
    resource = {key: str(parent.get(key, "")) for key in ("group", "version")}
    resource["resource"] = str(parent.get("name", ""))
    return {
        "kind": kind,
        "requestKind": kind,
        "resource": resource,
        "requestResource": resource,
        "subResource": name.rpartition("/")[2],
    }


_SHOWN = 5  # differing fields that a reason names


def differences(expected: JSONObject, found: JSON) -> list[str]:
    """Return the paths of the fields that differ; none if the objects are the same.

    The namespace of an object that names none is ``default``.
    """
    one, other = (_tidy(_placed(each)) for each in (expected, found))
    paths = [] if same(one, other) else [each["path"] for each in diff(one, other)]
    return paths if len(paths) <= _SHOWN else [*paths[:_SHOWN], f"{len(paths) - _SHOWN} more"]


def _placed(value: JSON) -> JSON:
    """Return an object without its namespace if that is ``default``."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(metadata, dict) or metadata.get("namespace") != "default":
        return value
    return {**value, "metadata": {k: v for k, v in metadata.items() if k != "namespace"}}


def _tidy(value: JSON) -> JSON:
    """Return a value without null, empty objects and empty lists in it."""
    if isinstance(value, dict):
        tidied = {key: _tidy(each) for key, each in value.items()}
        return {key: each for key, each in tidied.items() if not _is_empty(each)}
    if isinstance(value, list):
        return [each for each in map(_tidy, value) if not _is_empty(each)]
    return value


def _is_empty(value: JSON) -> bool:
    return value is None or value in ({}, [])
