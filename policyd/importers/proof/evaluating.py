"""Evaluate one request with the policies of one import, as a server does once every rollout is
over. Compares nothing.
"""

from collections.abc import Collection
from dataclasses import dataclass

from policyd.admission.lookups.authorizer import StaticAuthorizer
from policyd.errors import PolicydError
from policyd.importers.proof.rows import ProofRequest, TestUnusable
from policyd.json_types import JSON
from policyd.offline.admitting import Admission, Admitter
from policyd.offline.suite_policies import with_state
from policyd.policy.compile.policy_set import CompiledPolicySet


@dataclass(frozen=True, slots=True)
class Decision:
    """The decisions of some policies. ``messages`` are about violations, each once a validation,
    whatever the action of their binding is; ``after`` is the object after mutation.
    """

    messages: tuple[str, ...]
    errors: tuple[str, ...]
    changed: bool
    after: JSON


def decide(
    policies: CompiledPolicySet,
    trial: ProofRequest,
    names: Collection[str],
    evaluated: Collection[str] | None = None,
) -> Decision:
    """Return what the policies of these names decide. The ``evaluated`` ones, by default the same,
    are those that see the request: a mutation by another rule may come before a validation.

    Raises TestUnusable if the request cannot be evaluated.
    """
    seen = names if evaluated is None else evaluated
    # The tests' own tools know no permissions of users but those that a test gives them.
    known = with_state(policies.enforced, trial.state).reading(())
    admitter = Admitter(known, StaticAuthorizer(()))
    try:
        found = admitter.admit(trial.review, only=lambda each: each.name in seen)
    except PolicydError as error:
        raise TestUnusable(str(error)) from None
    return _decision(found, names)


def _decision(found: Admission, names: Collection[str]) -> Decision:
    counted = [each for each in found.violations if each.policy in names]
    violations = dict.fromkeys(
        (each.policy, each.index, each.message) for each in counted if not each.error
    )
    errors = dict.fromkeys(each.message for each in counted if each.error)
    errors |= dict.fromkeys(each.message for each in found.ignored if each.policy in names)
    messages = tuple(message for _, _, message in violations)
    return Decision(messages, tuple(errors), bool(found.patch), found.after)
