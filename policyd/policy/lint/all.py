"""Runs the functions of the table of lint rules over sources whose form is valid."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from policyd.cel.syntax.recursion import deep_recursion
from policyd.errors import Problem
from policyd.policy.lint.lint_rules import RULES, LintRule
from policyd.policy.lint.run import LintedPolicy, LintRun
from policyd.policy.model.findings import FormProblem
from policyd.policy.source.loaded_documents import Document


def all_advice(run: LintRun, rules: Iterable[LintRule] = tuple(RULES.values())) -> list[Problem]:
    """Return what the functions of lint rules find, disabled or not."""
    names = dict.fromkeys(
        (way, name) for rule in rules for way, named in rule.found_by.items() for name in named
    )
    with deep_recursion():
        return [problem for way, name in names for problem in _WAYS[way](run, finder(name))]


def finder(name: str) -> Callable[..., Any]:
    """Return the function that a row of the table names."""
    module, _, function = name.rpartition(".")
    found: Callable[..., Any] = getattr(import_module(f"{__package__}.{module}"), function)
    return found


def in_policies(
    run: LintRun, find: Callable[[LintedPolicy], Iterable[FormProblem | Problem]]
) -> list[Problem]:
    """Return what a function finds in the policies, in file order."""
    return [_placed(policy.document, each) for policy in run.policies for each in find(policy)]


def in_documents(
    run: LintRun, find: Callable[[LintRun, Document], Iterable[FormProblem | Problem]]
) -> list[Problem]:
    """Return what a function finds in the documents, in file order."""
    documents = run.sources.documents
    return [_placed(document, each) for document in documents for each in find(run, document)]


def _placed(document: Document, found: FormProblem | Problem) -> Problem:
    if isinstance(found, Problem):
        return found
    return document.problem(found, RULES[found.rule].severity)


# How functions are called, by the key of the table that names them.
_WAYS: dict[str, Callable[[LintRun, Callable[..., Any]], Iterable[Problem]]] = {
    "documents": in_documents,
    "policies": in_policies,
    "sources": lambda run, find: find(run),
}
