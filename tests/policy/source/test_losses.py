"""Which losses of documents a reload refuses, and which it does not."""

from policyd.json_types import JSONObject
from policyd.policy.source.losses import held
from tests.builders.policies import policy, rollout_document, suite
from tests.policy_sets import loaded

ARGO: JSONObject = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Rollout",
    "metadata": {"name": "web"},
    "spec": {"replicas": 1},
}


def test_a_rollout_is_no_policy_that_could_be_lost() -> None:
    kinds = [held(loaded(*documents).documents)["t.yaml"] for documents in (
        [policy(), rollout_document()], [policy()], [rollout_document()], [suite()],
    )]  # fmt: skip
    assert kinds == [{"policies", "documents"}, {"policies"}, {"documents"}, {"documents"}]


def test_a_rollout_of_another_group_is_a_param() -> None:
    sources = loaded(policy(), ARGO)
    assert sources.problems == ()
    assert not sources.documents[1].is_policy
