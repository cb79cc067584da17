"""Type-check all expressions of policies again, for the advice of lint. Nothing else needs that."""

from collections.abc import Iterator
from typing import NamedTuple

from policyd.cel.env import Environment
from policyd.cel.syntax.ast import Checked
from policyd.cel.types.structs import variable_type
from policyd.cel.types.types import DYN, Type
from policyd.errors import CelCompileError
from policyd.policy.compile.reads.compiled_reads import read_type
from policyd.policy.model.expressions import VARIABLE, PolicyExpression, expressions_of
from policyd.policy.model.kinds import AnyPolicy, Policy
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.versions import KubernetesVersion


class CheckedExpression(NamedTuple):
    """An expression of a policy, with its types."""

    document: Document
    expression: PolicyExpression
    checked: Checked


def checked_expressions(sources: Sources) -> Iterator[CheckedExpression]:
    """Yield each expression of the policies without form problems, if it compiles."""
    for document in sources.documents:
        if isinstance(document.model, AnyPolicy):
            yield from checked_of(document, sources.version)


def checked_of(document: Document, version: KubernetesVersion) -> Iterator[CheckedExpression]:
    """Yield each expression of one policy, if it compiles."""
    policy = document.model
    reads = policy.spec.reads if isinstance(policy, Policy) else ()
    plain = Environment.admission(params=True, authorizer=True, patch_types=True, version=version)
    plain = plain.extend({f"reads.{each.name}": read_type(each) for each in reads})
    item = Environment({"item": DYN}, version=version)
    declared: dict[str, Type] = {}
    environment, declaring = plain, plain.declaring(declared)
    for each in expressions_of(document.raw):
        try:
            chosen = item if each.role.item else environment if each.role.variables else plain
            checked = chosen.check(each.text)
        except CelCompileError:
            continue
        yield CheckedExpression(document, each, checked)
        if each.role is VARIABLE:
            declared[each.name] = variable_type(checked.result_type)
            environment = declaring
