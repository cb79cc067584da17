"""``policyd serve`` as a whole: real policies, a real process, reviews over TLS."""

import base64
import json
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests import shared
from tests.builders.reviews import body
from tests.server.load import Load
from tests.server.process import Process, until
from tests.server.serve import DENY, command, serving, write_policy
from tests.shared import ROOT

BROKEN = 'validations: [{expression: "object.data.("}]'
MUTATE = """mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/data/seen', value: 'yes'}]"}"""
OVERLAY = """mutations:
  - patchType: Overlay
    overlay: {data: {+(by): "user ${request.userInfo.username}", old: null}}"""
SUITE = """\
apiVersion: policyd.dev/v1
kind: PolicyTest
metadata: {name: suite}
cases:
- name: a forbidden key is denied
  request:
    operation: CREATE
    object:
      {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, data: {forbidden: x}}
  expect: {allowed: false, message: no TEXT}
"""


def answer(server: Process, path: str = "/validate", **data: str) -> dict[str, Any]:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data}
    status, said = server.post(path, body(object=obj))
    assert status == 200
    response: dict[str, Any] = said["response"]
    return response


@pytest.mark.usefixtures("http_server")
def test_reviews_are_judged_counted_and_logged(tmp_path: Path) -> None:
    policies = tmp_path / "policies"
    write_policy(policies, "deny", DENY)
    write_policy(policies, "mark", MUTATE, "Ignore")
    with serving(tmp_path, policies) as server:
        assert answer(server, fine="x")["allowed"] is True
        denied = answer(server, forbidden="secret words")
        assert denied["allowed"] is False
        assert denied["status"]["message"] == "policy 'deny' denied request: no TEXT"
        assert denied["status"]["code"] == 422
        patched = answer(server, "/mutate", fine="x")
        assert patched["patchType"] == "JSONPatch"
        assert json.loads(base64.b64decode(patched["patch"])) == [
            {"op": "add", "path": "/data/seen", "value": "yes"}
        ]
        assert answer(server, "/validate/ignore", forbidden="x")["allowed"] is True
        assert answer(server, "/validate/policy/deny", forbidden="x")["allowed"] is False
        assert "patch" not in answer(server, "/mutate/fail", fine="x")
        (line, *_) = until(lambda: server.lines("denial"), "the line of the denial")
        assert (line["policy"], line["user"], line["uid"]) == ("deny", "ann", "u-1")
        assert "secret words" not in json.dumps(server.lines())
        assert server.metric('policyd_policy_decisions_total{decision="deny",policy="deny"}') == 2
        assert server.metric('policyd_patch_operations_total{policy="mark"}') == 1
        shown = json.loads(server.get("/policies/deny")[1])
        assert [each["state"] for each in shown["policies"]] == ["active"]
        assert shown["policies"][0]["source"].endswith("deny.yaml")
        assert server.terminate() == 0


def test_overlays_are_applied_and_a_wrong_one_keeps_the_set_in_use(tmp_path: Path) -> None:
    policies = tmp_path / "policies"
    write_policy(policies, "mark", OVERLAY)
    with serving(tmp_path, policies) as server:
        patched = answer(server, "/mutate", old="x")
        operations = json.loads(base64.b64decode(patched["patch"]))
        assert sorted(operations, key=lambda each: str(each["path"])) == [
            {"op": "add", "path": "/data/by", "value": "user ann"},
            {"op": "remove", "path": "/data/old"},
        ]
        assert "patch" not in answer(server, "/mutate", by="me")
        write_policy(
            policies, "mark", OVERLAY.replace("old:", "(old): x, older:").replace("data", "dat")
        )
        until(lambda: len(server.lines("reload")) > 1, "a reload")
        assert 'unknown field "dat"' in server.lines("reload")[1]["errors"][0]
        assert "patch" in answer(server, "/mutate", old="x")
        assert not server.lines("defect")


@pytest.mark.parametrize(("failure", "allowed"), [("Fail", False), ("Ignore", True)])
def test_broken_policy_at_start_acts_by_its_failure_policy(
    tmp_path: Path, failure: str, allowed: bool
) -> None:
    policies = tmp_path / "policies"
    write_policy(policies, "broken", BROKEN, failure)
    with serving(tmp_path, policies) as server:
        said = answer(server)
        assert said["allowed"] is allowed
        if not allowed:
            assert "failed to configure policy: " in said["status"]["message"]
        assert server.get("/readyz") == (200, "ok")
        assert server.metric('policyd_policies{kind="Policy",state="quarantined"}') == 1
        assert server.lines("reload")[0]["level"] == "error"
        write_policy(policies, "broken", DENY)
        until(lambda: answer(server)["allowed"], "the mended policy")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("kind: [", "bad.yaml"),
        ("apiVersion: policyd.dev/v1\nkind: Policy\nmetadata: {name: x}\nspec: {}\n", "bad.yaml"),
    ],
)
def test_unreadable_source_at_start_ends_with_2(tmp_path: Path, content: str, reason: str) -> None:
    (tmp_path / "bad.yaml").write_text(content)
    done = subprocess.run(
        command(tmp_path), cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 2
    assert reason in done.stderr and "Traceback" not in done.stderr


def test_failing_suite_keeps_the_set_in_use(tmp_path: Path) -> None:
    policies = tmp_path / "policies"
    write_policy(policies, "deny", DENY)
    (policies / "suite.yaml").write_text(SUITE)
    with serving(tmp_path, policies) as server:
        assert server.lines("reload")[0]["level"] == "info"
        # Cases of suites are not requests.
        assert server.metric('policyd_policy_decisions_total{decision="deny",policy="deny"}') == 0
        write_policy(policies, "deny", 'validations: [{expression: "true"}]')
        until(lambda: len(server.lines("reload")) > 1, "a reload")
        assert "a forbidden key is denied" in server.lines("reload")[1]["errors"][0]
        assert answer(server, forbidden="x")["allowed"] is False


def reached(load: Load, text: str) -> bool:
    return text in json.dumps(load.answers[-1])


@pytest.mark.usefixtures("http_server")
def test_reload_under_load_answers_every_request_by_one_set(tmp_path: Path) -> None:
    """All policies carry one text at a time: an answer with two would come from a mixed set."""
    mount = tmp_path / "mount"
    mount.mkdir()
    swap(mount, "v0")
    with serving(tmp_path, mount) as server, Load(server) as load:
        for version in ("v1", "v2"):
            until(lambda: len(load.answers) > 20, "some load")
            swap(mount, version)
            until(partial(reached, load, f"no {version} "), version)
        load.stop()
        assert load.failures == []
        for said in load.answers:
            causes = {c["message"] for c in said["response"]["status"]["details"]["causes"]}
            versions = {version for version in ("v0", "v1", "v2") if version in str(causes)}
            assert len(causes) == 20 and len(versions) == 1


def swap(mount: Path, version: str) -> None:
    """A new state of a mounted ConfigMap with twenty policies that all deny."""
    new = mount / f"..{version}"
    for i in range(20):
        write_policy(
            new,
            f"p{i:02}",
            f'validations: [{{expression: "!has(object.data.a)", message: no {version} {i}}}]',
        )
    (mount / "..data_tmp").symlink_to(new.name)
    (mount / "..data_tmp").rename(mount / "..data")
    for i in range(20):
        link = mount / f"p{i:02}.yaml"
        if not link.is_symlink():
            link.symlink_to(f"..data/p{i:02}.yaml")


@pytest.mark.usefixtures("http_server")
def test_config_file_sets_what_flags_do_not(tmp_path: Path) -> None:
    policies = tmp_path / "policies"
    write_policy(policies, "deny", DENY)
    config = tmp_path / "policyd.yaml"
    config.write_text("maxBodyBytes: 1KiB\ntimeout: 1s\n")
    with serving(tmp_path, policies, "--config", str(config)) as server:
        assert server.post("/validate", b" " * 1025)[0] == 413
    with serving(tmp_path, policies, "--config", str(config), "--max-body-bytes=2KiB") as server:
        assert server.post("/validate", b" " * 1025)[0] == 400


@pytest.mark.usefixtures("http_server")
def test_every_recorded_review_is_answered(tmp_path: Path) -> None:
    policies = tmp_path / "policies"
    write_policy(policies, "deny", DENY)
    rows = shared.reviews()
    with serving(tmp_path, policies) as server:
        connection = server.connect()
        for row in rows:
            sent = json.dumps(row["review"], ensure_ascii=False, separators=(",", ":")) + "\n"
            connection.request("POST", f"/{row['path']}?{row['query']}", sent.encode())
            got = connection.getresponse()
            said = json.loads(got.read())
            assert got.status == 200, (row["id"], said)
            assert said["response"]["uid"] == row["review"]["request"]["uid"]
        connection.close()
        assert server.lines("defect") == [] and server.lines("log") == []
    print(f"{len(rows)} passed of {len(rows)}")
