"""Run the cases of Gatekeeper's suites (suite.yaml) with what was imported.

The fields are the ones of ``Suite`` of test.gatekeeper.sh/v1alpha1, as gator verifies it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from policyd.cel.env import Environment
from policyd.errors import CelCompileError, EvaluationError
from policyd.importers.checking import CheckedImport
from policyd.importers.fields import items, require_fields, string_at, strings_at
from policyd.importers.model import Imported, Refused
from policyd.importers.proof.evaluating import Decision, decide
from policyd.importers.proof.files import TestFiles
from policyd.importers.proof.imports import TestedPolicies
from policyd.importers.proof.rows import Proof, ProofRequest, RowState, TestRow, TestUnusable
from policyd.json_types import JSON, JSONObject
from policyd.policy.kinds.definitions import definitions_among
from policyd.policy.kinds.mapping import ResourceMapper
from policyd.policy.source.loaded_documents import Document
from policyd.policy.suite.reviews import ResourceNeeded, build_review, in_namespace

_SUITE = frozenset({"apiVersion", "kind", "metadata", "tests", "skip"})
_TEST = frozenset({"name", "template", "constraint", "cases", "invalid", "skip", "expansion"})
_CASE = frozenset({"name", "object", "inventory", "assertions", "skip"})
_ASSERTION = frozenset({"violations", "message"})
_YES, _NO = "yes", "no"


@dataclass(frozen=True, slots=True)
class ViolationAssertion:
    """How many violations there are whose message matches ``message``, an RE2 pattern (empty: all).

    ``violations`` is a number, ``yes`` (at least one) or ``no``.
    """

    violations: int | str
    message: str = ""

    def holds(self, number: int) -> bool:
        """Whether this number of matching violations is what is asserted."""
        if isinstance(self.violations, int):
            return number == self.violations
        return (number > 0) == (self.violations == _YES)

    def __str__(self) -> str:
        number = {_YES: "some violations", _NO: "no violations"}.get(
            str(self.violations), f"{self.violations} violations"
        )
        return f"{number} like {self.message!r}" if self.message else number


@dataclass(frozen=True, slots=True)
class GatekeeperCase:
    """One case of a test. ``path`` is its place in the suite. ``invalid``: the constraint itself is
    wrong, on purpose; ``skipped``: gator does not run it either.
    """

    path: str
    test: str
    template: str
    constraint: str
    name: str
    object: str
    inventory: tuple[str, ...]
    assertions: tuple[ViolationAssertion, ...]
    invalid: bool
    skipped: bool


def read_suite(document: Document) -> Iterator[GatekeeperCase]:
    """Yield the cases of a suite; raises TestUnusable for what is not understood."""
    raw = document.raw
    require_fields(raw, _SUITE, "")
    for test, above in items(raw, "tests", "", _TEST):
        if test.get("expansion"):
            raise TestUnusable(f"{above}.expansion: policyd has no ExpansionTemplate")
        name, template, constraint = (
            string_at(test, field, above) for field in ("name", "template", "constraint")
        )
        for case, path in items(test, "cases", above, _CASE):
            assertions = (
                ViolationAssertion(
                    _violations(each.get("violations"), at), string_at(each, "message", at)
                )
                for each, at in items(case, "assertions", path, _ASSERTION)
            )
            yield GatekeeperCase(
                path,
                name,
                template,
                constraint,
                string_at(case, "name", path),
                string_at(case, "object", path),
                tuple(strings_at(case, "inventory", path)),
                tuple(assertions),
                bool(test.get("invalid")),
                any(each.get("skip") for each in (raw, test, case)),
            )


def _violations(value: JSON, path: str) -> int | str:
    if value is None or value is True or value == _YES:
        return _YES
    if value is False or value == _NO:
        return _NO
    if isinstance(value, int) and value >= 0:
        return value
    raise TestUnusable(f"{path}.violations: expected yes, no or a number")


_REVIEW = ("admission.k8s.io", "AdmissionReview")
# Fields that policyd takes from an AdmissionReview of a test, which need not be whole.
_BUILT = ("object", "oldObject", "operation")


def prove_gatekeeper(
    document: Document, policies: TestedPolicies, files: TestFiles
) -> Iterator[Proof]:
    """Yield what becomes of each case of a suite."""
    try:
        cases = [*read_suite(document)]
    except Refused as error:
        yield Proof(TestRow(document), "not run", reason=f"the suite cannot be used: {error}")
        return
    for case in cases:
        yield _proved(document, case, policies, files)


def _proved(
    document: Document, case: GatekeeperCase, policies: TestedPolicies, files: TestFiles
) -> Proof:
    imported: Imported | None = None
    expected = ", ".join(map(str, case.assertions)) or "no violations"
    row = TestRow(document, case.path, case.test, case.test, case.name, expected)
    try:
        one = policies.constrained(document, case.constraint, case.template, files)
        if one is None:
            raise TestUnusable(f"the sources have neither {case.constraint} nor {case.template}")
        imported = one.imported
        row = replace(row, policy=imported.source.name)
        if one.policies is None:
            raise TestUnusable("not imported")
        if case.invalid:
            # The parameters do not fit the schema of the template: there is nothing to decide.
            raise TestUnusable("the constraint is invalid on purpose")
        if case.skipped:
            raise TestUnusable("skipped")
        return _case(row, document, case, one, files, mapper=policies.mapper)
    except Refused as error:
        return Proof(row, "not run", reason=str(error), imported=imported)


def _case(
    row: TestRow,
    document: Document,
    case: GatekeeperCase,
    one: CheckedImport,
    files: TestFiles,
    *,
    mapper: ResourceMapper,
) -> Proof:
    assert one.policies is not None
    if not case.object or not case.assertions:
        raise TestUnusable("a case needs an object and assertions")
    found = files.objects(document, [case.object])
    if len(found) != 1:
        raise TestUnusable(f"{case.object}: expected one object, got {len(found)}")
    inventory = files.objects(document, case.inventory)
    mapper = mapper.with_definitions(definitions_among(each.raw for each in inventory))
    try:
        review = in_namespace(_built(found[0], mapper))
    except ResourceNeeded as error:
        raise TestUnusable(str(error)) from None
    known = {each.name: each.raw for each in inventory if each.kind == "Namespace"}
    trial = ProofRequest.within(review, known, (each.raw for each in inventory))
    decision = decide(one.policies, trial, [each.name for each in one.imported.documents])
    reason = _broken(case.assertions, decision)
    word = f"{len(decision.messages)} violations"
    state: RowState = "disagrees" if reason else "agrees"
    return Proof(row, state, word, reason, one.imported, trial)


def _built(document: Document, mapper: ResourceMapper) -> JSONObject:
    """Return the request that creates an object, or that an AdmissionReview describes."""
    if (document.group, document.kind) != _REVIEW:
        return build_review(document.raw, mapper=mapper)
    request = document.raw.get("request")
    if not isinstance(request, dict) or not (request.get("object") or request.get("oldObject")):
        raise TestUnusable(f"{document.file}: the AdmissionReview has no object")
    overrides = {key: value for key, value in request.items() if key not in _BUILT}
    return build_review(
        request.get("object"),
        old_object=request.get("oldObject"),
        operation=request.get("operation"),
        overrides=overrides,
        mapper=mapper,
    )


def _broken(assertions: tuple[ViolationAssertion, ...], decision: Decision) -> str:
    """Return the first assertion that does not hold, with what was found; empty if all do."""
    if decision.errors:
        return f"error: {decision.errors[0]}"
    for each in assertions:
        number = sum(_matches(each.message, message) for message in decision.messages)
        if not each.holds(number):
            shown = "; ".join(decision.messages) or "none"
            return f"expected {each}, found {number} (messages: {shown})"
    return ""


def _matches(pattern: str, message: str) -> bool:
    """Whether an RE2 pattern is found in a message; CEL has the same expressions."""
    if not pattern:
        return True
    try:
        program = Environment.kubernetes().compile("object.matches(params)")
        found = program.evaluate({"object": message, "params": pattern})
    except (CelCompileError, EvaluationError) as error:
        raise TestUnusable(f"message {pattern!r}: {error}") from None
    return found is True
