"""Check what was imported: every document must be a policy that policyd accepts. Converts
nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from policyd.errors import PolicyError, Problem
from policyd.importers.model import Imported, ImportRemark
from policyd.policy.compile import compiler
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.loader import load_built, require
from policyd.versions import KubernetesVersion


@dataclass(frozen=True, slots=True)
class CheckedImport:
    """One source policy with the compiled policies; None: it is not imported."""

    imported: Imported
    policies: CompiledPolicySet | None = None


def checked(imported: Imported, version: KubernetesVersion) -> CheckedImport:
    """Compile the documents of an import. One that policyd would not load is not imported: what
    cannot be evaluated must not replace a policy that can.
    """
    if not imported.documents:
        return CheckedImport(imported)
    try:
        sources = require(load_built([each.raw for each in imported.documents], version=version))
        return CheckedImport(imported, compiler.compile_strict(sources))
    except PolicyError as error:
        reasons = _reasons(error.problems)
        return CheckedImport(replace(imported, documents=(), rules={}, reasons=reasons))


def _reasons(problems: Sequence[Problem]) -> tuple[ImportRemark, ...]:
    return tuple(
        ImportRemark("", f"what it became is not valid: {each.path}: {each.text}")
        for each in problems
    )
