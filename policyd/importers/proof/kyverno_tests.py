"""Read kyverno-test.yaml: which policies and resources a test is about, and the results it expects.
Evaluates nothing.

The fields are those of ``Test`` of cli.kyverno.io/v1alpha1, with the deprecated ones: ``name``,
``variables``, and in results ``status``, ``resource``, ``namespace`` and ``patchedResource``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from policyd.importers.fields import items, objects, require_fields, string_at, strings_at
from policyd.importers.proof.rows import TestUnusable
from policyd.json_types import JSONObject
from policyd.policy.source.loaded_documents import Document

_FIELDS = frozenset(
    {
        "apiVersion", "kind", "metadata", "name", "policies", "resources", "targetResources",
        "variables", "values", "userinfo", "userInfo", "exceptions", "context", "results",
        "paramResources", "clusterResources",
    }
)  # fmt: skip
# What policyd has no counterpart for, with the reason why the rows are not run.
_REFUSED = {
    "checks": "checks are assertions of kyverno-json about rule responses: only results are run",
    "jsonPayload": "a JSON payload is no admission request",
    "jsonPayloads": "JSON payloads are no admission requests",
}
_FLAGS = (
    "isValidatingAdmissionPolicy",
    "isMutatingAdmissionPolicy",
    "isValidatingPolicy",
    "isMutatingPolicy",
    "isImageValidatingPolicy",
    "isGeneratingPolicy",
    "isDeletingPolicy",
)
_RESULT_FIELDS = frozenset(
    {
        "policy", "rule", "result", "status", "kind", "resource", "resources", "resourceSpecs",
        "namespace", "operation", "patchedResource", "patchedResources", "generatedResource",
        "cloneSourceResource", *_FLAGS,
    }
)  # fmt: skip
_RESULTS = frozenset({"pass", "fail", "skip", "warn", "error"})
# What Kyverno puts before the names of rules that it makes for controllers of pods.
_AUTOGEN = ("autogen-cronjob-", "autogen-")


@dataclass(frozen=True, slots=True)
class TestSubject:
    """An object that a result is about, as far as the test names it. Empty: any."""

    kind: str
    name: str = ""
    namespace: str = ""

    def fits(self, document: Document) -> bool:
        """Whether an object of the test's resources is meant."""
        namespace = document.namespace or "default"
        return (
            self.kind in ("", document.kind)
            and self.name in ("", document.name)
            and self.namespace in ("", namespace)
        )

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}".strip()


@dataclass(frozen=True, slots=True)
class ExpectedResult:
    """One entry of ``results``. ``policy`` is ``NAME`` or ``NAMESPACE/NAME``; an empty ``rule``
    stands for all of them. ``patched``: the file of the object after mutation; empty if the result
    names none.
    """

    path: str
    policy: str
    rule: str
    result: str
    subjects: tuple[TestSubject, ...]
    operation: str = ""
    patched: str = ""

    @property
    def rules(self) -> tuple[str, ...]:
        """The names under which the rule is known: as written, and as the rule that Kyverno made
        its copies for controllers of.
        """
        made = (self.rule.removeprefix(each) for each in _AUTOGEN if self.rule.startswith(each))
        return (self.rule, *made)


@dataclass(frozen=True, slots=True)
class KyvernoTest:
    """A test, with the names of files as they are written."""

    document: Document
    policies: tuple[str, ...]
    resources: tuple[str, ...]
    exceptions: tuple[str, ...]
    params: tuple[str, ...]
    context: str
    variables: str
    values: JSONObject
    user_info: str
    results: tuple[ExpectedResult, ...]


def read_test(document: Document) -> KyvernoTest:
    """Return what a document of kind Test says; raises TestUnusable for what is not understood."""
    raw = document.raw
    for name, reason in _REFUSED.items():
        if raw.get(name):
            raise TestUnusable(reason)
    require_fields(raw, _FIELDS | _REFUSED.keys(), "")
    values = raw.get("values") or {}
    if not isinstance(values, dict):
        raise TestUnusable("values must be an object; the file of one is named under variables")
    return KyvernoTest(
        document,
        tuple(strings_at(raw, "policies")),
        tuple(strings_at(raw, "resources")),
        tuple(strings_at(raw, "exceptions")),
        tuple(strings_at(raw, "paramResources")) + tuple(strings_at(raw, "clusterResources")),
        string_at(raw, "context"),
        string_at(raw, "variables"),
        values,
        string_at(raw, "userinfo") or string_at(raw, "userInfo"),
        tuple(_results(raw)),
    )


def _results(raw: JSONObject) -> Iterator[ExpectedResult]:
    for each, path in items(raw, "results", "", _RESULT_FIELDS):
        result = string_at(each, "result", path) or string_at(each, "status", path)
        if result not in _RESULTS:
            raise TestUnusable(f"{path}.result: expected one of {', '.join(sorted(_RESULTS))}")
        patched = strings_at(each, "patchedResources", path) or strings_at(
            each, "patchedResource", path
        )
        if len(patched) > 1:
            raise TestUnusable(f"{path}.patchedResources: expected one file, got {len(patched)}")
        yield ExpectedResult(
            path,
            string_at(each, "policy", path),
            string_at(each, "rule", path),
            result,
            tuple(_subjects(each, path)),
            string_at(each, "operation", path),
            patched[0] if patched else "",
        )


def _subjects(result: JSONObject, path: str) -> Iterator[TestSubject]:
    kind, usual = string_at(result, "kind", path), string_at(result, "namespace", path)
    names = strings_at(result, "resources", path) or strings_at(result, "resource", path)
    specs = objects(result.get("resourceSpecs"), f"{path}.resourceSpecs")
    for each in names:
        namespace, _, name = each.rpartition("/")
        yield TestSubject(kind, name, namespace.rpartition("/")[2] or usual)
    for spec in specs:
        yield TestSubject(
            string_at(spec, "kind", f"{path}.resourceSpecs") or kind,
            string_at(spec, "name", f"{path}.resourceSpecs"),
            string_at(spec, "namespace", f"{path}.resourceSpecs"),
        )
    if not names and not specs:
        yield TestSubject(kind, "", usual)
