"""Report the problems of expressions in a policy whose form is wrong elsewhere.

Their programs are dropped: the policy cannot be used.
"""

from policyd.errors import Problem
from policyd.policy.compile.expressions import Expressions
from policyd.policy.compile.overlays import OverlayCompiler
from policyd.policy.model.expressions import mutations_of
from policyd.policy.source.loaded_documents import Document
from policyd.versions import KubernetesVersion


def expression_problems(document: Document, version: KubernetesVersion) -> list[Problem]:
    """Return the problems of the readable expressions of a document without a model."""
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
    reported = {problem.path for problem in document.problems}
    return [problem for problem in expressions.problems if problem.path not in reported]
