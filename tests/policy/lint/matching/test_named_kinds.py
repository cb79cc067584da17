"""Advice on a paramKind that names no kind that exists."""

import pytest

from policyd.policy.lint.all import in_policies
from policyd.policy.lint.matching.named_kinds import advise_named_kinds
from policyd.policy.lint.run import LintRun
from tests.builders.objects import gadget_definition
from tests.builders.policies import policy
from tests.policy_sets import loaded

RIGHT = [
    ("v1", "ConfigMap"),
    ("apps/v1", "Deployment"),
    ("networking.k8s.io/v1beta1", "ServiceCIDR"),  # not served by default
    ("example.com/v1", "Gadget"),
    ("example.com/v1", "Other"),
    ("acme.example.org/v1", "configmap"),
]
# apiVersion, kind, and the field and hint of the advice.
WRONG = [
    ("v1", "configmap", "kind", "write ConfigMap"),
    ("v1", "ConfigMaps", "kind", "write ConfigMap"),
    ("v1", "confgmap", "kind", "did you mean ConfigMap?"),
    ("v1", "Anvil", "kind", ""),
    ("core/v1", "ConfigMap", "apiVersion", "write v1"),
    ("v2", "ConfigMap", "apiVersion", "write v1"),
    ("v1", "Deployment", "apiVersion", "write apps/v1"),
    ("apps/v1beta1", "Deployment", "apiVersion", "write apps/v1"),
    ("example.com/v1", "gadgets", "kind", "write Gadget"),
    ("example.com/v7", "Gadget", "apiVersion", "write example.com/v1"),
]


def _advice(api_version: str, kind: str) -> list[tuple[str, str]]:
    sources = loaded(
        policy(paramKind={"apiVersion": api_version, "kind": kind}), gadget_definition()
    )
    found = list(in_policies(LintRun(sources), advise_named_kinds))
    assert all(f"{api_version} has no kind {kind!r}" in each.message for each in found)
    return [(each.path.rpartition(".")[2], each.hint) for each in found]


@pytest.mark.parametrize("api_version, kind", RIGHT)
def test_a_kind_that_exists_or_may_exist(api_version: str, kind: str) -> None:
    assert _advice(api_version, kind) == []


@pytest.mark.parametrize("api_version, kind, field, hint", WRONG)
def test_a_kind_that_does_not_exist(api_version: str, kind: str, field: str, hint: str) -> None:
    assert _advice(api_version, kind) == [(field, hint)]
