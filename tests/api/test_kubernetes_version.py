"""Policies mean what they mean in the Kubernetes version that their set is of."""

import json
from pathlib import Path

import pytest

from policyd.api.policy_set import PolicySet
from policyd.errors import PolicyError
from policyd.policy.suite.reviews import build_review
from policyd.server.policies.policy_loader import PolicyLoader
from policyd.versions import KubernetesVersion
from tests.builders.objects import pod
from tests.builders.policies import demand, policy, suite


def write(folder: Path, expression: str) -> Path:
    file = folder / "policy.json"
    file.write_text(json.dumps(policy("named", validations=[demand(expression, "denied")])))
    return file


def test_what_a_version_does_not_know_does_not_load(tmp_path: Path) -> None:
    file = write(tmp_path, "['a'].includes(object.metadata.name)")
    policies = PolicySet.load([file])
    assert policies.kubernetes_version == "1.37"
    assert policies.review(build_review(pod(name="a")))["response"]["allowed"]
    with pytest.raises(PolicyError, match="undeclared reference to 'includes'"):
        PolicySet.load([file], kubernetes_version="1.36")
    with pytest.raises(ValueError, match=r"1\.30 to 1\.38"):
        PolicySet.load([file], kubernetes_version="1.29")


def test_what_a_version_answers_otherwise(tmp_path: Path) -> None:
    file = write(tmp_path, "lists.range(object.metadata.name == 'a' ? -1 : 1) == []")
    allowed = {
        version: PolicySet.load([file], kubernetes_version=version).review(
            build_review(pod(name="a"))
        )["response"]
        for version in ("1.36", "1.37")
    }
    assert allowed["1.36"]["allowed"]
    denial = allowed["1.37"]["status"]["message"]
    assert "lists.range: size must be non-negative, got -1" in denial


def test_suites_and_reloads_follow_the_version_of_the_server(tmp_path: Path) -> None:
    write(tmp_path, "lists.range(object.metadata.name == 'a' ? -1 : 1) == []")
    case = {"name": "a", "request": {"object": pod(name="a")}, "expect": {"allowed": True}}
    whole = suite(policies=["policy.json"], cases=[case])
    (tmp_path / "suite.json").write_text(json.dumps(whole))
    versions = [KubernetesVersion(1, 36), KubernetesVersion(1, 37)]
    serving = PolicyLoader()
    old = serving.load([tmp_path], version=lambda: versions[0])
    assert old.failures == ()
    new = serving.load([tmp_path], version=lambda: versions[1])
    assert len(new.failures) == 1
    assert (old.policies.version, new.policies.version) == tuple(versions)
    # The same text means something else: the compiled policy is not used again.
    assert old.policies.policies[0] is not new.policies.policies[0]
    again = serving.load([tmp_path], version=lambda: versions[1])
    assert again.policies.policies[0] is new.policies.policies[0]
