"""The same policies decide and change alike whether the API server runs them itself or policyd does."""

from pathlib import Path
from typing import Any

from tests.e2e.builders import DATA, documents, recorded_pods
from tests.e2e.client import Answer, Client
from tests.e2e.cluster import Cluster
from tests.e2e.in_tree import ALL, HOOK, TREE, both, stored
from tests.e2e.webhook import DENIED

VALIDATING = documents(*sorted((DATA / "vap").glob("*.yaml")))
# The overlays among the reference work are policyd's own: the API server does not know them.
MUTATING = [
    each
    for each in documents(*sorted((DATA / "map").glob("*.yaml")))
    if each["kind"].startswith("MutatingAdmissionPolicy")
]
Decision = tuple[int, str, str, tuple[str, ...]]


def names(kind: str) -> list[str]:
    return [each["metadata"]["name"] for each in VALIDATING + MUTATING if each["kind"] == kind]


def decision(answer: Answer, name: str) -> Decision:
    """Code, reason, message without its prefix, causes; of an admitted object only the code. The
    message is that of the first denial; policyd has the others after it, one per line.
    """
    if answer.status == 201:
        return 201, "", "", ()
    message = answer.message.removeprefix(DENIED).removeprefix(f'pods "{name}" is forbidden: ')
    first = answer.causes[0]
    assert f"{message}\n".startswith(f"{first}\n")
    return answer.status, answer.body["reason"], first, tuple(answer.causes)


def test_each_policy_decides_as_in_the_api_server(
    api: Cluster, client: Client, tmp_path: Path
) -> None:
    pods = recorded_pods("unset")
    with both(api, client, VALIDATING, tmp_path) as namespace:

        def create(side: str, policy: str, index: int) -> Decision:
            made = pods[index]
            made["metadata"]["namespace"] = namespace(side, policy)
            return decision(client.create(made, dryRun="All"), made["metadata"]["name"])

        together = [(create(TREE, ALL, i), create(HOOK, ALL, i)) for i in range(len(pods))]
        bad = [i for i, (tree, _) in enumerate(together) if tree[0] != 201]
        singly = [
            (policy, i, create(TREE, policy, i), create(HOOK, policy, i))
            for policy in names("ValidatingAdmissionPolicy")
            for i in bad
        ]
    assert len(bad) == 10
    for tree, hook in together:
        # Of several denials the API server tells one, in no fixed order; policyd tells all.
        assert tree[:2] == hook[:2]
        assert set(tree[3]) <= set(hook[3])
        assert len(tree[3]) == min(len(hook[3]), 1)
        assert tree[2] in (hook[2], *hook[3])
    # Where two validations of a policy fail Kubernetes has one cause, which comes first here too.
    assert [row for row in singly if row[2] != (*row[3][:3], row[3][3][:1])] == []
    denied = sum(tree[0] == 422 for _, _, tree, _ in singly)
    print(f"{len(singly)} decisions of one policy alike, {denied} of them denials")
    assert denied >= 10


def test_each_policy_changes_as_in_the_api_server(
    api: Cluster, client: Client, tmp_path: Path
) -> None:
    pods = recorded_pods("unset")
    few = range(0, len(pods), 30)
    with both(api, client, MUTATING, tmp_path) as namespace:

        def create(side: str, policy: str, index: int) -> Any:
            made = pods[index]
            made["metadata"]["namespace"] = namespace(side, policy)
            return stored(client.made(made))

        rows = [(ALL, i) for i in range(len(pods))]
        rows += [(policy, i) for policy in names("MutatingAdmissionPolicy") for i in few]
        for policy, i in rows:
            tree, hook = create(TREE, policy, i), create(HOOK, policy, i)
            assert hook == tree, f"{policy}, pod {i}"
            if policy == ALL:
                assert {"mutated-01", "mutated-10"} <= tree["metadata"]["labels"].keys()
    print(f"{len(rows)} stored pods alike")
