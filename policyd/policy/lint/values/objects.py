"""Advice on objects that the API server would not accept: of suites, and among the policies."""

from collections.abc import Iterator

from policyd.errors import Problem
from policyd.policy.kinds.definitions import is_definition
from policyd.policy.kinds.misfits import misfits
from policyd.policy.lint.run import LintRun
from policyd.policy.model.findings import FormProblem
from policyd.policy.source.loaded_documents import Document
from policyd.policy.suite.objects import suite_misfits


def invalid_objects(run: LintRun, document: Document) -> Iterator[FormProblem | Problem]:
    """Yield the advice for a suite or object. The fields of policies, and of what is read of
    definitions, are checked when they are loaded.
    """
    if document.kind == "PolicyTest" and document.is_policy:
        yield from suite_misfits(document, run.schemas)
    elif not document.is_policy and not is_definition(document.raw):
        yield from misfits(document.raw, run.schemas)
