"""``policyd serve`` as a whole: real policies, a real process, reviews over TLS."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests import shared
from tests.builders.reviews import body
from tests.server.process import Process, until
from tests.server.serve import DENY, serving, write_policy

MUTATE = """mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/data/seen', value: 'yes'}]"}"""
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
