"""The webhook for edits of ConfigMaps with policies: the real process checks reviews of them."""

import base64
import fcntl
import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from policyd.json_types import JSONObject
from tests.builders.config_maps import BROKEN, LABELS, NAMESPACE, forbidding, policy_map
from tests.builders.reviews import body
from tests.cluster.fake import refusal
from tests.server.config_maps import PolicyCluster, policy_cluster, reading, shown
from tests.server.edits.editing import PATH, edit, message
from tests.server.edits.texts import TEXT
from tests.server.process import Process, until
from tests.server.serve import serving

# Far beyond what a check takes on a busy machine.
PATIENT = ("--timeout", "120s")


def refusals_of(server: Process, user: str) -> list[JSONObject]:
    return [each for each in server.lines("policy-edit") if each.get("user") == user]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PolicyCluster]:
    with policy_cluster(tmp_path_factory.mktemp("cluster")) as made:
        made.put("a", p=forbidding("one"))
        made.put("b", p=forbidding("two", "worse"), q=BROKEN)
        yield made


@pytest.fixture(scope="module")
def server(cluster: PolicyCluster) -> Iterator[Process]:
    """It reads ``a``, and ``b`` with a broken policy."""
    with reading(cluster, *PATIENT) as running:
        yield running


def with_keys(config_map: JSONObject, **keys: JSONObject | str) -> JSONObject:
    """The same object with other keys, as an API server sends it."""
    return {**config_map, "data": policy_map("x", None, version=1, **keys)["data"]}


def test_a_broken_edit_is_denied_and_logged(server: Process, cluster: PolicyCluster) -> None:
    a = cluster.stored("a")
    said = edit(server, a, with_keys(a, p=TEXT), userInfo={"username": "eve"})
    assert said["allowed"] is False and said["status"]["code"] == 403
    assert message(said).startswith(
        "the policies would have 1 error with this edit of ConfigMap a:\n\n"
        "configmap/a/p.yaml:9:17: spec.validations[0].expression: "
    )
    (line, *_) = until(lambda: refusals_of(server, "eve"), "the line in the log")
    assert line["level"] == "warning" and line["name"] == "a"
    assert line["places"][0].startswith("configmap/a/p.yaml:9:17: spec.validations[0].expression")
    assert "SECRET-WORD" not in json.dumps(server.lines())
    assert server.metric('policyd_policy_edits_total{result="refused"}') >= 1


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_edit_without_errors_is_allowed(
    server: Process, cluster: PolicyCluster, *, dry_run: bool
) -> None:
    a = cluster.stored("a")
    said = edit(server, a, with_keys(a, p=forbidding("three")), dryRun=dry_run)
    assert said["allowed"] is True and "warnings" not in said


def test_a_name_of_another_config_map_is_refused_without_naming_it(server: Process) -> None:
    said = message(edit(server, None, policy_map("c", p=forbidding("one"))))
    assert "Policy one is defined twice: first in another source" in said
    assert "configmap/a" not in said


CLAIMS: list[tuple[JSONObject, dict[str, Any]]] = [
    ({"uid": "another"}, {}),
    ({"resourceVersion": "1"}, {}),
    ({"name": "never-stored"}, {"name": "never-stored"}),
]


@pytest.mark.parametrize(("claims", "fields"), CLAIMS)
def test_an_object_that_the_api_server_does_not_hold_is_refused(
    server: Process, cluster: PolicyCluster, claims: JSONObject, fields: dict[str, Any]
) -> None:
    stored = cluster.stored("a")
    old = {**stored, "metadata": {**stored["metadata"], **claims}}
    for new in (with_keys(old, p=TEXT), None):
        said = edit(server, old, new, **fields)
        assert said["status"][
            "code"
        ] == 409 and "differs from the one in the API server" in message(said)


def test_an_update_without_the_former_object_is_refused(
    server: Process, cluster: PolicyCluster
) -> None:
    for operation in ("UPDATE", "DELETE"):
        said = edit(server, None, cluster.stored("a"), operation=operation)
        assert said["allowed"] is False and said["status"]["code"] == 409


def unlabelled(made: JSONObject) -> JSONObject:
    return {**made, "metadata": {**made["metadata"], "labels": {}}}


OTHERS: list[tuple[JSONObject, dict[str, Any]]] = [
    (unlabelled(policy_map("c", p="kind: [")), {}),
    (policy_map("c", p="kind: ["), {"namespace": "shop"}),
    (policy_map("c", p="kind: ["), {"subResource": "status"}),
    (
        policy_map("c", p="kind: ["),
        {"resource": {"group": "", "version": "v1", "resource": "secrets"}},
    ),
]


@pytest.mark.parametrize(("new", "fields"), OTHERS)
def test_what_policyd_does_not_read_is_not_checked(
    server: Process, new: JSONObject, fields: dict[str, Any]
) -> None:
    said = edit(server, None, new, **fields)
    assert said["allowed"] is True and "warnings" not in said


IMPROPER: list[JSONObject] = [
    {"data": {"a.yaml": 1}},
    {"data": ["x"]},
    {"data": {"a/b.yaml": "x"}},
    {"data": {"a.yaml": "x" * (2**21 + 1)}},
    {"binaryData": {"a.yaml\n": "eA=="}},
    {"metadata": {"name": "../c", "namespace": NAMESPACE, "labels": LABELS}},
    {"metadata": {"name": "c", "namespace": "shop", "labels": LABELS}},
]


@pytest.mark.parametrize("fields", IMPROPER)
def test_what_no_api_server_sends_is_a_bad_request(server: Process, fields: JSONObject) -> None:
    sent = body(object={**policy_map("c"), **fields}, namespace=NAMESPACE, name="")
    status, said = server.post(PATH, sent)
    assert (status, said["error"]) == (400, "expected a ConfigMap as an API server sends it")


def test_a_removed_label_is_a_removal_and_an_added_one_an_addition(
    server: Process, cluster: PolicyCluster
) -> None:
    a = cluster.stored("a")
    assert edit(server, a, unlabelled(a))["allowed"] is True
    broken = unlabelled(policy_map("c", p="kind: ["))
    cluster.others["c"] = broken
    assert edit(server, broken, policy_map("c", p="kind: ["))["allowed"] is False


def test_the_same_keys_are_not_checked_again(server: Process, cluster: PolicyCluster) -> None:
    """Even of a ConfigMap that the API server no longer holds like this."""
    b = cluster.stored("b")
    labelled = {**b, "metadata": {**b["metadata"], "labels": {**LABELS, "team": "shop"}}}
    assert edit(server, {**b, "metadata": {**b["metadata"], "uid": "x"}}, labelled)["allowed"]


def many(name: str, count: int, **keys: JSONObject | str) -> JSONObject:
    texts = {f"p{n}.yaml": json.dumps(forbidding(f"{name}-{n}")) for n in range(count)}
    return policy_map("c", texts, version=1, **keys)


def test_a_review_that_takes_too_long_is_allowed_with_a_warning(server: Process) -> None:
    made = many("more", 400, z="kind: [")
    given = {"namespace": NAMESPACE, "name": "c", "oldObject": None}
    status, said = server.post(f"{PATH}?timeout=100ms", body(object=made, **given))
    assert status == 200 and said["response"]["allowed"] is True
    (warning,) = said["response"]["warnings"]
    assert "the edit of ConfigMap c was not checked: there was not enough time" in warning
    assert server.metric('policyd_policy_edits_total{result="error"}') >= 1
    assert edit(server, None, made)["allowed"] is False


def test_what_an_edit_takes_is_not_the_memory_of_the_server(server: Process) -> None:
    before = server.resident()
    text = "[" + "a," * 2_500_000 + "]"
    packed = {f"k{n}.yaml.gz": gzip.compress(f"#{n}\n{text}".encode(), 9) for n in range(3)}
    assert edit(server, None, policy_map("c", packed))["status"]["code"] == 403
    assert server.resident() - before < 32 * 2**20


def test_more_edits_than_can_wait_are_told_to_try_again(server: Process) -> None:
    sent = body(object=policy_map("c", p=forbidding("many")), namespace=NAMESPACE, name="c")
    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(lambda _: server.post(f"{PATH}?timeout=1s", sent), range(24)))
    refused = [said for status, said in answers if status == 503]
    assert refused and "too many edits of policies at once" in refused[0]["error"]
    assert all(said["response"]["allowed"] for status, said in answers if status == 200)


def test_it_is_served_over_tls_only_and_takes_reviews_only(server: Process) -> None:
    assert server.get(PATH)[0] == 404
    assert server.post(PATH, b"{}")[0] == 400


def test_the_last_policies_cannot_be_removed(tmp_path: Path) -> None:
    cleaner = {"username": "system:serviceaccount:kube-system:namespace-controller"}
    with policy_cluster(tmp_path) as alone:
        alone.put("a", p=forbidding("one"))
        a = alone.stored("a")
        with reading(alone, *PATIENT) as server:
            for new in (None, unlabelled(a)):
                said = edit(server, a, new)
                assert "the sources no longer hold policies" in message(said)
            assert edit(server, a, None, userInfo=cleaner)["allowed"] is True
        with reading(alone, *PATIENT, "--allow-empty", log="second.log") as server:
            assert edit(server, a, None)["allowed"] is True


def test_edits_of_a_running_server_follow_what_the_api_server_holds(
    cluster: PolicyCluster,
) -> None:
    """Whatever the watch has reported: another replica may have answered for the first edit."""
    with reading(cluster, *PATIENT, log="third.log") as server:
        unseen = policy_map("d", p=forbidding("four"))
        cluster.labelled.objects[NAMESPACE, "d"] = unseen  # and no event
        assert len(shown(server)["configMaps"]) == 2
        said = edit(server, None, policy_map("e", p=forbidding("four")))
        assert "Policy four is defined twice: first in another source" in message(said)
        del cluster.labelled.objects[NAMESPACE, "d"]
        assert edit(server, None, policy_map("e", p=forbidding("four")))["allowed"] is True
        cluster.labelled.refused["list"] = refusal(500, "etcd is away")
        said = edit(server, None, policy_map("e", p="kind: ["))
        del cluster.labelled.refused["list"]
        assert said["allowed"] is True
        assert "the API server did not return the ConfigMaps of policies" in said["warnings"][0]


def mounted_in(folder: Path) -> Path:
    """A folder of policies, one folder of which is a mounted ConfigMap."""
    team = folder / "policies" / "team"
    data = team / "..2026"
    data.mkdir(parents=True)
    (team / "..data").symlink_to("..2026")
    for key, text in policy_map("team", p=forbidding("one"), q=forbidding("two"))["data"].items():
        (data / key).write_text(text)
        (team / key).symlink_to(f"..data/{key}")
    (team.parent / "other.yaml").write_text(json.dumps(forbidding("three")))
    return team.parent


@pytest.fixture(scope="module")
def mounted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A server without a cluster."""
    folder = tmp_path_factory.mktemp("mounted")
    with serving(folder, mounted_in(folder), "--namespace", NAMESPACE, *PATIENT) as server:
        yield server


TEAM = policy_map("team", p=forbidding("one"), q=forbidding("two"))
MOUNTED: list[tuple[JSONObject, str]] = [
    (policy_map("team", p=forbidding("one"), q=forbidding("four")), ""),
    (policy_map("team", p=forbidding("one")), ""),
    (policy_map("team", p=forbidding("one"), q=""), "configmap/team/q.yaml: no longer holds"),
    (policy_map("team", p=TEXT), "configmap/team/p.yaml:9:17: spec.validations[0].expression"),
    (policy_map("team", p=forbidding("three")), "Policy three is defined twice"),
]


@pytest.mark.parametrize(("new", "denial"), MOUNTED)
def test_an_edit_of_a_mounted_config_map_is_judged(
    mounted: Process, new: JSONObject, denial: str
) -> None:
    said = edit(mounted, TEAM, new)
    assert said["allowed"] is not bool(denial), said
    assert not denial or denial in message(said)
    assert "warnings" not in said


@pytest.mark.parametrize(
    "old", [None, policy_map("team", p=forbidding("one")), policy_map("team", p="x", q="y")]
)
def test_a_config_map_that_is_not_mounted_is_allowed_with_a_warning(
    mounted: Process, old: JSONObject | None
) -> None:
    said = edit(mounted, old, policy_map("team", p="kind: ["))
    assert said["allowed"] is True
    assert "ConfigMap team is not mounted in a directory of -p" in said["warnings"][0]
    assert edit(mounted, unlabelled(TEAM), unlabelled(TEAM))["allowed"] is True


def test_of_several_workers_one_checks_at_a_time(tmp_path: Path) -> None:
    flags = ("--namespace", NAMESPACE, "--workers", "2", *PATIENT)
    new = policy_map("team", p=TEXT)
    sent = body(object=new, oldObject=TEAM, operation="UPDATE", namespace=NAMESPACE, name="team")
    with serving(tmp_path, mounted_in(tmp_path), *flags) as server:
        until(lambda: server.lines("workers"), "all workers")
        opened = Path(f"/proc/{server.child.pid}/fd").iterdir()
        (lock,) = (each for each in opened if "policyd-edits" in str(each.readlink()))
        with lock.open("r+b") as held:
            fcntl.lockf(held, fcntl.LOCK_EX)
            status, said = server.post(f"{PATH}?timeout=1s", sent)
            assert status == 200 and "not enough time" in said["response"]["warnings"][0]
        assert edit(server, TEAM, new)["allowed"] is False


def test_without_a_namespace_no_edits_are_checked(tmp_path: Path) -> None:
    """Nothing could register the webhook."""
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "one.yaml").write_text(json.dumps(forbidding("one")))
    with serving(tmp_path, folder) as server:
        assert server.post(PATH, body(object=policy_map("c", p="kind: [")))[0] == 404


def test_compressed_keys_of_an_edit_are_bounded_together(mounted: Process) -> None:
    bomb = base64.b64encode(gzip.compress(b"#" * (16 * 2**20 - 1), 9)).decode()
    before = mounted.resident()
    new = {**TEAM, "binaryData": {f"k{n}.yaml.gz": bomb for n in range(60)}}
    said = message(edit(mounted, TEAM, new))
    assert "the keys of the ConfigMap are larger than 16 MiB together" in said
    assert mounted.resident() - before < 32 * 2**20
