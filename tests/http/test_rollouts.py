"""``/policies`` shows where policies are enforced, but not to strangers."""

from pathlib import Path

from policyd.server.policies.loaded_set import LoadedSet
from policyd.server.policies.store import Store
from tests.builders.policies import policy
from tests.http.asking import admin_app, ask
from tests.policy_sets import compiled


def test_rollouts_are_shown_with_their_state(tmp_path: Path) -> None:
    selector = {"matchLabels": {"stage": "canary"}}
    over = {"enforce": {}, "until": "2024-03-01T00:00:00Z"}
    partly = {"enforce": {"namespaceSelector": selector, "percent": 5}, "otherwise": ["Warn"]}
    documents = [policy("a", rollout=over), policy("b", rollout=partly), policy("c")]
    store = Store([tmp_path], lambda *_: LoadedSet(compiled(*documents)))
    store.start()
    application = admin_app(store)
    shown = ask(application, "/policies", "127.0.0.1")[2]["policies"]
    assert [each.get("rollout") for each in shown] == [
        {**over, "otherwise": ["Audit"], "over": True},
        {**partly, "over": False},
        None,
    ]
    assert shown[1]["counters"]["decisions"]["would_deny"] == 0
    assert not any("rollout" in each for each in ask(application, "/policies")[2]["policies"])
