"""``policyd replay`` over the stages of a rollout: which requests change from would_deny to denied."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policyd import PolicySet
from policyd.cli import policyd
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import pod
from tests.builders.policies import demand, labelling, policy

pytestmark = pytest.mark.usefixtures("folder")
LONG = "team-" + "x" * 80  # its audit annotation has a cut name
SHADOW: JSONObject = {"otherwise": ["Audit"]}


def validating(name: str, **spec: JSONObject) -> JSONObject:
    message = f"not {name}"
    return policy(name, validations=[demand("'team' in object.metadata.labels", message)], **spec)


def mutating(**spec: JSONObject) -> JSONObject:
    return policy("labels", mutations=[labelling("a", "'b'")], **spec)


def record(*documents: JSONObject) -> None:
    """Write what a server with these policies captures, of requests with and without a team."""
    write("recorded", *documents)
    policies = PolicySet.load(["recorded.json"])
    lines = []
    for labels in ({"team": "a"}, {"other": "b"}):
        review = build_review(pod(labels=labels))
        for webhook in ("mutate", "validate"):
            answer = policies.review(review, webhook)["response"]
            lines.append({**review, "response": answer, "captured": {"webhook": webhook}})
    Path("capture.jsonl").write_text("\n".join(map(json.dumps, lines)))


def write(name: str, *documents: JSONObject) -> None:
    Path(f"{name}.json").write_text("\n".join(map(json.dumps, documents)))


def replay(*arguments: str) -> Result:
    return CliRunner().invoke(policyd, ["replay", "capture.jsonl", *arguments])


def changed(*arguments: str) -> list[tuple[str, str, str]]:
    done = replay("--format", "json", *arguments)
    found = json.loads(done.stdout)
    assert done.exit_code == int(bool(found))
    return [(each["place"], each["change"], each["policy"]) for each in found]


@pytest.mark.parametrize("name", ["team", LONG], ids=["short", "long"])
@pytest.mark.parametrize("against", [(), ("--against", "recorded.json")], ids=["recorded", "old"])
def test_from_shadow_to_enforced(name: str, against: tuple[str, ...]) -> None:
    record(validating(name, rollout=SHADOW))
    write("new", validating(name))
    denied = [("capture.jsonl:4", "now enforced", name)]
    assert changed("-p", "new.json", *against) == denied
    assert changed("-p", "recorded.json", "--enforce-all", *against) == denied
    assert changed("-p", "recorded.json", *against) == []


@pytest.mark.parametrize("against", [(), ("--against", "recorded.json")], ids=["recorded", "old"])
def test_from_enforced_to_shadow_and_into_shadow(against: tuple[str, ...]) -> None:
    record(validating("team"))
    write("new", validating("team", rollout=SHADOW), validating("tom", rollout=SHADOW))
    assert changed("-p", "new.json", *against) == [
        ("capture.jsonl:4", "no longer enforced", "team"),
        ("capture.jsonl:4", "would deny", "tom"),
    ]
    record(validating("tom", rollout=SHADOW))
    write("new", policy())
    assert changed("-p", "new.json", *against) == [("capture.jsonl:4", "would admit", "tom")]


@pytest.mark.parametrize("against", [(), ("--against", "recorded.json")], ids=["recorded", "old"])
def test_mutations_that_are_applied_now(against: tuple[str, ...]) -> None:
    record(mutating(rollout=SHADOW))
    write("new", mutating())
    places = ("capture.jsonl:1", "capture.jsonl:3")
    both = [(place, *each) for place in places for each in (
        ("now enforced", "labels"), ("other object", ""))]  # fmt: skip
    assert changed("-p", "new.json", *against) == both
    write("none", policy())
    gone = [(place, "would not mutate", "labels") for place in places]
    assert changed("-p", "none.json", *against) == gone


def test_a_denial_by_another_policy_is_no_change_of_the_rollout() -> None:
    record(validating("team", rollout=SHADOW))
    write("new", validating("team"), validating("tom"))
    assert changed("-p", "new.json") == [
        ("capture.jsonl:4", "now enforced", "team"),
        ("capture.jsonl:4", "now denied", "tom"),
    ]


def test_the_table_counts_what_is_enforced() -> None:
    record(validating("team", rollout=SHADOW))
    lines = replay("-p", "recorded.json", "--enforce-all").stdout.splitlines()
    assert [line.split(None, 4)[:4] for line in lines[1:]] == [["now", "enforced", "1", "team"]]
