"""``policyd serve`` whose policies need schemas that only the cluster has: when they come and change."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from policyd.cluster.definitions import PATH
from policyd.json_types import JSONObject
from tests.builders.objects import widget_definition
from tests.builders.policies import CONFIG_MAPS, demand, policy, rule
from tests.builders.reviews import body
from tests.cluster.fake import ApiServer, Call, Reply, api_server, refusal
from tests.cluster.watched import WatchedList
from tests.server.process import Process, until
from tests.server.serve import command

GROUP = "e2e.policyd.dev"
WIDGETS = rule("widgets", group=GROUP)
OVERLAY = policy(
    "sized",
    WIDGETS,
    mutations=[
        {"patchType": "Overlay", "overlay": {"spec": {"parts": [{"name": "b", "size": 7}]}}}
    ],
)


class Cluster:
    """The definitions of an API server; ``broken`` is what it answers instead."""

    def __init__(self) -> None:
        self.listed = WatchedList("PartialObjectMetadata", "meta.k8s.io/v1")
        self.crds: dict[str, JSONObject] = {}
        self.broken: Reply | None = None

    def define(
        self, generation: int = 1, versions: tuple[str, ...] = ("v1",), **parts: Any
    ) -> None:
        crd = widget_definition()
        [version] = crd["spec"]["versions"]
        crd["spec"]["versions"] = [{**version, "name": each} for each in versions]
        crd["metadata"]["generation"] = generation
        spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["properties"]["parts"] |= parts
        self.crds[crd["metadata"]["name"]] = crd
        self.listed.put(crd["metadata"]["name"], generation=generation)

    def __call__(self, call: Call) -> Reply:
        path = call.path.partition("?")[0].removeprefix("/")
        assert path.startswith(PATH), call
        if self.broken is not None:
            return self.broken
        name = path.removeprefix(f"{PATH}/")
        if name == path:
            return self.listed.answer(call)
        return Reply(self.crds[name]) if name in self.crds else refusal(404, f"no {name}")


@contextmanager
def serving(
    folder: Path, cluster: Cluster, *documents: JSONObject
) -> Iterator[tuple[Process, ApiServer]]:
    write(folder, *documents)
    with api_server(folder, cluster) as api:
        flags = ("--kubeconfig", str(api.kubeconfig()))
        with Process(command(folder / "policies", *flags), folder / "server.log") as server:
            yield server, api
            cluster.listed.close()
        assert not server.lines("defect")


def write(folder: Path, *documents: JSONObject) -> None:
    (folder / "policies").mkdir(exist_ok=True)
    for document in documents:
        new = folder / "new.json"
        new.write_text(json.dumps(document))
        name = f"{document['kind']}-{document['metadata']['name']}.json"
        new.rename(folder / "policies" / name)


def creating(version: str = "v1") -> bytes:
    """A review of a Widget."""
    widget = {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "shop"},
        "spec": {"parts": [{"name": "a"}, {"name": "b"}]},
    }
    kind = {"group": GROUP, "version": version}
    return body(
        kind={**kind, "kind": "Widget"}, resource={**kind, "resource": "widgets"}, object=widget
    )


def mutated(server: Process) -> list[JSONObject]:
    """The patch of a Widget; nothing where the request is denied."""
    code, answer = server.post("/mutate", creating())
    assert code == 200
    patch: list[JSONObject] = json.loads(base64.b64decode(answer["response"].get("patch", "W10=")))
    return patch


def states(server: Process) -> dict[str, str]:
    found = json.loads(server.get("/policies")[1])
    return {each["name"]: each["state"] for each in found["policies"]}


# Merged by its key, the part that is there gets its size; an atomic list is replaced.
KEYED = [{"op": "add", "path": "/spec/parts/1/size", "value": 7}]
ATOMIC: JSONObject = {"x-kubernetes-list-type": "atomic", "x-kubernetes-list-map-keys": []}


def test_the_schema_comes_from_the_cluster(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.define()
    with serving(tmp_path, cluster, OVERLAY) as (server, api):
        assert states(server) == {"sized": "active"}
        assert mutated(server) == KEYED
        assert api.calls[0].path == f"/{PATH}/widgets.{GROUP}"
        asked = server.metric(
            'policyd_cluster_lookups_total{question="definition",result="success"}'
        )
        assert asked >= 1
        until(lambda: cluster.listed.open, "the watch")
        api.calls.clear()
        cluster.define(2, **ATOMIC)
        until(lambda: mutated(server) != KEYED, "the changed definition")
        assert [call.path for call in api.calls] == [f"/{PATH}/widgets.{GROUP}"]
        assert server.terminate() == 0


def test_a_rule_of_every_group_follows_the_versions_of_all_definitions(tmp_path: Path) -> None:
    cluster = Cluster()
    no_v1 = policy("no-v1", rule("*", group="*"), validations=[demand("false", "no v1")])

    def allowed() -> bool:
        code, answer = server.post("/validate", creating("v1beta1"))
        assert code == 200
        return bool(answer["response"]["allowed"])

    with serving(tmp_path, cluster, no_v1) as (server, _):
        until(lambda: cluster.listed.open, "the watch")
        assert allowed(), "nobody knows of another version"
        cluster.define(versions=("v1", "v1beta1"))
        until(lambda: not allowed(), "the definition")
        assert server.terminate() == 0


def test_a_definition_that_appears_later_ends_the_quarantine(tmp_path: Path) -> None:
    cluster = Cluster()
    broken = policy(
        "broken", CONFIG_MAPS, validations=[demand("object.(", "x")], failurePolicy="Ignore"
    )
    with serving(tmp_path, cluster, OVERLAY, broken) as (server, _):
        assert states(server) == {"sized": "quarantined", "broken": "quarantined"}
        found = json.loads(server.get("/policies/sized")[1])
        assert f"no schema of widgets.{GROUP} is known" in json.dumps(found)
        assert mutated(server) == []
        cluster.define()
        until(lambda: states(server)["sized"] == "active", "the definition")
        assert states(server)["broken"] == "quarantined"
        assert mutated(server) == KEYED


@pytest.mark.parametrize("broken", [refusal(403, "policyd may not"), refusal(503, "starting")])
def test_a_cluster_that_does_not_answer_at_start_is_asked_again(
    tmp_path: Path, broken: Reply
) -> None:
    cluster = Cluster()
    cluster.define()
    cluster.broken = broken
    with serving(tmp_path, cluster, OVERLAY) as (server, _):
        assert states(server) == {"sized": "quarantined"}
        (line,) = until(lambda: server.lines("cluster"), "a line of the log")
        assert "the API server answered" in line["message"]
        # What else changes is taken into use meanwhile.
        write(tmp_path, policy("other", CONFIG_MAPS, validations=[demand("true", "x")]))
        until(lambda: states(server).get("other") == "active", "another policy")
        cluster.broken = None
        until(lambda: states(server)["sized"] == "active", "the definition")
        assert mutated(server) == KEYED
        until(lambda: len(server.lines("cluster")) == 2, "the end of it")


def test_a_cluster_that_goes_away_takes_no_schema_with_it(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.define()
    with serving(tmp_path, cluster, OVERLAY) as (server, _):
        cluster.broken = refusal(503, "gone")
        write(tmp_path, policy("other", CONFIG_MAPS, validations=[demand("true", "x")]))
        until(lambda: states(server).get("other") == "active", "another policy")
        assert mutated(server) == KEYED
        cluster.broken = None
        cluster.crds.clear()
        write(tmp_path, policy("third", CONFIG_MAPS, validations=[demand("true", "x")]))
        until(lambda: states(server).get("third") == "active", "a third policy")
        assert mutated(server) == KEYED


def test_without_the_right_to_follow_definitions_they_are_checked(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.define()
    cluster.listed.refused["watch"] = refusal(403, "policyd may not watch")
    with serving(tmp_path, cluster, OVERLAY) as (server, _):
        (line,) = until(lambda: server.lines("cluster"), "a line of the log")
        assert "they are checked for changes every 5 s; grant the permissions" in line["message"]
        assert mutated(server) == KEYED
        cluster.define(2, **ATOMIC)
        until(lambda: mutated(server) != KEYED, "the changed definition")


def test_many_definitions_at_once_are_one_change(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.define()
    every = policy("sees", rule("*", group=GROUP), validations=[demand("true", "x")])
    with serving(tmp_path, cluster, every) as (server, _):
        until(lambda: cluster.listed.open, "the watch")
        before = len(server.lines("reload"))
        for number in range(100):
            name = f"n{number}.{GROUP}"
            crd = {**cluster.crds[f"widgets.{GROUP}"], "metadata": {"name": name}}
            names = {**crd["spec"]["names"], "plural": f"n{number}", "kind": f"N{number}"}
            cluster.crds[name] = {**crd, "spec": {**crd["spec"], "names": names}}
            cluster.listed.put(name)
        until(lambda: len(server.lines("reload")) > before, "a reload")
        assert mutated(server) == []
        assert len(server.lines("reload")) < before + 10


def test_nothing_is_asked_for_what_documents_define(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.define(**ATOMIC)
    documents = (OVERLAY, widget_definition())
    with serving(tmp_path, cluster, *documents) as (server, api):
        assert mutated(server) == KEYED
        assert api.calls == []
