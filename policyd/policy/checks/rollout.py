"""Checks of rollouts: ``spec.rollout`` of a Policy, and the kind Rollout."""

from collections.abc import Iterator

from policyd.json_types import FieldPath
from policyd.policy.checks.match import (
    check_metadata,
    check_selector,
    duplicates,
    invalid,
    required,
)
from policyd.policy.model import names
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.rollout import PolicyRollout, Rollout

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
