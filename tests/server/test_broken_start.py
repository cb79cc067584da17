"""Broken policies at the start of a real server: no former set can stay in use instead."""

import json
from itertools import product
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
from tests.sampling import paired
from tests.server.config_maps import shown
from tests.server.process import Process, ended, until
from tests.server.serve import command, serving

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


def states(server: Process) -> dict[str, str]:
    return {each["name"]: each["state"] for each in shown(server)["policies"]}


ERRORS: dict[str, JSONObject] = {
    "misspelled": FORM_ERROR,
    "without-validations": {"validations": ...},
    "no-string": {"validations": [{"expression": 5}]},
    "no-cel": {"validations": [{"expression": "object.data.("}]},
    "audited": {"validationActions": ["Audit"], "validations": {}},
}


def test_a_broken_policy_acts_by_its_failure_policy(tmp_path: Path) -> None:
    cases = {
        f"{name}-{failure.lower()}": policy(
            f"{name}-{failure.lower()}", CONFIG_MAPS, failurePolicy=failure, **errors
        )
        for name, errors in ERRORS.items()
        for failure in ("Fail", "Ignore")
    }
    with serving(tmp_path, write(tmp_path / "policies", **cases)) as server:
        for name, document in cases.items():
            said = answer(server, f"/validate/policy/{name}")
            assert said["allowed"] is (document["spec"]["failurePolicy"] == "Ignore"), name
            if not said["allowed"]:
                text = f"policy '{name}' denied request: failed to configure policy: "
                assert said["status"]["message"].startswith(text)
        assert answer(server)["allowed"] is False
        assert server.post("/validate", body(operation="DELETE"))[1]["response"]["allowed"] is True
        assert states(server) == dict.fromkeys(cases, "quarantined")
        count = server.metric('policyd_policies{kind="Policy",state="quarantined"}')
        assert count == len(cases)
        assert server.metric('policyd_reloads_total{result="error"}') == 1
        assert server.get("/readyz") == (200, "ok")
        (line,) = server.lines("reload")
        assert (line["level"], sorted(line["quarantined"])) == ("error", sorted(cases))
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


def test_policies_of_kubernetes_with_a_binding(tmp_path: Path) -> None:
    """Each part may be broken, or both; a binding that cannot be read may have been a strict one."""
    rows = product(("Fail", "Ignore"), ({}, FORM_ERROR), ({}, {"validationActions": ["Refuse"]}))
    documents, want = [], {}
    for number, (failure, policy_errors, binding_errors) in enumerate(rows):
        name = f"p{number}"
        documents += [
            vap(name, CONFIG_MAPS, failurePolicy=failure, **policy_errors),
            vap_binding(
                name, **{"policyName": name, "validationActions": ["Audit"], **binding_errors}
            ),
        ]
        want[name] = (failure, "quarantined" if policy_errors or binding_errors else "active")
    for failure in ("Fail", "Ignore"):
        name = f"m-{failure.lower()}"
        documents.append(map_(name, CONFIG_MAPS, failurePolicy=failure, mutation=[]))
        documents.append(map_binding(name, policyName=name))
        want[name] = (failure, "quarantined")
    with serving(tmp_path, write(tmp_path / "policies", all=documents)) as server:
        assert states(server) == {name: state for name, (_, state) in want.items()}
        for name, (failure, state) in want.items():
            webhook = "/mutate" if name.startswith("m") else "/validate"
            said = answer(server, f"{webhook}/policy/{name}")
            assert said["allowed"] is (state == "active" or failure == "Ignore"), name
            if not said["allowed"]:
                assert said["status"]["message"].count("failed to configure policy: ") == 1


LOST = {
    "broken-yaml": "kind: [",
    "no-api-version": "kind: Policy\nmetadata: {name: x}\n",
    "other-group": json.dumps({**policy("other", CONFIG_MAPS), "apiVersion": "policyd.io/v1"}),
    "no-constraints": json.dumps(policy("other", CONFIG_MAPS, matchConstraints=...)),
    "no-name-of-a-policy": json.dumps(vap_binding(policyName=5)),
}


def test_what_cannot_be_read_at_all_is_reported_and_the_rest_is_served(tmp_path: Path) -> None:
    sources = write(tmp_path / "policies", good=GOOD, **LOST)
    with serving(tmp_path, sources) as server:
        assert states(server) == {"good": "active"}
        assert answer(server, bad="x")["allowed"] is False
        assert answer(server)["allowed"] is True
        (line,) = server.lines("reload")
        assert line["level"] == "error" and "quarantined" not in line
        files = {error.removeprefix(f"{sources}/").partition(":")[0] for error in line["errors"]}
        assert files == {f"{name}.yaml" for name in LOST}
        assert shown(server)["lastReload"]["errors"] == line["errors"]
        assert server.metric('policyd_reloads_total{result="error"}') == 1
        assert server.get("/readyz") == (200, "ok")
        for name in LOST:
            write(sources, **{name: [policy(name, CONFIG_MAPS), vap_binding(name)]})
        until(lambda: shown(server)["lastReload"]["succeeded"], "the mended files")
        assert states(server) == dict.fromkeys((*LOST, "good"), "active")


@pytest.mark.parametrize(
    ("content", "form"),
    paired(
        [
            "kind: [",
            "apiVersion: policyd.dev/v1\nkind: Policy\nmetadata: {name: x}\nspec: {}\n",
            json.dumps({**policy("other"), "apiVersion": "policyd.io/v1"}),
        ],
        ["json", "text"],
    ),
)
def test_where_nothing_can_be_served_the_log_says_so(
    tmp_path: Path, content: str, form: str
) -> None:
    sources = write(tmp_path / "policies", bad=content)
    status, errors = ended(command(sources, "--log-format", form))
    assert status == 2
    (line,) = errors.splitlines()
    assert "nothing to serve" in line and "bad.yaml:" in line
    if form == "json":
        assert (json.loads(line)["level"], json.loads(line)["event"]) == ("error", "start")
    else:
        assert " ERROR   start no policy could be loaded" in line
