"""``policyd bench core``: what it prints, saves, compares and refuses."""

import json
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.errors import PolicydError
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import pod
from tests.builders.policies import CONFIG_MAPS, demand, labelling, policy
from tests.e2e.webhook import write

CHEAP = "object.metadata.name != 'x'"
DEAR = "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5].all(c, a + b + c != size(object.metadata.name) + 100)))"
# So much that no noise of the machine hides it.
HEAVY = f"[1,2,3,4,5,6,7,8,9].all(d, {DEAR})"
QUICK = ("--rounds", "7")
NUMBERS = {"median", "quartiles", "rounds", "yardstick"}


def bench(*arguments: str | Path) -> Result:
    return CliRunner().invoke(
        policyd, ["--no-project", "bench", "core", *map(str, arguments)], catch_exceptions=False
    )


def document(*arguments: str | Path) -> JSONObject:
    found = bench(*arguments, "--format", "json")
    assert found.exit_code == 0, found.output
    made: JSONObject = orjson.loads(found.stdout)
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
def policies(folder: Path) -> Path:
    return write(
        folder / "policies",
        [
            policy("cheap", validations=[demand(CHEAP, "x")]),
            policy("dear", validations=[demand(DEAR, "x")]),
            policy("idle", CONFIG_MAPS, validations=[demand(CHEAP, "x")]),
            policy("label", mutations=[labelling("a", "'b'")]),
        ],
    )


@pytest.fixture(scope="module")
def manifest(folder: Path) -> Path:
    file = folder / "pod.json"
    file.write_text(json.dumps(pod()))
    return file


@pytest.fixture(scope="module")
def saved(folder: Path, policies: Path, manifest: Path) -> Path:
    """What one measurement saved; the same, as it was printed, is in ``printed.json``."""
    file = folder / "before.json"
    found = document("-p", policies, manifest, *QUICK, "--save", file)
    (folder / "printed.json").write_bytes(orjson.dumps(found))
    return file


def test_every_policy_appears_and_the_dear_one_first(policies: Path, manifest: Path) -> None:
    text = bench("-p", policies, manifest, *QUICK).stdout
    assert "4 policies, 1 review, 7 rounds" in text
    assert "mutation: 1 request, 1 matched a policy, 0 denied, 0 with errors" in text
    rows = [line.split() for line in text.partition("validation:")[2].splitlines()]
    names = [row[0] for row in rows if row and row[0] in ("cheap", "dear", "idle", "label")]
    assert names == ["dear", "cheap", "idle"]
    assert ["idle", "0", "-", "-", "-"] in rows


def test_json_has_everything(saved: Path) -> None:
    found = orjson.loads(saved.with_name("printed.json").read_bytes())
    assert orjson.loads(saved.read_bytes()) == found
    head = ("policyd.dev/bench/v1", "core", {"policyd", "python"})
    assert (found["format"], found["benchmark"], found["versions"].keys()) == head
    assert all(found[each].keys() == {"hash", "count"} for each in ("policies", "reviews"))
    assert found["taken"] and len(found["figures"]) >= 5
    for figure in found["figures"]:
        assert figure.keys() == {"name", "unit", "unsteady", *NUMBERS}
        assert figure["unit"] == "us" and len(figure["quartiles"]) == 2 and figure["rounds"]
    for webhook in found["webhooks"]:
        counts = ("webhook", "calls", "matched", "denied", "errors", "policies")
        assert tuple(webhook) == counts
        for each in webhook["policies"]:
            known = {"name", "kind", "file", "matched", "micros", "share", "units"}
            assert each.keys() == known
    by_webhook = {each["webhook"]: each["policies"] for each in found["webhooks"]}
    assert [each["name"] for each in by_webhook["validate"]] == ["dear", "cheap", "idle"]
    assert [each["name"] for each in by_webhook["mutate"]] == ["label"]
    dear, cheap, idle = by_webhook["validate"]
    assert dear["units"] > 3 * cheap["units"]
    assert dear["share"] > cheap["share"] > idle["share"] == 0
    assert (idle["matched"], idle["micros"], idle["units"]) == (0, None, None)


def test_without_paths_the_built_in_reviews_are_used(policies: Path) -> None:
    found = document("-p", policies, *QUICK)
    assert found["reviews"]["count"] > 20


def test_captures_and_manifests_are_reviews(policies: Path, tmp_path: Path) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "pod.yaml").write_text(json.dumps(pod()))
    captured = {**build_review(pod()), "captured": {"webhook": "validate"}}
    (folder / "one.jsonl").write_text(json.dumps(captured) + "\n\n" + json.dumps(captured))
    found = document("-p", policies, folder, *QUICK)
    calls = {each["webhook"]: each["calls"] for each in found["webhooks"]}
    assert (found["reviews"]["count"], calls) == (3, {"mutate": 1, "validate": 3})


def test_the_same_again_is_not_slower(policies: Path, manifest: Path, saved: Path) -> None:
    # The machine is shared: whatever is slower by chance is not ten times as slow.
    found = bench("-p", policies, manifest, *QUICK, "--compare", saved, "--threshold", "900%")
    assert found.exit_code == 0, found.output
    assert "nothing is slower by more than 900%" in found.stdout


def test_a_heavier_policy_is_found(manifest: Path, tmp_path: Path) -> None:
    file = tmp_path / "before.json"
    before, now = (
        write(tmp_path / str(number), [policy("one", validations=[demand(expression, "x")])])
        for number, expression in enumerate((CHEAP, HEAVY))
    )
    assert bench("-p", before, manifest, *QUICK, "--save", file).exit_code == 0
    compare = ("--compare", file, "--threshold", "50%")
    heavy = tmp_path / "heavy.json"
    save = ("--save", heavy, "--format", "json")
    found = bench("-p", now, manifest, *QUICK, *compare, *save)
    assert found.exit_code == 1, found.output
    comparison = orjson.loads(found.stdout)["comparison"]
    assert "validate/policy/Policy/one" in comparison["slower"]
    assert "validate/cpu" in comparison["slower"]
    ratios = {each["name"]: each for each in comparison["changes"]}
    assert ratios["validate/policy/Policy/one"]["low"] > 1.5
    # The other way round it is faster: that is no failure.
    compare = ("--compare", heavy, "--threshold", "50%")
    found = bench("-p", before, manifest, *QUICK, *compare)
    assert found.exit_code == 0, found.output
    assert "note: the policies differ" in found.stdout


def test_other_reviews_are_not_compared(saved: Path, policies: Path) -> None:
    with pytest.raises(PolicydError) as found:
        bench("-p", policies, "--compare", saved)
    assert found.value.exit_code == 2
    assert "the reviews differ: 1 (" in str(found.value)
    assert "hint: measure the same reviews" in str(found.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--threshold", "10%"), "--threshold requires --compare"),
        (("--compare", "x", "--threshold", "ten"), "expected a percentage like 10%, got 'ten'"),
        (("--rounds", "6"), "6 is not in the range x>=7"),
        (("--duration", "0s"), "expected a duration above zero"),
    ],
)
def test_what_does_not_go_together_is_an_error_of_usage(
    arguments: tuple[str, ...], message: str, policies: Path
) -> None:
    found = bench("-p", policies, *arguments)
    assert found.exit_code == 2
    assert message in " ".join(found.output.split())


def test_a_line_that_is_no_review_is_an_error_with_its_place(
    policies: Path, tmp_path: Path
) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text("\n{}\n")
    with pytest.raises(PolicydError, match=r"one\.jsonl:2: expected an AdmissionReview"):
        bench("-p", policies, file)


def test_nothing_to_measure_is_an_error(policies: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(PolicydError, match="no reviews in"):
        bench("-p", policies, tmp_path / "empty.jsonl")
    file = tmp_path / "validated.jsonl"
    file.write_text(json.dumps({**build_review(pod()), "captured": {"webhook": "validate"}}))
    mutating = write(tmp_path / "mutating", [policy("m", mutations=[labelling("a", "'b'")])])
    with pytest.raises(PolicydError, match="there is nothing to measure"):
        bench("-p", mutating, file)
