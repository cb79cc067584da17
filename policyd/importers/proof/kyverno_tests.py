"""Read kyverno-test.yaml: which policies and resources a test is about, and the results it expects.
Evaluates nothing.

The fields are those of ``Test`` of cli.kyverno.io/v1alpha1, with the deprecated ones: ``name``,
``variables``, and in results ``status``, ``resource``, ``namespace`` and ``patchedResource``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from policyd.importers.proof.fields import objects, text, texts, unknown
from policyd.importers.proof.rows import TestUnusable
from policyd.json_types import JSONObject
from policyd.policy.source.documents import Document

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
    for name in unknown(raw, _FIELDS | _REFUSED.keys()):
        raise TestUnusable(f"the field {name} of a kyverno-test.yaml is not known")
    values = raw.get("values") or {}
    if not isinstance(values, dict):
        raise TestUnusable("values must be an object; the file of one is named under variables")
    return KyvernoTest(
        document,
        tuple(texts(raw, "policies")),
        tuple(texts(raw, "resources")),
        tuple(texts(raw, "exceptions")),
        tuple(texts(raw, "paramResources")) + tuple(texts(raw, "clusterResources")),
        text(raw, "context"),
        text(raw, "variables"),
        values,
        text(raw, "userinfo") or text(raw, "userInfo"),
        tuple(_results(raw)),
    )


def _results(raw: JSONObject) -> Iterator[ExpectedResult]:
    for index, each in enumerate(objects(raw, "results")):
        path = f"results[{index}]"
        for name in unknown(each, _RESULT_FIELDS):
            raise TestUnusable(f"{path}.{name}: a field that is not known")
        result = text(each, "result") or text(each, "status")
        if result not in _RESULTS:
            raise TestUnusable(f"{path}.result: expected one of {', '.join(sorted(_RESULTS))}")
        patched = texts(each, "patchedResources") or texts(each, "patchedResource")
        if len(patched) > 1:
            raise TestUnusable(f"{path}.patchedResources: expected one file, got {len(patched)}")
        yield ExpectedResult(
            path,
            text(each, "policy"),
            text(each, "rule"),
            result,
            tuple(_subjects(each)),
            text(each, "operation"),
            patched[0] if patched else "",
        )


def _subjects(result: JSONObject) -> Iterator[TestSubject]:
    kind, usual = text(result, "kind"), text(result, "namespace")
    names = texts(result, "resources") or texts(result, "resource")
    specs = objects(result, "resourceSpecs")
    for each in names:
        namespace, _, name = each.rpartition("/")
        yield TestSubject(kind, name, namespace.rpartition("/")[2] or usual)
    for spec in specs:
        yield TestSubject(text(spec, "kind") or kind, text(spec, "name"), text(spec, "namespace"))
    if not names and not specs:
        yield TestSubject(kind, "", usual)
