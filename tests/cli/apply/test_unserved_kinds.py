"""``policyd apply --cluster`` with kinds that the cluster does not serve, or not any more."""

import json
from collections.abc import Callable

import pytest
from click.testing import Result

from tests.builders.policies import demand, policy, rule, teams
from tests.cluster.contents import Contents
from tests.cluster.fake import refusal

PODS = "/api/v1/pods"
Run = Callable[..., Result]


@pytest.mark.parametrize("gone", ["/apis/example.com/v1", "/apis/example.com/v1/globes"])
def test_kinds_that_are_deleted_meanwhile_have_no_objects(
    contents: Contents, run: Run, gone: str
) -> None:
    """Discovery lists kinds for some seconds after their definitions were deleted."""
    contents.add(PODS, "bad", "shop")
    contents.special = lambda call: (
        refusal(404, "Not Found") if call.path.partition("?")[0] == gone else None
    )
    done = run(teams(rule("pods"), rule("globes", group="example.com")))
    assert done.stderr == "1 object: 0 admitted, 1 denied\n"


def test_reads_that_cannot_be_listed_are_errors(contents: Contents, run: Run) -> None:
    contents.add(PODS, "a", "shop")
    read = {"name": "gone", "apiVersion": "example.com/v1", "kind": "Gone"}
    gone = policy("gone", reads=[read], validations=[demand("size(reads.gone) == 0", "no")])
    done = run(gone, flags=("--format", "json"))
    ((finding,),) = [each["findings"] for each in json.loads(done.stdout)]
    assert "the cluster has no kind Gone of example.com/v1" in finding["message"]
