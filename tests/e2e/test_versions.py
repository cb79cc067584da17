"""What Kubernetes 1.37 changed for admission, asked of the real API server and of policyd beside it."""

import json
from pathlib import Path

from policyd.json_types import JSONObject
from tests.builders.objects import config_map
from tests.builders.policies import CONFIG_MAPS, demand, policy, rule
from tests.e2e.builders import validating
from tests.e2e.client import Answer, Client, audit
from tests.e2e.cluster import Cluster
from tests.e2e.in_tree import HOOK, TREE, both
from tests.e2e.webhook import counted, registered, serving, write
from tests.server.process import Process

REVIEWS: tuple[tuple[str, str, JSONObject], ...] = (
    ("authentication.k8s.io/v1", "TokenReview", {"token": "none"}),
    ("authentication.k8s.io/v1", "SelfSubjectReview", {}),
    ("authorization.k8s.io/v1", "SelfSubjectRulesReview", {"namespace": "default"}),
    ("authorization.k8s.io/v1", "SubjectAccessReview", {"user": "a", "nonResourceAttributes": {}}),
    ("authorization.k8s.io/v1", "SelfSubjectAccessReview", {"nonResourceAttributes": {}}),
)


def reviews(server: Process) -> float:
    """How many validating reviews were answered so far."""
    return counted(server, 'webhook="validate"')


def test_reviews_of_rights_reach_no_webhook_since_1_37(
    api: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    sources = write(
        tmp_path / "policies", [policy("none", CONFIG_MAPS, validations=[demand("true", "")])]
    )
    groups = ["authentication.k8s.io", "authorization.k8s.io"]
    virtual = {**rule("*", operations=["CREATE"]), "apiGroups": groups}
    rules = [rule("configmaps", operations=["CREATE"]), virtual]
    with (
        serving(api, [sources], tmp_path / "log") as server,
        registered(api, server, namespace, rules=rules, namespaceSelector={}),
    ):
        before = reviews(server)
        for version, kind, spec in REVIEWS:
            made = {"apiVersion": version, "kind": kind, "metadata": {}, "spec": spec}
            client.made({key: value for key, value in made.items() if value or key != "spec"})
        seen = reviews(server) - before
    assert seen == (len(REVIEWS) if api.version == "1.36" else 0)


def failures(api: Cluster, answer: Answer, prefix: str) -> list[JSONObject]:
    """The entries of ``validation_failure`` of one request."""
    found = audit(api, answer.audit_id)
    listed: list[JSONObject] = json.loads(found[f"{prefix}/validation_failure"])
    return listed


def test_the_audit_log_lists_failed_validations(
    api: Cluster, client: Client, tmp_path: Path
) -> None:
    """1.36 lists the first only, and policyd lists all (docs/reference/differences.md)."""
    count = 60
    validations = [demand("false", f"number {number}") for number in range(count)]
    with both(
        api, client, validating("audited", validations, "Audit"), tmp_path, "v-"
    ) as namespace:
        tree, hook = (
            client.create(config_map("a", namespace(side, "audited"))) for side in (TREE, HOOK)
        )
        assert (tree.status, hook.status) == (201, 201)
        theirs = failures(api, tree, "validation.policy.admission.k8s.io")
        ours = failures(api, hook, "validate.policyd.dev")
    if api.version == "1.36":
        assert theirs == ours[:1]
    else:
        assert len(theirs) == 50
        assert ours == theirs
