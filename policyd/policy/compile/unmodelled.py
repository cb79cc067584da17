"""Expressions of a policy whose form is wrong elsewhere: their problems are told all the same.

Nothing is made of them: the policy cannot be used as it is.
"""

from policyd.errors import Problem
from policyd.policy.compile.expressions import Expressions
from policyd.policy.compile.overlays import OverlayCompiler
from policyd.policy.model.expressions import mutations_of
from policyd.policy.source.documents import Document
from policyd.versions import KubernetesVersion


def expression_problems(document: Document, version: KubernetesVersion) -> list[Problem]:
    """What is wrong with the expressions that can be read in a document without a model."""
    spec = document.raw.get("spec")
    if not isinstance(spec, dict):
        return []
    has_params = "params" in spec or "paramKind" in spec
    expressions = Expressions(document, has_params=has_params, version=version)
    try:
        overlays = OverlayCompiler(document, expressions)
        for each in mutations_of(document.raw):
            if each.kind.mutator is None:
                overlays.compile(each.held, each.path)
    finally:
        expressions.close()
    return expressions.problems
