"""Checks of PolicyExceptions, and of one that comes from a namespace: it is about that only."""

from collections.abc import Iterator, Sequence

from policyd.json_types import FieldPath
from policyd.policy.checks.match import check_metadata, check_selector, duplicates, required
from policyd.policy.model.exceptions import (
    ExceptedPolicy,
    ExceptedResource,
    ExceptionSubject,
    PolicyException,
)
from policyd.policy.model.findings import FormProblem, quoted

_RBAC = "rbac.authorization.k8s.io"
_NOTHING = "an empty list exempts nothing; remove the field or add a value"
_LISTS = ("kinds", "namespaces", "names", "operations")


def check_exception(exception: PolicyException) -> Iterator[FormProblem]:
    """Check the values of a PolicyException."""
    spec = exception.spec
    yield from check_metadata(exception.metadata)
    if not spec.policies:
        yield required(("spec", "policies"), "the policies that the exception is about")
    for index, policy in enumerate(spec.policies):
        yield from _check_policy(policy, ("spec", "policies", index))
    if not spec.reason.strip():
        yield required(("spec", "reason"), "why the exception exists; it is logged with each use")
    for field, given in (("resources", spec.resources), ("subjects", spec.subjects)):
        if given is not None and not given:
            yield required(("spec", field), _NOTHING)
    for index, resource in enumerate(spec.resources or ()):
        yield from _check_resource(resource, ("spec", "resources", index))
    for index, subject in enumerate(spec.subjects or ()):
        yield from _check_subject(subject, ("spec", "subjects", index))


def _check_policy(policy: ExceptedPolicy, path: FieldPath) -> Iterator[FormProblem]:
    if not policy.name:
        yield required((*path, "name"), "the name of a policy, or a pattern such as require-*")
    if policy.validations is None:
        return
    if not policy.validations:
        yield required((*path, "validations"), _NOTHING)
    yield from duplicates((*path, "validations"), map(str, policy.validations))
    for index, validation in enumerate(policy.validations):
        if validation == "":
            yield required((*path, "validations", index), "the name of a validation, or its index")


def _check_resource(resource: ExceptedResource, path: FieldPath) -> Iterator[FormProblem]:
    if not resource.fields_given:
        yield required(path, f"one of {', '.join((*_LISTS, 'objectSelector'))}")
    for field in _LISTS:
        values: Sequence[str] | None = getattr(resource, field)
        if values is not None and not values:
            yield required((*path, field), _NOTHING)
        for index, value in enumerate(values or ()):
            if not value:
                yield required((*path, field, index))
    for index, kind in enumerate(resource.kinds or ()):
        group, slash, name = kind.partition("/")
        if kind and ("/" in name or (not name and slash) or (group in ("", "v1") and slash)):
            message = f"Invalid value: {quoted(kind)}: must be a kind, or a group and a kind"
            hint = "write Deployment, apps/Deployment or core/Pod: versions do not matter"
            yield FormProblem((*path, "kinds", index), message, hint)
    if resource.object_selector is not None:
        yield from check_selector(resource.object_selector, (*path, "objectSelector"))


def _check_subject(subject: ExceptionSubject, path: FieldPath) -> Iterator[FormProblem]:
    account = subject.kind == "ServiceAccount"
    if subject.kind is None:
        yield required((*path, "kind"), "User, Group or ServiceAccount")
    if not subject.name:
        yield required((*path, "name"))
    for field in ("name", "namespace"):
        value = getattr(subject, field)
        if "*" in value or "?" in value:
            message = f"Invalid value: {quoted(value)}: subjects have no wildcards, as in RBAC"
            hint = "the group system:serviceaccounts:NAMESPACE has all accounts of a namespace"
            yield FormProblem((*path, field), message, hint)
    if account and not subject.namespace:
        namespace, colon, name = subject.name.removeprefix("system:serviceaccount:").partition(":")
        hint = f"write namespace: {namespace}, name: {name}" if colon else "write namespace: …"
        yield required((*path, "namespace"), "the namespace of the ServiceAccount", hint)
    if subject.kind is not None and not account and subject.namespace:
        message = f"Invalid value: {quoted(subject.namespace)}: a {subject.kind} has no namespace"
        yield FormProblem((*path, "namespace"), message)
    wanted = ("",) if account else ("", _RBAC)
    if subject.kind is not None and subject.api_group not in wanted:
        supported = ", ".join(map(quoted, wanted))
        message = f"Unsupported value: {quoted(subject.api_group)}: supported values: {supported}"
        yield FormProblem((*path, "apiGroup"), message)


def check_scope(exception: PolicyException, namespace: str) -> Iterator[FormProblem]:
    """Check the namespaces of a PolicyException: one that is read from a ``namespace`` can except
    no other, and one of the policy files (empty) belongs to none.
    """
    own = exception.metadata.namespace
    if not namespace:
        if own:
            message = "Forbidden: a PolicyException of the policy files belongs to no namespace"
            hint = f"write resources: [{{namespaces: [{own}]}}]"
            yield FormProblem(("metadata", "namespace"), message, hint)
        return
    said = f"it is read from namespace {namespace}, and exempts requests of that namespace only"
    if own and own != namespace:
        yield FormProblem(("metadata", "namespace"), f"Invalid value: {quoted(own)}: {said}")
    for index, resource in enumerate(exception.spec.resources or ()):
        for number, pattern in enumerate(resource.namespaces or ()):
            if pattern != namespace:
                path: FieldPath = ("spec", "resources", index, "namespaces", number)
                hint = "remove namespaces: the exception is about its own namespace anyway"
                yield FormProblem(path, f"Invalid value: {quoted(pattern)}: {said}", hint)
