"""Checks of the fields that only a Policy has: patterns, exceptions, rollouts; and of the kind
Rollout.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from policyd.json_types import FieldPath
from policyd.mutation.overlays.tree import MAX_DEPTH, too_deep
from policyd.near_names import did_you_mean
from policyd.pattern import Pattern, PatternError, compile_any_pattern, compile_pattern
from policyd.policy.checks.match import (
    check_metadata,
    check_selector,
    duplicates,
    invalid,
    required,
)
from policyd.policy.model import names
from policyd.policy.model.exceptions import Exception_
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import Policy, PolicyValidation
from policyd.policy.model.match import Variable, matches_pods
from policyd.policy.model.reads import ANY, SAME, PolicyRead
from policyd.policy.model.rollout import PolicyRollout, Rollout

MAX_TIMEOUT = 30  # seconds: the longest that the API server waits for a webhook
_TAKEN_NAMES = ("object", "variables", "_")
_EXCEPTION_LISTS = ("namespaces", "names", "users", "groups", "operations", "validations")


def check_policy(policy: Policy) -> Iterator[FormProblem]:
    """Check the fields that only a Policy has."""
    spec = policy.spec
    if not (spec.validations or spec.mutations or spec.audit_annotations):
        detail = "a policy needs validations, mutations or auditAnnotations"
        yield required(("spec", "validations"), detail)
    yield from check_reads(spec.reads)
    yield from _check_variable_names(spec.variables)
    if spec.params is not None:
        for field, value in (("paramKind", spec.param_kind), ("paramRef", spec.param_ref)):
            if value is not None:
                yield FormProblem(
                    ("spec", field),
                    "Forbidden: params and paramKind/paramRef are mutually exclusive",
                    "params defines constants; paramKind and paramRef select objects",
                    at_key=True,
                )
    elif spec.param_ref is not None and spec.param_kind is None:
        hint = "write paramKind, such as {apiVersion: v1, kind: ConfigMap}"
        yield required(("spec", "paramKind"), "must be specified with paramRef", hint)
    timeout = spec.timeout_seconds
    if timeout is not None and not (math.isfinite(timeout) and 0 < timeout <= MAX_TIMEOUT):
        wrong = f"must be more than 0 and at most {MAX_TIMEOUT} seconds"
        given = int(timeout) if timeout.is_integer() else timeout
        yield from invalid(("spec", "timeoutSeconds"), given, [wrong])
    rules = spec.match_constraints.resource_rules
    matched = [matches_pods(rule.plain()) for rule in rules]  # none: that is another problem
    if spec.pod_controllers and matched and not any(matched):
        wrong = "no resource rule matches pods, so podControllers has no effect"
        hint = "write apiGroups: [''], apiVersions: [v1], resources: [pods] in a rule"
        yield FormProblem(("spec", "podControllers"), f"Invalid value: true: {wrong}", hint)
    validation_names = [validation.name for validation in spec.validations]
    yield from duplicates(("spec", "validations"), validation_names, "name")
    yield from _check_exceptions(spec.exceptions, validation_names)
    if spec.rollout is not None:
        yield from check_policy_rollout(spec.rollout, ("spec", "rollout"))


def check_overlay(overlay: dict[str, Any], path: FieldPath) -> Iterator[FormProblem]:
    """Check the ``overlay`` of a mutation; it is checked against its kinds when it is compiled."""
    if not overlay:
        yield required(path, "an empty overlay changes nothing")
    if too_deep(overlay):
        yield FormProblem(path, f"the overlay is deeper than {MAX_DEPTH} levels")


def _check_variable_names(variables: Sequence[Variable]) -> Iterator[FormProblem]:
    """Reject what the API server accepts but nobody intends: duplicate and misleading names."""
    path: FieldPath = ("spec", "variables")
    yield from duplicates(path, (variable.name for variable in variables), "name")
    for index, variable in enumerate(variables):
        if variable.name in _TAKEN_NAMES:
            wrong = "is misleading; choose another name"
            yield from invalid((*path, index, "name"), variable.name, [wrong])


def _check_exceptions(
    exceptions: Sequence[Exception_], validation_names: Sequence[str]
) -> Iterator[FormProblem]:
    path: FieldPath = ("spec", "exceptions")
    yield from duplicates(path, (exception.name for exception in exceptions), "name")
    for index, exception in enumerate(exceptions):
        at = (*path, index)
        if not exception.name:
            yield required((*at, "name"), "the audit annotation contains the name of the exception")
        for field in _EXCEPTION_LISTS:
            values = getattr(exception, field)
            if values is not None and not values:
                detail = "an empty list exempts nothing; remove the field or add a value"
                yield required((*at, field), detail)
        if exception.object_selector is not None:
            yield from check_selector(exception.object_selector, (*at, "objectSelector"))
        for number, name in enumerate(exception.validations or ()):
            if not name or name not in validation_names:
                known = list(filter(None, validation_names))
                listed = f"named validations: {', '.join(known)}"
                yield FormProblem(
                    (*at, "validations", number),
                    f'Not found: "{name}": no validation has this name',
                    did_you_mean(name, known) or (listed if known else f"write name: {name} in it"),
                )


def check_forms(validation: PolicyValidation, at: FieldPath) -> Iterator[FormProblem]:
    """Check that exactly one of ``expression``, ``pattern`` and ``anyPattern`` is set and valid."""
    given = [
        name
        for name, value in (
            ("expression", validation.expression.strip() or None),
            ("pattern", validation.pattern),
            ("anyPattern", validation.any_pattern),
        )
        if value is not None
    ]
    if not given:
        yield required(at, "expression, pattern or anyPattern")
    for name in given[1:]:
        wrong = f"Forbidden: {given[0]} and {name} are mutually exclusive"
        yield FormProblem((*at, name), wrong, "use two validations", at_key=True)
    if validation.pattern is not None:
        yield from _faults(compile_pattern, validation.pattern, (*at, "pattern"))
    if validation.any_pattern is not None:
        path = (*at, "anyPattern")
        if not validation.any_pattern:
            yield required(path, "an empty list of patterns never matches")
        yield from _faults(compile_any_pattern, list(validation.any_pattern), path)


def _faults(make: Callable[[Any], Pattern], tree: Any, path: FieldPath) -> Iterator[FormProblem]:
    try:
        make(tree)
    except PatternError as error:
        for fault in error.faults:
            yield FormProblem(
                (*path, *fault.path), fault.message, fault.hint, fault.at_key, rule="pattern"
            )


_WHOLE = 100


def check_policy_rollout(rollout: PolicyRollout, path: FieldPath) -> Iterator[FormProblem]:
    """Check the fields of a rollout."""
    enforce = rollout.enforce
    if enforce.namespace_selector is not None:
        yield from check_selector(
            enforce.namespace_selector, (*path, "enforce", "namespaceSelector")
        )
    if enforce.percent is not None and not 0 <= enforce.percent <= _WHOLE:
        wrong = f"must be from 0 to {_WHOLE}"
        yield from invalid((*path, "enforce", "percent"), enforce.percent, [wrong])
    yield from duplicates((*path, "otherwise"), rollout.otherwise)


def check_rollout(rollout: Rollout) -> Iterator[FormProblem]:
    """Check a document of kind Rollout."""
    yield from check_metadata(rollout.metadata)
    path: FieldPath = ("spec", "policyName")
    name = rollout.spec.policy_name
    if not name:
        yield required(path, "the name of the policy to roll out")
    else:
        yield from invalid(path, name, names.dns_subdomain(name))
    yield from check_policy_rollout(rollout.spec, ("spec",))


MAX_READS = 16
MAX_STALENESS = 86_400  # seconds
# Kinds that hold credentials, and groups of tokens and of answers about access.
_SECRET_KINDS = frozenset((("", "Secret"),))
_SECRET_GROUPS = frozenset(("authentication.k8s.io", "authorization.k8s.io"))
_PATH: FieldPath = ("spec", "reads")


def check_reads(reads: tuple[PolicyRead, ...]) -> Iterator[FormProblem]:
    """Check the reads of a policy."""
    if len(reads) > MAX_READS:
        yield FormProblem(_PATH, f"Too many: {len(reads)}: must have at most {MAX_READS} items")
    yield from duplicates(_PATH, (read.name for read in reads), "name")
    for index, read in enumerate(reads):
        yield from _check_read(read, (*_PATH, index))


def is_secret(group: str, kind: str) -> bool:
    """Whether objects of a kind hold credentials or answers about access."""
    return (group, kind) in _SECRET_KINDS or group in _SECRET_GROUPS


def _check_read(read: PolicyRead, path: FieldPath) -> Iterator[FormProblem]:
    if not read.name:
        yield required((*path, "name"), "expressions use it as reads.NAME")
    elif not names.is_cel_identifier(read.name):
        wrong = "must be a name of CEL: letters, digits and _, not a word of its grammar"
        yield from invalid((*path, "name"), read.name, [wrong])
    yield from _check_kind(read, path)
    if read.namespace not in (SAME, ANY):
        wrongs = (
            f"must be same, any, or the name of a namespace: {each}"
            for each in names.dns_subdomain(read.namespace)
        )
        hint = "write any for all namespaces, same for the one of the request"
        yield from invalid((*path, "namespace"), read.namespace, wrongs, hint)
    if read.label_selector is not None:
        yield from check_selector(read.label_selector, (*path, "labelSelector"))
    seconds = read.max_staleness_seconds
    if seconds is not None and not (math.isfinite(seconds) and 0 < seconds <= MAX_STALENESS):
        wrong = f"must be more than 0 and at most {MAX_STALENESS} seconds"
        yield from invalid((*path, "maxStalenessSeconds"), seconds, [wrong])


def _check_kind(read: PolicyRead, path: FieldPath) -> Iterator[FormProblem]:
    for field, value in (("apiVersion", read.api_version), ("kind", read.kind)):
        if not value:
            example = "write apiVersion: networking.k8s.io/v1 and kind: Ingress, for example"
            yield required((*path, field), hint=example)
    group, _, version = read.api_version.rpartition("/")
    grouped = not group or not any(names.dns_subdomain(group))
    if read.api_version and not (
        grouped and not any(names.dns_1035_label(version)) and not read.api_version.startswith("/")
    ):
        wrong = "must be VERSION, or GROUP/VERSION such as networking.k8s.io/v1"
        yield from invalid((*path, "apiVersion"), read.api_version, [wrong])
    if read.kind:
        wrongs = names.dns_1035_label(read.kind.lower())
        yield from invalid((*path, "kind"), read.kind, wrongs)
    if is_secret(group, read.kind):
        yield FormProblem(
            (*path, "kind"),
            f"Forbidden: objects of kind {read.kind} cannot be read",
            "they hold credentials or answers about access; read an object that refers to them",
        )
