"""Rollouts among the documents: which policy has which, and what is wrong with them."""

import pytest

from policyd.json_types import JSONObject
from policyd.policy.compile.compiler import check, compile_sources
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.loader import load_text
from tests.builders.policies import denying, rollout, vap, vap_binding
from tests.policy_sets import loaded, wrongs


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        ({"of": ...}, "spec.policyName: Required value: the name of the policy to roll out"),
        ({"of": "A"}, 'spec.policyName: Invalid value: "A": a lowercase RFC 1123 subdomain'),
        ({"enforce": {"percent": 101}}, "spec.enforce.percent: Invalid value: 101: must be from 0"),
        ({"enforce": {"percent": -1}}, "spec.enforce.percent: Invalid value: -1: must be from 0"),
        ({"enforce": {"percent": "5"}}, "spec.enforce.percent: "),
        ({"enforce": {"percent": 2.5}}, "spec.enforce.percent: "),
        ({"enforce": {"per": 5}}, "spec.enforce.per: "),
        ({"otherwise": ["Deny"]}, "spec.otherwise[0]: "),
        ({"otherwise": ["Warn", "Warn"]}, 'spec.otherwise[1]: Duplicate value: "Warn"'),
        ({"until": "2027-03-01"}, "spec.until: "),
        ({"until": "2027-03-01T00:00:00"}, "spec.until: "),
        ({"until": "20270301T000000Z"}, "spec.until: "),
        ({"until": "2027-02-30T00:00:00Z"}, "spec.until: "),
        ({"until": 5}, "spec.until: "),
        (
            {
                "enforce": {
                    "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}
                }
            },
            "spec.enforce.namespaceSelector.matchExpressions[0].values: ",
        ),
    ],
    ids=str,
)
def test_fields_are_checked(spec: JSONObject, want: str) -> None:
    (wrong,) = wrongs(denying(), rollout(**spec))
    assert wrong.startswith(want)


@pytest.mark.parametrize(
    "until", ["2027-03-01T00:00:00Z", "2027-03-01T02:00:00.5+02:00", "2027-02-28T19:00:00-05:00"]
)
def test_times_have_a_time_zone(until: str) -> None:
    assert wrongs(denying(rollout={"until": until})) == []


@pytest.mark.parametrize(
    ("documents", "want"),
    [
        ([denying(), rollout(of="q")], 'r.spec.policyName: Not found: "q"'),
        (
            [denying(), rollout(), rollout("s")],
            "s.spec.policyName: Duplicate value: 'p': Rollout r",
        ),
        (
            [denying(rollout={}), rollout()],
            "r.spec.policyName: Invalid value: 'p': this policy has",
        ),
        ([denying(), rollout()], ""),
        ([vap(), vap_binding(), rollout()], ""),
    ],
    ids=str,
)
def test_a_rollout_names_one_policy_that_has_no_other(
    documents: list[JSONObject], want: str
) -> None:
    sources = loaded(*documents)
    found = [f"{each['metadata']['name']}." for each in documents if each["kind"] == "Rollout"][-1]
    wrong = "".join(f"{found}{each.path}: {each.message}" for each in check(sources))
    assert wrong.startswith(want)
    assert bool(wrong) is bool(want)


def state(policies: CompiledPolicySet) -> tuple[str, bool]:
    (policy,) = policies.policies
    return policy.state, policy.rollout is not None


def test_a_broken_rollout_puts_its_policy_in_quarantine() -> None:
    broken = compile_sources(loaded(denying(), rollout(enforce={"percent": 101})))
    assert state(broken) == ("quarantined", False)
    (policy,) = broken.policies
    assert "Rollout r spec.enforce.percent" in policy.problem


@pytest.mark.parametrize(
    "documents",
    [
        [denying(), rollout(), rollout("s", enforce={"percent": 100})],
        [denying(), rollout("s", enforce={"percent": 100}), rollout()],
        [denying(rollout={}), rollout(enforce={"percent": 100})],
        [denying(), rollout("s", enforce={"percent": 101}), rollout()],
        [denying(rollout={}), rollout(enforce={"percent": 101})],
    ],
)
def test_which_of_two_rollouts_is_meant_is_not_guessed(documents: list[JSONObject]) -> None:
    """A shadow must not hide an error beside it."""
    assert state(compile_sources(loaded(*documents))) == ("quarantined", False)


def test_a_broken_policy_keeps_its_rollout() -> None:
    for documents in (
        [denying(rollout={}, timeoutSeconds=-1)],
        [denying(rollout={}, validations=[{"expression": "object.("}])],
        [denying(timeoutSeconds=-1), rollout()],
    ):
        assert state(compile_sources(loaded(*documents))) == ("quarantined", True)
    wrong = denying(rollout={"enforce": {"percent": 101}})
    assert state(compile_sources(loaded(wrong))) == ("quarantined", False)


def test_a_rollout_that_changes_compiles_its_policy_again() -> None:
    def compiled(percent: int, former: CompiledPolicySet | None = None) -> CompiledPolicySet:
        sources = loaded(denying(), denying("q"), rollout(enforce={"percent": percent}))
        return compile_sources(sources, former)

    first = compiled(5)
    same, other = compiled(5, first), compiled(6, first)
    assert [a is b for a, b in zip(first.policies, same.policies, strict=True)] == [True, True]
    assert [a is b for a, b in zip(first.policies, other.policies, strict=True)] == [False, True]
    without = compile_sources(loaded(denying(), denying("q")), first)
    assert without.policies[0].rollout is None


def test_times_of_yaml_are_strings() -> None:
    text = """
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations: [{expression: "false"}]
  rollout: {until: 2027-03-01T00:00:00Z}
"""
    (policy,) = compile_sources(load_text(text)).policies
    assert policy.rollout is not None
    assert str(policy.rollout.until) == "2027-03-01 00:00:00+00:00"
