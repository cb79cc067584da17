"""Advice on what the API server would not accept: objects of suites and among the policies, and
CustomResourceDefinitions that are read, but have another name than their resource, or a schema
where it was in v1beta1.
"""

from collections.abc import Iterator

from policyd.errors import Problem
from policyd.policy.kinds.definitions import is_definition, usable
from policyd.policy.kinds.misfits import misfits
from policyd.policy.lint.run import LintRun
from policyd.policy.model.findings import FormProblem
from policyd.policy.source.loaded_documents import Document
from policyd.policy.suite.objects import suite_misfits

RULE = "refused-definition"
_SCHEMA_HINT = "write schema: {openAPIV3Schema: …} in each of versions"


def invalid_objects(run: LintRun, document: Document) -> Iterator[FormProblem | Problem]:
    """Yield the advice for a suite or object. The fields of policies, and of what is read of
    definitions, are checked when they are loaded.
    """
    if document.kind == "PolicyTest" and document.is_policy:
        yield from suite_misfits(document, run.schemas)
    elif not document.is_policy and not is_definition(document.raw):
        yield from misfits(document.raw, run.schemas)


def refused_definitions(run: LintRun, document: Document) -> Iterator[FormProblem]:
    """Yield what is wrong with a definition."""
    if not is_definition(document.raw) or not usable(document.raw):
        return
    spec, name = document.raw["spec"], (document.raw.get("metadata") or {}).get("name")
    wanted = f"{spec['names']['plural']}.{spec['group']}"
    if name and name != wanted:
        message = "the API server accepts only the name PLURAL.GROUP of spec"
        yield FormProblem(("metadata", "name"), message, f"write {wanted}", rule=RULE)
    if "validation" in spec:
        yield _schemaless(("spec", "validation"))
    for index, version in enumerate(spec["versions"]):
        if "validation" in version and not version.get("schema"):
            yield _schemaless(("spec", "versions", index, "validation"))


def _schemaless(path: tuple[str | int, ...]) -> FormProblem:
    message = "validation was the schema in v1beta1: policyd and the API server do not read it"
    return FormProblem(path, message, _SCHEMA_HINT, at_key=True, rule=RULE)
