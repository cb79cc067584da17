"""All expressions of policies, checked once more, for advice about them. Only lint needs that."""

from collections.abc import Iterator

from policyd.cel.env import Environment
from policyd.cel.syntax.ast import Checked
from policyd.cel.types.types import Type
from policyd.errors import CelCompileError
from policyd.mutation.overlays.strings import expressions_in
from policyd.policy.model.findings import Path, path_text
from policyd.policy.model.kinds import (
    AnyPolicy,
    MutatingAdmissionPolicy,
    PolicyMutation,
    ValidatingAdmissionPolicy,
)
from policyd.policy.model.match import PATCH_FIELDS
from policyd.policy.source.documents import Document, Sources
from policyd.versions import KubernetesVersion

CheckedExpression = tuple[Document, str, Checked]


def checked_expressions(sources: Sources) -> Iterator[CheckedExpression]:
    """Each expression with its document and path. Those that do not compile are left out."""
    for document in sources.documents:
        if isinstance(document.model, AnyPolicy):
            for path, checked in _of_policy(document.model, sources.version):
                yield document, path, checked


def _of_policy(policy: AnyPolicy, version: KubernetesVersion) -> Iterator[tuple[str, Checked]]:
    plain = Environment.admission(params=True, authorizer=True, patch_types=True, version=version)
    environment = plain
    declared: dict[str, Type] = {}
    for index, variable in enumerate(policy.spec.variables):
        checked = _checked(environment, variable.expression)
        if checked is not None:
            yield f"spec.variables[{index}].expression", checked
            declared[variable.name] = checked.result_type
            environment = plain.with_variables(declared)
    for path, text in _expressions(policy):
        checked = _checked(environment, text)
        if checked is not None:
            yield path, checked


def _checked(environment: Environment, text: str) -> Checked | None:
    try:
        return environment.check(text)
    except CelCompileError:
        return None


def _expressions(policy: AnyPolicy) -> Iterator[tuple[str, str]]:
    for index, condition in enumerate(policy.spec.match_conditions):
        yield f"spec.matchConditions[{index}].expression", condition.expression
    if not isinstance(policy, MutatingAdmissionPolicy):
        for index, validation in enumerate(policy.spec.validations):
            path = f"spec.validations[{index}]"
            yield f"{path}.expression", validation.expression
            yield f"{path}.messageExpression", validation.message_expression
        for index, annotation in enumerate(policy.spec.audit_annotations):
            yield f"spec.auditAnnotations[{index}].valueExpression", annotation.value_expression
    if not isinstance(policy, ValidatingAdmissionPolicy):
        for index, mutation in enumerate(policy.spec.mutations):
            at: Path = ("spec", "mutations", index, PATCH_FIELDS[mutation.patch_type])
            if isinstance(mutation, PolicyMutation) and mutation.overlay is not None:
                for place, text in expressions_in(mutation.overlay, at):
                    yield path_text(place), text
            else:
                yield path_text((*at, "expression")), mutation.expression
