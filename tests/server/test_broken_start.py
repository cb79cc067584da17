"""Broken policies at the start of a real server: no former set can stay in use instead."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from policyd.json_types import JSON, JSONObject
from tests.builders.objects import config_map
from tests.builders.policies import (
    CONFIG_MAPS,
    demand,
    map_,
    map_binding,
    policy,
    vap,
    vap_binding,
)
from tests.builders.reviews import body
from tests.server.process import Process, until
from tests.server.serve import command, serving
from tests.shared import ROOT

GOOD = policy("good", CONFIG_MAPS, validations=[demand("!has(object.data.bad)", "no bad data")])
FORM_ERROR: JSONObject = {"validations": ..., "validation": []}
FAILURES = pytest.mark.parametrize(("failure", "allowed"), [("Fail", False), ("Ignore", True)])


def write(folder: Path, **documents: JSONObject | list[JSONObject] | str) -> Path:
    """One file for each name: a document, several, or its text."""
    folder.mkdir(exist_ok=True)
    for name, content in documents.items():
        text = content
        if not isinstance(content, str):
            listed = content if isinstance(content, list) else [content]
            text = "\n---\n".join(map(json.dumps, listed))
        new = folder / f".{name}.new"
        new.write_text(str(text))
        new.rename(folder / f"{name}.yaml")
    return folder


def answer(server: Process, path: str = "/validate", **data: JSON) -> dict[str, Any]:
    status, said = server.post(path, body(object=config_map(data=data)))
    assert status == 200
    response: dict[str, Any] = said["response"]
    return response


def shown(server: Process) -> Any:
    return json.loads(server.get("/policies")[1])


def states(server: Process) -> dict[str, str]:
    return {each["name"]: each["state"] for each in shown(server)["policies"]}


@FAILURES
@pytest.mark.parametrize(
    "errors",
    [
        FORM_ERROR,
        {"validations": ...},
        {"validations": [{"expression": 5}]},
        {"validations": [{"expression": "object.data.("}]},
        {"validationActions": ["Audit"], "validations": {}},
    ],
)
def test_a_broken_policy_acts_by_its_failure_policy(
    tmp_path: Path, failure: str, allowed: bool, errors: JSONObject
) -> None:
    broken = policy("broken", CONFIG_MAPS, failurePolicy=failure, **errors)
    with serving(tmp_path, write(tmp_path / "policies", broken=broken)) as server:
        said = answer(server)
        assert said["allowed"] is allowed
        if not allowed:
            text = "policy 'broken' denied request: failed to configure policy: "
            assert said["status"]["message"].startswith(text)
        assert server.post("/validate", body(operation="DELETE"))[1]["response"]["allowed"] is True
        assert states(server) == {"broken": "quarantined"}
        assert server.metric('policyd_policies{kind="Policy",state="quarantined"}') == 1
        assert server.metric('policyd_reloads_total{result="error"}') == 1
        assert server.get("/readyz") == (200, "ok")
        (line,) = server.lines("reload")
        assert (line["level"], line["quarantined"]) == ("error", ["broken"])
        assert line["errors"] == shown(server)["lastReload"]["errors"] != []


@FAILURES
def test_a_broken_policy_stops_no_other(tmp_path: Path, failure: str, allowed: bool) -> None:
    broken = policy("broken", CONFIG_MAPS, failurePolicy=failure, **FORM_ERROR)
    sources = write(tmp_path / "policies", both=[broken, GOOD])
    with serving(tmp_path, sources) as server:
        assert states(server) == {"broken": "quarantined", "good": "active"}
        assert answer(server)["allowed"] is allowed
        causes = json.dumps(answer(server, bad="x")["status"]["details"]["causes"])
        assert "no bad data" in causes
        assert ("failed to configure policy: " in causes) is not allowed
        write(sources, both=[policy("broken", CONFIG_MAPS), GOOD])
        until(lambda: states(server)["broken"] == "active", "the mended policy")
        assert answer(server)["allowed"] is True
        # From now on there is a set that stays in use.
        write(sources, both=[broken, GOOD])
        until(lambda: not shown(server)["lastReload"]["succeeded"], "the refusal")
        assert states(server) == {"broken": "active", "good": "active"}
        said = "policies stay in use"
        until(lambda: said in server.lines("reload")[-1]["message"], "the line of the log")


@FAILURES
@pytest.mark.parametrize("binding_errors", [{}, {"validationActions": ["Refuse"]}])
@pytest.mark.parametrize("policy_errors", [{}, FORM_ERROR])
def test_a_validating_admission_policy_with_a_binding(
    tmp_path: Path,
    failure: str,
    allowed: bool,
    binding_errors: JSONObject,
    policy_errors: JSONObject,
) -> None:
    documents = [
        vap("p", CONFIG_MAPS, failurePolicy=failure, **policy_errors),
        vap_binding(**{"validationActions": ["Audit"], **binding_errors}),
    ]
    broken = bool(policy_errors or binding_errors)
    with serving(tmp_path, write(tmp_path / "policies", both=documents)) as server:
        said = answer(server)
        assert said["allowed"] is (allowed or not broken)
        if not said["allowed"]:
            assert "failed to configure policy: " in said["status"]["message"]
        assert states(server) == {"p": "quarantined" if broken else "active"}


@FAILURES
def test_a_mutating_admission_policy_with_a_binding(
    tmp_path: Path, failure: str, allowed: bool
) -> None:
    documents = [map_("m", CONFIG_MAPS, failurePolicy=failure, mutation=[]), map_binding()]
    with serving(tmp_path, write(tmp_path / "policies", both=documents)) as server:
        said = answer(server, "/mutate")
        assert said["allowed"] is allowed
        if not allowed:
            assert said["status"]["message"].count("failed to configure policy: ") == 1
        assert answer(server, "/validate")["allowed"] is True


@pytest.mark.parametrize(
    "lost",
    [
        "kind: [",
        "kind: Policy\nmetadata: {name: x}\n",
        json.dumps({**policy("other", CONFIG_MAPS), "apiVersion": "policyd.io/v1"}),
        json.dumps(policy("other", CONFIG_MAPS, matchConstraints=...)),
        json.dumps(vap_binding(policyName=5)),
    ],
)
def test_what_cannot_be_read_at_all_is_reported_and_the_rest_is_served(
    tmp_path: Path, lost: str
) -> None:
    sources = write(tmp_path / "policies", good=GOOD, lost=lost)
    with serving(tmp_path, sources) as server:
        assert states(server) == {"good": "active"}
        assert answer(server, bad="x")["allowed"] is False
        assert answer(server)["allowed"] is True
        (line,) = server.lines("reload")
        assert line["level"] == "error" and "quarantined" not in line
        assert all(error.startswith(f"{sources}/lost.yaml:") for error in line["errors"])
        assert shown(server)["lastReload"]["errors"] == line["errors"]
        assert server.metric('policyd_reloads_total{result="error"}') == 1
        assert server.get("/readyz") == (200, "ok")
        write(sources, lost=[policy("found", CONFIG_MAPS), vap_binding()])
        until(lambda: shown(server)["lastReload"]["succeeded"], "the mended file")
        assert states(server) == {"found": "active", "good": "active"}


@pytest.mark.parametrize("form", ["json", "text"])
@pytest.mark.parametrize(
    "content",
    [
        "kind: [",
        "apiVersion: policyd.dev/v1\nkind: Policy\nmetadata: {name: x}\nspec: {}\n",
        json.dumps({**policy("other"), "apiVersion": "policyd.io/v1"}),
    ],
)
def test_where_nothing_can_be_served_the_log_says_so(
    tmp_path: Path, content: str, form: str
) -> None:
    sources = write(tmp_path / "policies", bad=content)
    done = subprocess.run(
        command(sources, "--log-format", form),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "nothing to serve" in line and "bad.yaml:" in line
    if form == "json":
        assert (json.loads(line)["level"], json.loads(line)["event"]) == ("error", "start")
    else:
        assert " ERROR   start no policy could be loaded" in line
