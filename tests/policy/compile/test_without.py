"""A set of policies without parts that another engine enforces."""

from policyd.policy.compile import compiler
from tests.builders.policies import (
    CONFIG_MAPS,
    VALIDATION,
    labelling,
    map_,
    policy,
    vap,
    vap_binding,
)
from tests.policy_sets import compiled, loaded

LABEL = [labelling("a", "'b'")]


def test_parts_are_left_out_of_the_webhook_that_they_are_of() -> None:
    whole = compiled(
        policy("both", mutations=LABEL, validations=[VALIDATION]),
        policy("check", CONFIG_MAPS),
        policy("stamp", mutations=LABEL),
    )
    assert whole.without([]) is whole
    left = whole.without([("both", "mutate"), ("check", "validate"), ("stamp", "validate")])
    assert [each.name for each in left.policies] == ["both", "stamp"]
    both, stamp = left.policies
    assert both.validation is not None
    assert (both.mutation, both.mutations) == (None, ())
    assert stamp is whole.policies[2], "it has no such part"
    assert left.generation == whole.generation
    assert [each.name for each in whole.policies] == ["both", "check", "stamp"]


def test_kinds_that_share_a_name_are_told_apart_by_their_webhook() -> None:
    whole = compiled(vap("p"), vap_binding(), map_("p", mutations=LABEL))
    [left] = whole.without([("p", "validate")]).policies
    assert left.kind == "MutatingAdmissionPolicy"


def test_a_policy_with_errors_is_never_left_out() -> None:
    whole = compiler.compile_sources(loaded(policy("p", validations=[{"expression": "("}])))
    [left] = whole.without([("p", "validate")]).quarantined
    assert left is whole.policies[0]
