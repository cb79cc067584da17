"""``policyd serve`` that follows namespaces and params: their changes, and life without them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from tests.builders.policies import CONFIG_MAPS, demand, policy
from tests.builders.reviews import body
from tests.cluster.fake import Call, Reply, api_server, refusal
from tests.cluster.watched import WatchedList
from tests.server.process import Process, until
from tests.server.serve import command

SELECTING = policy(
    "wants",
    CONFIG_MAPS,
    match={"namespaceSelector": {"matchLabels": {"closed": "yes"}}},
    validations=[demand("false", "closed")],
)
SEEING = policy(
    "wants", CONFIG_MAPS, validations=[demand("namespaceObject.status.phase == 'Active'", "no")]
)
CONFIGURED = policy(
    "wants",
    CONFIG_MAPS,
    paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    paramRef={"name": "limits", "parameterNotFoundAction": "Deny"},
    validations=[demand("params.data.open == 'yes'", "closed")],
)
NEITHER = policy("wants", CONFIG_MAPS, validations=[demand("true", "no")])


class Cluster:
    """Namespaces and ConfigMaps; the path of each request for one object is in ``asked``."""

    def __init__(self) -> None:
        self.namespaces, self.params = WatchedList("Namespace"), WatchedList()
        self.lists = {
            "/api/v1/namespaces": self.namespaces,
            "/api/v1/configmaps": self.params,
        }
        self.asked: list[str] = []
        self.away = False

    def __call__(self, call: Call) -> Reply:
        path = call.path.partition("?")[0]
        if self.away:
            return Reply(b"", 503)
        if path in self.lists:
            return self.lists[path].answer(call)
        self.asked.append(path)
        parts = path.split("/")  # api, v1, namespaces, NAMESPACE, configmaps, NAME
        key = (parts[4], parts[6]) if "configmaps" in path else ("", parts[4])
        found = (self.params if "configmaps" in path else self.namespaces).objects.get(key)
        kind = "ConfigMap" if "configmaps" in path else "Namespace"
        return refusal(404, f"no {key}") if found is None else Reply({"kind": kind, **found})

    def answer_lists(self, reply: Reply | None, *what: str) -> None:
        for each in self.lists.values():
            each.refused = dict.fromkeys(what, reply) if reply is not None else {}

    def leave(self) -> None:
        """Answer nothing any more."""
        self.away = True
        for each in self.lists.values():
            each.cut()


def write(folder: Path, document: JSONObject) -> Path:
    """The one policy of a folder, exchanged at once."""
    (folder / "policies").mkdir(exist_ok=True)
    new = folder / "new.json"
    new.write_text(json.dumps(document))
    return new.rename(folder / "policies" / "wants.json").parent


@contextmanager
def serving(folder: Path, cluster: Cluster, document: JSONObject) -> Iterator[Process]:
    sources = write(folder, document)
    with api_server(folder, cluster) as api:
        flags = ("--kubeconfig", str(api.kubeconfig()))
        with Process(command(sources, *flags), folder / "server.log") as server:
            yield server
            for each in cluster.lists.values():
                each.close()
        assert not server.lines("defect")


def allowed(server: Process) -> bool:
    """Whether a ConfigMap may be created in the namespace ``shop``."""
    code, said = server.post("/validate", body())
    assert code == 200
    found: bool = said["response"]["allowed"]
    return found


def message(server: Process) -> str:
    return str(server.post("/validate", body())[1]["response"]["status"]["message"])


def ready(server: Process) -> bool:
    return server.get("/readyz")[1] == "ok"


def kept(server: Process, cache: str) -> float:
    return server.metric(f'policyd_cluster_cache_objects{{cache="{cache}"}}')


def healthy(server: Process, watch: str) -> bool:
    return server.metric(f'policyd_watch_healthy{{watch="{watch}"}}') == 1


def test_labels_of_namespaces_are_followed(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.namespaces.put("shop")
    with serving(tmp_path, cluster, SELECTING) as server:
        until(lambda: ready(server), "the first list")
        assert allowed(server)
        cluster.namespaces.put("shop", labels={"closed": "yes"})
        until(lambda: not allowed(server), "the label")
        cluster.namespaces.put("shop", labels={"closed": "no"})
        until(lambda: allowed(server), "the other label")
        assert cluster.asked == []
        assert kept(server, "namespaces") == 1
        assert healthy(server, "namespaces")
        staleness = 'policyd_cluster_cache_staleness_seconds{cache="namespaces"}'
        assert server.metric(staleness) == 0
        assert server.terminate() == 0


def test_a_namespace_that_is_not_listed_yet_is_asked_for(tmp_path: Path) -> None:
    cluster = Cluster()
    with serving(tmp_path, cluster, SELECTING) as server:
        until(lambda: ready(server), "the first list")
        assert "no ('', 'shop')" in message(server)  # the answer of the API server
        made = {"metadata": {"name": "shop", "labels": {"closed": "yes"}}}
        cluster.namespaces.objects["", "shop"] = made  # and no event of it
        assert message(server) == "policy 'wants' denied request: closed"
        made["metadata"]["labels"] = {}
        assert allowed(server)
        assert set(cluster.asked) == {"/api/v1/namespaces/shop"}


def test_namespace_objects_are_kept_only_for_policies_that_see_them(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.namespaces.put("shop", status={"phase": "Active"})
    with serving(tmp_path, cluster, SELECTING) as server:
        until(lambda: ready(server), "the first list")
        assert allowed(server)
        write(tmp_path, SEEING)
        until(lambda: len(server.lines("reload")) > 1, "the other policy")
        assert allowed(server)
        until(lambda: len(cluster.namespaces.lists) == 2, "a list with more fields")
        cluster.namespaces.put("shop", status={"phase": "Terminating"})
        until(lambda: not allowed(server), "the phase")
        write(tmp_path, NEITHER)
        until(lambda: kept(server, "namespaces") == 0, "nothing being kept")
        until(cluster.namespaces.abandoned, "the end of the watch")
        assert allowed(server)


def test_params_are_followed(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.params.put("other", "shop", data={"open": "no"})
    with serving(tmp_path, cluster, CONFIGURED) as server:
        until(lambda: ready(server), "the first list")
        assert "no params found" in message(server)
        asked = len(cluster.asked)
        assert asked == 1  # that there are none is the word of the API server
        cluster.params.put("limits", "shop", data={"open": "yes"})
        until(lambda: allowed(server), "the params")
        cluster.params.put("limits", "shop", data={"open": "no"})
        until(lambda: not allowed(server), "their change")
        assert kept(server, "params") == 1  # no binding refers to the other
        asked = len(cluster.asked)
        assert not allowed(server)
        assert len(cluster.asked) == asked
        cluster.params.remove("limits", "shop")
        until(lambda: "no params found" in message(server), "their end")
        write(tmp_path, NEITHER)
        until(cluster.params.abandoned, "the end of the watch")
        assert healthy(server, "params")


@pytest.mark.parametrize("what", ["list", "watch"])
def test_without_the_right_objects_are_looked_up(tmp_path: Path, what: str) -> None:
    cluster = Cluster()
    cluster.namespaces.put("shop", labels={"closed": "yes"})
    cluster.answer_lists(refusal(403, f"policyd may not {what}"), what)
    with serving(tmp_path, cluster, SELECTING) as server:
        (line,) = until(lambda: server.lines("cluster"), "a line of the log")
        assert line["message"].startswith(
            "cannot follow namespaces (each is looked up when a request needs it; "
            "grant the permissions list and watch): "
        )
        assert f"policyd may not {what}" in line["message"]
        until(lambda: ready(server), "readiness")
        until(lambda: not healthy(server, "namespaces"), "the metric")
        assert not allowed(server)
        cluster.namespaces.objects["", "shop"] = {"metadata": {"name": "shop"}}
        until(lambda: allowed(server), "the changed label")
        assert cluster.asked
        cluster.answer_lists(None)
        until(lambda: len(server.lines("cluster")) == 2, "the end of it", 60)
        until(lambda: healthy(server, "namespaces"), "the metric")


def test_readiness_waits_for_the_first_list(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.namespaces.put("shop")
    cluster.answer_lists(Reply(b"", 503), "list")
    with serving(tmp_path, cluster, SELECTING) as server:
        expected = "not ready: waiting for the first list of namespaces"
        assert server.get("/readyz") == (503, expected)
        cluster.answer_lists(None)
        until(lambda: ready(server), "the first list")


def test_readiness_does_not_wait_for_ever(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.away = True
    with serving(tmp_path, cluster, SELECTING) as server:
        assert not ready(server)
        until(lambda: ready(server), "ten seconds")
        assert "cannot look up the labels of namespace 'shop'" in message(server)


def test_the_last_state_stays_while_the_api_server_is_away(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.namespaces.put("shop", labels={"closed": "yes"})
    with serving(tmp_path, cluster, SELECTING) as server:
        until(lambda: ready(server), "the first list")
        until(lambda: cluster.namespaces.open, "the watch")
        cluster.leave()
        until(lambda: not healthy(server, "namespaces"), "the loss")
        staleness = 'policyd_cluster_cache_staleness_seconds{cache="namespaces"}'
        until(lambda: server.metric(staleness) > 0.1, "staleness")
        assert message(server) == "policy 'wants' denied request: closed"
        assert ready(server)
        (line,) = until(lambda: server.lines("cluster"), "a line of the log")
        assert "the last known state stays in use" in line["message"]
        cluster.namespaces.put("shop")
        cluster.away = False
        until(lambda: allowed(server), "the API server", 60)
        until(lambda: len(server.lines("cluster")) == 2, "the end of it", 60)
