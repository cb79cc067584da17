"""``policyd apply`` of policies that are not enforced everywhere: visible, and no failure."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.json_types import JSONObject
from tests.builders.objects import pod
from tests.builders.policies import demand, labelling, policy, rollout_document, vap, vap_binding
from tests.cli.apply.conftest import Run
from tests.cluster.contents import Contents

SHADOW: JSONObject = {"otherwise": ["Warn"]}
POLICIES = [
    policy(
        "team",
        validations=[demand("object.metadata.?labels.?team.hasValue()", "no team")],
        rollout=SHADOW,
    ),
    policy("labels", mutations=[labelling("a", "'b'")], rollout=SHADOW),
    policy("fine", rollout=SHADOW),
]
WHY = "enforce is empty"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policies.yaml").write_text("\n---\n".join(map(json.dumps, POLICIES)))
    (tmp_path / "pod.json").write_text(json.dumps(pod()))
    return tmp_path


def apply(*arguments: str) -> Result:
    return CliRunner().invoke(policyd, ["apply", "-p", "policies.yaml", "pod.json", *arguments])


def test_the_table_tells_a_held_denial_from_a_warning() -> None:
    done = apply()
    assert (done.exit_code, [line.split(None, 5) for line in done.stdout.splitlines()[1:]]) == (0, [
        ["would", "deny", "Pod", "shop/web", "pod.json:1:38",
         f"team    metadata.labels.team: no team (not enforced: {WHY})"],
        ["would", "mutate", "Pod", "shop/web", "pod.json:1:1",
         f"labels  /metadata/labels (not applied: {WHY})"],
    ])  # fmt: skip
    assert done.stderr.splitlines() == [
        "1 object: 1 admitted, 0 denied, 1 would be denied, 1 would be mutated",
        "to explain the first finding:",
        "  policyd explain -p policies.yaml pod.json",
    ]


def test_the_goal_denies_and_its_explanation_too() -> None:
    done = apply("--enforce-all")
    assert done.exit_code == 1
    assert "1 object: 0 admitted, 1 denied, 1 mutated\n" in done.stderr
    assert "policyd explain -p policies.yaml --enforce-all pod.json" in done.stderr


@pytest.mark.parametrize(("what", "status"), [("warn", 0), ("error", 0), ("would-deny", 1)])
def test_a_held_denial_fails_only_on_demand(what: str, status: int) -> None:
    assert apply("--fail-on", what).exit_code == status


def test_json_has_the_reason() -> None:
    (found,) = json.loads(apply("--format", "json").stdout)
    assert [(e["outcome"], e["message"], e["rollout"]) for e in found["findings"]] == [
        ("would_deny", "no team", WHY)
    ]
    assert found["wouldMutate"] == [
        {"policy": "labels", "places": "/metadata/labels", "rollout": WHY}
    ]
    assert (found["allowed"], found["patch"]) == (True, [])


def test_reports_have_no_failure() -> None:
    junit = ElementTree.fromstring(apply("--format", "junit").stdout)
    assert (junit.get("failures"), junit.get("errors")) == ("0", "0")
    assert f"warning: metadata.labels.team: would deny: no team (not enforced: {WHY})" in "".join(
        junit.itertext()
    )
    log = json.loads(apply("--format", "sarif").stdout)
    assert [each["level"] for each in log["runs"][0]["results"]] == ["warning", "note"]
    assert apply("--format", "github").stdout.startswith("::warning file=pod.json,line=1")


def test_a_rule_of_a_report_is_the_policy_and_not_its_rollout(folder: Path) -> None:
    documents = [vap(), vap_binding("p"), rollout_document()]
    (folder / "policies.yaml").write_text("\n---\n".join(map(json.dumps, documents)))
    (folder / "pod.json").write_text(json.dumps(pod(name="x")))
    log = json.loads(apply("--format", "sarif").stdout)
    (found,) = log["runs"][0]["tool"]["driver"]["rules"]
    assert found["shortDescription"]["text"] == "ValidatingAdmissionPolicy p"


@pytest.mark.parametrize(
    ("flags", "status", "outcome"), [((), 0, "would_deny"), (("--enforce-all",), 1, "deny")]
)
def test_a_scan_evaluates_rollouts_as_configured(
    run: Run, contents: Contents, flags: tuple[str, ...], status: int, outcome: str
) -> None:
    contents.add("/api/v1/pods", "web", "shop", metadata={"labels": {}}, spec={"containers": []})
    done = run(POLICIES[0], flags=("--format", "json", *flags))
    assert done.exit_code == status
    (found,) = json.loads(done.stdout)
    assert [each["outcome"] for each in found["findings"]] == [outcome]


def test_a_review_of_the_goal_denies() -> None:
    command = ["review", "-p", "policies.yaml", "--object", "pod.json"]
    answers = [
        json.loads(CliRunner().invoke(policyd, [*command, *flags]).stdout)["response"]["allowed"]
        for flags in ((), ("--enforce-all",))
    ]
    assert answers == [True, False]
