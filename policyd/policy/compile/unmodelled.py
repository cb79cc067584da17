"""Expressions of a policy whose form is wrong elsewhere: their problems are told all the same.

Nothing is made of them: the policy cannot be used as it is.
"""

from collections.abc import Callable, Iterator
from typing import Any

from policyd.errors import Problem
from policyd.mutation.overlays.tree import too_deep
from policyd.policy.compile.expressions import Expressions
from policyd.policy.compile.overlays import OverlayCompiler
from policyd.policy.model.findings import path_text
from policyd.policy.model.match import PATCH_FIELDS
from policyd.policy.source.documents import Document
from policyd.versions import KubernetesVersion

Compile = Callable[[str, str], object]


def expression_problems(document: Document, version: KubernetesVersion) -> list[Problem]:
    """What is wrong with the expressions that can be read in a document without a model."""
    spec = document.raw.get("spec")
    if not isinstance(spec, dict):
        return []
    has_params = "params" in spec or "paramKind" in spec
    expressions = Expressions(document, has_params=has_params, version=version)
    try:
        _compile_all(document, spec, expressions)
    finally:
        expressions.close()
    return expressions.problems


def _compile_all(document: Document, spec: dict[str, Any], expressions: Expressions) -> None:
    _each(spec, "matchConditions", "expression", expressions.condition)
    for index, item in _items(spec, "variables"):
        name, text = item.get("name"), item.get("expression")
        if isinstance(name, str) and isinstance(text, str) and text.strip():
            expressions.variable(name, text, f"spec.variables[{index}].expression")
    expressions.declared()
    _each(spec, "validations", "expression", expressions.validation)
    _each(spec, "validations", "messageExpression", expressions.message)
    _each(spec, "auditAnnotations", "valueExpression", expressions.annotation)
    overlays = OverlayCompiler(document, expressions)
    for index, item in _items(spec, "mutations"):
        for kind, field in PATCH_FIELDS.items():
            at = ("spec", "mutations", index, field)
            holder = item.get(field)
            if not isinstance(holder, dict) or too_deep(holder):
                continue
            if kind == "Overlay":
                overlays.compile(holder, at)
                continue
            text = holder.get("expression")
            if isinstance(text, str) and text.strip():
                expressions.mutation(kind, text, path_text((*at, "expression")))


def _each(spec: dict[str, Any], field: str, key: str, compile_one: Compile) -> None:
    for index, item in _items(spec, field):
        text = item.get(key)
        if isinstance(text, str) and text.strip():
            compile_one(text, f"spec.{field}[{index}].{key}")


def _items(spec: dict[str, Any], field: str) -> Iterator[tuple[int, dict[str, Any]]]:
    listed = spec.get(field)
    for index, item in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(item, dict):
            yield index, item
