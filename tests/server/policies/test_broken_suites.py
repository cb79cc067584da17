"""Suites of policies that have errors: what is one mistake is one problem."""

from pathlib import Path

import pytest
import yaml

from policyd.server.policies.policy_loader import PolicyLoader
from tests.builders.objects import pod
from tests.builders.policies import demand, policy, suite

CASE = {"name": "c", "request": {"object": pod()}, "expect": {"allowed": True}}
GOOD = policy("good", validations=[demand("true", "m")])
BROKEN = policy("broken", validations=[demand("object.a =", "m"), demand("foo(1)", "m")])


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (["good.yaml"], []),
        (["broken.yaml"], []),
        (["./../p/broken.yaml", "good.yaml"], []),
        (["broken.yaml", "gone.yaml"], ["PolicyTest s cannot run: ", "gone.yaml"]),
        (["good.yaml", "other/odd.yaml"], ["PolicyTest s cannot run: ", "odd.yaml"]),
    ],
)
def test_a_suite_that_names_a_broken_policy_is_no_second_error(
    tmp_path: Path, named: list[str], said: list[str]
) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    for name, document in (("good", GOOD), ("broken", BROKEN)):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(document))
    (folder / "suite.yaml").write_text(yaml.safe_dump(suite("s", policies=named, cases=[CASE])))
    loaded = PolicyLoader().load([folder])
    assert [each.path for each in loaded.policies.problems] == [
        "spec.validations[0].expression",
        "spec.validations[1].expression",
    ]
    assert len(loaded.failures) == bool(said)
    assert all(part in loaded.failures[0].message for part in said)
