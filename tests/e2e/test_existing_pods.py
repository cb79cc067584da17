"""What may change of an existing Pod: lint reports the mutations whose change is refused."""

from policyd.json_types import JSONObject
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.mutations.refused import refused
from policyd.policy.lint.run import LintRun
from tests.builders.objects import container, pod
from tests.builders.policies import overlay, policy
from tests.e2e.client import Client
from tests.policy_sets import loaded

STRATEGIC = "application/strategic-merge-patch+json"
IMAGE: JSONObject = {"name": "app", "image": "app:2"}
# Both a strategic merge patch and an overlay.
CHANGES: list[JSONObject] = [
    {"containers": [IMAGE]},
    {"initContainers": [{**IMAGE, "name": "first"}]},
    {"activeDeadlineSeconds": 5},
    {"terminationGracePeriodSeconds": 5},
    {"priorityClassName": "x"},
    {"nodeSelector": {"a": "b"}},
    {"hostNetwork": True},
    {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}},
    {"containers": [{"name": "app", "imagePullPolicy": "Always"}]},
    {"containers": [{"name": "app", "resources": {"limits": {"cpu": "1"}}}]},
    {"ephemeralContainers": [{"name": "debug", "image": "x"}]},
]


def test_lint_reports_what_the_api_server_refuses(client: Client, namespace: str) -> None:
    made = pod(namespace=namespace, initContainers=[container("first")])
    stored = client.made(made)
    added = {"tolerations": [*stored["spec"]["tolerations"], {"key": "a", "operator": "Exists"}]}
    for spec in (*CHANGES, added):
        answer = client.patch(made, {"spec": spec}, STRATEGIC, dryRun="All")
        assert answer.status in (200, 422), (spec, answer.message)
        advice = list(
            in_policies(LintRun(loaded(policy(mutations=[overlay({"spec": spec})]))), refused)
        )
        assert bool(advice) == (answer.status == 422), (spec, answer.message)
