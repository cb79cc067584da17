"""Advice on objects that the API server would not accept: of suites, and among the policies."""

from collections.abc import Iterator

from policyd.errors import Problem
from policyd.policy.kinds.definitions import is_definition
from policyd.policy.kinds.misfits import misfits
from policyd.policy.lint.run import LintRun
from policyd.policy.suite.objects import suite_misfits


def invalid_objects(run: LintRun) -> Iterator[Problem]:
    """Yield the advice for all documents, in file order. The fields of policies, and of what is
    read of definitions, are checked when they are loaded.
    """
    for document in run.sources.documents:
        if document.kind == "PolicyTest" and document.is_policy:
            yield from suite_misfits(document, run.schemas)
        elif not document.is_policy and not is_definition(document.raw):
            for each in misfits(document.raw, run.schemas):
                yield document.problem(each, "advice")
