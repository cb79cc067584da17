"""An object whose namespace is gone: since 1.37 its updates reach policies."""

from pathlib import Path

from tests.builders.objects import config_map
from tests.builders.policies import demand, rule
from tests.e2e.builders import validating
from tests.e2e.client import Answer, Client
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import make_namespace
from tests.e2e.in_tree import in_force
from tests.e2e.rights import bound, role
from tests.e2e.webhook import DENIED, registered, serving, write
from tests.server.process import until


def test_updates_in_a_namespace_that_is_gone(
    api: Cluster,
    client: Client,
    tmp_path: Path,
    kubeconfig: Path,
) -> None:
    """1.36 answers them before any policy; since then policies see them, and their selectors fail."""
    gone = make_namespace(client, "gone")
    client.made(config_map("a", "gone"))
    client.deleted(gone)
    ended = client.get(gone).body
    ended["spec"]["finalizers"] = []
    client.replace(ended, "/finalize")
    until(lambda: client.get(gone).status == 404, "the namespace being gone")

    def update() -> Answer:
        return client.replace(config_map("a", "gone", {"changed": "yes"}), dryRun="All")

    if api.version == "1.36":
        until(lambda: update().status == 404, "the API server knowing that it is gone")
        assert update().message == 'namespaces "gone" not found'
        return
    documents = validating("placed", [demand("false", "no")], "Deny")
    place = {"matchLabels": {"team": "a"}}
    documents[0]["spec"]["matchConstraints"]["namespaceSelector"] = place
    with in_force(client, documents):
        # A policy of the test before may still be in force for a moment, and fail as well.
        until(lambda: "'placed'" in update().message, "the API server knowing that it is gone")
        told = update().message.partition("'placed' denied request: ")[2]
    assert told == 'failed to configure policy: namespaces "gone" not found'
    until(lambda: update().status == 200, "the API server's own policy being gone")
    reading = role("namespaces", {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["*"]})
    for each in (reading, bound(reading, "User", "policyd")):
        client.made(each)
    sources = write(tmp_path / "policies", documents)
    rules = [rule("configmaps")]
    with (
        serving(api, [sources], tmp_path / "log", kubeconfig=str(kubeconfig)) as server,
        registered(api, server, "default", namespaceSelector={}, rules=rules),
    ):
        hook = update()
    assert hook.status == 422
    assert hook.message.startswith(f"{DENIED}ValidatingAdmissionPolicy 'placed' denied request: ")
    assert "failed to configure policy: " in hook.message
    assert hook.message.endswith('namespaces "gone" not found')
