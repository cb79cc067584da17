"""``policyd replay``: which decisions change, beside other policies or what was answered."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from policyd import PolicySet
from policyd.cli import policyd
from policyd.json_types import JSONObject
from policyd.offline.replaying import ComparedDecision, DecisionChange, changes
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import pod
from tests.builders.policies import demand, json_patch, policy


def requiring(name: str, expression: str, **spec: Any) -> str:
    """A policy whose message has its name."""
    return json.dumps(policy(name, validations=[demand(expression, f"not {name}")], **spec))


def of_team(team: str) -> JSONObject:
    """A Pod named after its team."""
    return pod(name=f"web-{team}", labels={"team": team})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, team in (("old", "'a'"), ("new", "'b'")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "policy.json").write_text(
            requiring("team", f"object.metadata.labels.team == {team}")
        )
    lines = [build_review(of_team(team)) for team in ("a", "b", "b", "c")]
    (tmp_path / "reviews.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    return tmp_path


def run(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(policyd, ["replay", *arguments], input=text)


def test_changes_are_counted_by_policy_with_an_example() -> None:
    done = run("reviews.jsonl", "-p", "new", "--against", "old")
    assert done.exit_code == 1
    lines = [line.split(None, 4) for line in done.stdout.splitlines()]
    place = "CREATE Pod shop/web-{} by policyd (reviews.jsonl:{}): metadata.labels.team: policy 'team' denied request: not team"
    assert lines == [
        ["CHANGE", "COUNT", "POLICY", "EXAMPLE"],
        ["now", "denied", "1", "team", place.format("a", 1)],
        ["now", "admitted", "2", "team", place.format("b", 2)],
    ]
    assert done.stderr == "4 reviews: 3 decisions changed\n"
    verbose = run("reviews.jsonl", "-p", "new", "--against", "old", "-v").stdout
    assert place.format("b", 3) in verbose


def test_the_same_policies_change_nothing() -> None:
    done = run("reviews.jsonl", "-p", "old", "--against", "old")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "4 reviews: 0 decisions changed\n"


def test_what_was_answered_is_compared_where_it_was_recorded(folder: Path) -> None:
    old = PolicySet.load(["old"])
    captured = []
    for line in (folder / "reviews.jsonl").read_text().split("\n\n")[0].splitlines():
        review = json.loads(line)
        response = old.review(review, "validate")["response"]
        captured.append({**review, "response": response, "captured": {"webhook": "validate"}})
    (folder / "capture").mkdir()
    with gzip.open(folder / "capture/1.jsonl.gz", "wt") as file:
        file.write("\n".join(map(json.dumps, captured)))
    done = run("capture", "-p", "new", "--format", "json")
    assert done.exit_code == 1
    assert [each["change"] for each in json.loads(done.stdout)] == [
        "now denied", "now admitted", "now admitted",
    ]  # fmt: skip
    assert run("capture", "-p", "old").exit_code == 0


def test_a_mutation_that_makes_another_object_is_a_change(folder: Path) -> None:
    patch = "[JSONPatch{op: 'add', path: '/metadata/labels/team', value: 'x'}]"
    mutations = [json_patch(patch)]
    (folder / "mutating.json").write_text(json.dumps(policy("labels", mutations=mutations)))
    done = run("reviews.jsonl", "-p", "mutating.json", "--against", "old")
    assert "now admitted" in done.stdout
    done = run("reviews.jsonl", "-p", "mutating.json", "--against", "empty.json")
    assert done.exit_code == 2  # there is no such file
    (folder / "empty.json").write_text(requiring("labels", "true"))
    done = run("reviews.jsonl", "-p", "mutating.json", "--against", "empty.json")
    assert "other object        4  -" in done.stdout


BAD = [
    (
        ["reviews.jsonl", "-p", "new"],
        "reviews.jsonl:1: no response was recorded: compare with",
    ),
    (["-", "-p", "new", "--against", "old"], "no reviews on standard input"),
    (["nowhere", "-p", "new", "--against", "old"], "nowhere: No such file"),
    (["bad.jsonl", "-p", "new", "--against", "old"], "bad.jsonl:2: not JSON"),
    (
        ["pod.jsonl", "-p", "new", "--against", "old"],
        "pod.jsonl:1: expected an AdmissionReview with",
    ),
    (
        ["broken.jsonl.gz", "-p", "new", "--against", "old"],
        "broken.jsonl.gz: Error -3 while decompressing",
    ),
]


@pytest.mark.parametrize("arguments, message", BAD, ids=[row[1][:24] for row in BAD])
def test_bad_input_is_told_with_its_place(arguments: list[str], message: str, folder: Path) -> None:
    (folder / "bad.jsonl").write_text(json.dumps(build_review(of_team("a"))) + "\n{\n")
    (folder / "pod.jsonl").write_text(json.dumps(pod()))
    (folder / "broken.jsonl.gz").write_bytes(gzip.compress(b"")[:10] + b"\xff")
    done = run(*arguments, text="")
    assert message in done.output + str(done.exception)
    assert done.exception is not None and not isinstance(done.exception, SystemExit)


def decision(
    allowed: bool, *reasons: str, warnings: tuple[str, ...] = (), after: Any = 1
) -> ComparedDecision:
    return ComparedDecision(allowed, frozenset(reasons), frozenset(warnings), after)


DIFFERENCES = [
    (decision(True), decision(True), []),
    (decision(False, "a"), decision(False, "a", after=2), []),
    (
        decision(False, "policy 'p' denied request: a"),
        decision(False, "policy 'q' denied request: b"),
        [
            DecisionChange("other reasons", "q", "policy 'q' denied request: b"),
            DecisionChange("other reasons", "p", "no longer: policy 'p' denied request: a"),
        ],
    ),
    (
        decision(True, warnings=("Validation failed for policy 'p': w",)),
        decision(True, warnings=('Policy "x.y" warns',)),
        [
            DecisionChange("other warnings", "x.y", 'Policy "x.y" warns'),
            DecisionChange("other warnings", "p", "no longer: Validation failed for policy 'p': w"),
        ],
    ),
    (
        decision(True, after={"a": 1}),
        decision(True, after={"a": True}),
        [DecisionChange("other object", "", "the mutated object differs")],
    ),
]  # fmt: skip


@pytest.mark.parametrize("before, after, expected", DIFFERENCES)
def test_differences(
    before: ComparedDecision, after: ComparedDecision, expected: list[DecisionChange]
) -> None:
    assert changes(before, after) == expected
