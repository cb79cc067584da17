"""Remarks on suites whose cases ran: they fail nothing."""

from policyd.cli.shared.output import echo_warning
from policyd.cli.test.run import SuiteResults
from policyd.errors import Problem
from policyd.policy.lint.all import in_documents
from policyd.policy.lint.lint_rules import suppress
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.values.objects import invalid_objects
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.suite.reviews import Assumption


def echo_remarks(results: SuiteResults, sources: Sources) -> None:
    """Print a warning for each kind of objects whose resource is assumed, and for each field and
    value that the kind of an object does not have, as lint reports it.
    """
    seen: set[Assumption] = set()
    for case in (each.result for suite in results.suites for each in suite.cases):
        if case.assumed is not None and case.assumed not in seen:
            seen.add(case.assumed)
            text, hint = case.assumed
            echo_warning(Problem(text, case.file, case.line, hint=hint))
    found = list(in_documents(LintRun(sources), invalid_objects))
    for each in suppress(found, sources.lint_comments, frozenset())[0]:
        echo_warning(each)
