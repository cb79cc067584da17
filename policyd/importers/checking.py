"""Check what was imported: every document must be a policy that policyd accepts, and in which
``policyd lint`` finds no error: an expression that can only fail, a value that nothing ever has.
Converts nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from policyd.errors import PolicyError, Problem
from policyd.importers.model import Imported, ImportRemark
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.lint.all import all_advice
from policyd.policy.lint.lint_rules import RULES
from policyd.policy.lint.run import LintRun
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.source.loader import load_built, require
from policyd.versions import KubernetesVersion


@dataclass(frozen=True, slots=True)
class CheckedImport:
    """One source policy with the compiled policies; None: it is not imported."""

    imported: Imported
    policies: CompiledPolicySet | None = None


def checked(imported: Imported, version: KubernetesVersion) -> CheckedImport:
    """Compile the documents of an import. One that policyd would not load, or that has errors, is
    not imported: what cannot be evaluated must not replace a policy that can.
    """
    if not imported.documents:
        return CheckedImport(imported)
    try:
        sources = require(load_built([each.raw for each in imported.documents], version=version))
        policies = compiler.compile_strict(sources)
    except PolicyError as error:
        return _refused(imported, "is not valid", error.problems)
    errors = _lint_errors(sources)
    if errors:
        return _refused(imported, "fails `policyd lint`", errors)
    return CheckedImport(imported, policies)


def _lint_errors(sources: Sources) -> list[Problem]:
    errors = (rule for rule in RULES.values() if rule.severity == "error")
    found = all_advice(LintRun(sources), errors)
    return [problem for problem in found if problem.severity == "error"]


def _refused(imported: Imported, what: str, problems: Iterable[Problem]) -> CheckedImport:
    reasons = tuple(
        ImportRemark("", f"what it became {what}: {each.path}: {each.text}") for each in problems
    )
    reasons = (*imported.reasons, *reasons)
    return CheckedImport(replace(imported, documents=(), rules={}, reasons=reasons, left_out=()))
