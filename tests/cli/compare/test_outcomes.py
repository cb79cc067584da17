"""The outcomes of ``policyd compare``, for each request and rule."""

import json
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from tests.builders.objects import pod
from tests.builders.policies import TEAM, json_patch
from tests.cli.compare.product import (
    Product,
    capture,
    kyverno,
    outcomes,
    patched,
    run,
    said,
    write,
)


def test_each_request_has_an_outcome_for_each_rule(product: Product) -> None:
    labelled = {"team": "a"}
    capture(pod(name="agreed"), pod(name="another"), pod(name="stricter"), pod(name="warned"))
    capture(pod(name="looser", labels=labelled), pod(name="admitted", labels=labelled))
    capture(pod(name="unnamed", labels=labelled))
    assert outcomes("--against", product.configuration()) == {
        "another": ("other message", "teams/team"),
        "stricter": ("stricter", "teams/team"),
        "looser": ("looser", "teams/team"),
        "warned": ("stricter", "teams/team"),
        "unnamed": ("looser", "/"),
    }
    text = run("--against", product.configuration(), "--yes")
    assert text.exit_code == 1
    rows = [" ".join(line.split()) for line in text.stdout.splitlines()]
    assert rows[:3] == [
        "POLICY/RULE EQUAL STRICTER LOOSER OTHER MESSAGE OTHER PATCH UNKNOWN NO ANSWER",
        "- - - 1 - - - -",
        "teams/team 2 2 1 1 - - -",
    ]
    assert "policyd: denies: no team" in rows
    assert "and 1 more request: -v lists them" in rows
    assert text.stderr == "7 reviews compared: 5 not equal\n"
    verbose = run("--against", product.configuration(), "--yes", "-v").stdout
    assert verbose.count("CREATE Pod shop/") == 5


ENDED = ". rule team failed at path /metadata/labels/team/"
PATTERN: JSONObject = {"pattern": {"metadata": {"labels": {"team": "?*"}}}}
MESSAGES: dict[str, tuple[list[JSONObject], str, bool]] = {
    "a pattern": ([{**PATTERN, "message": "A team (one)."}], f"A team (one).{ENDED}", True),
    "another text": ([{**PATTERN, "message": "A team."}], f"An owner.{ENDED}", False),
    "a pattern with an expression": (
        [{**PATTERN, "messageExpression": "'A team'"}], f"A team{ENDED}", True,
    ),
    "the first of several": ([TEAM, {"expression": "false", "message": "never"}], "never", True),
    "no message": ([PATTERN], ENDED, False),
}  # fmt: skip


@pytest.mark.parametrize(("validations", "text", "agrees"), MESSAGES.values(), ids=MESSAGES)
def test_messages_agree_if_the_other_one_contains_a_policy_s(
    product: Product, validations: list[JSONObject], text: str, agrees: bool
) -> None:
    write("teams", "team", validations=validations)
    product.answers = lambda path, request: said(text)
    capture(pod(name="web"))
    found = outcomes("--against", product.configuration())
    assert found == ({} if agrees else {"web": ("other message", "teams/team")})


def test_the_same_answers_are_a_success(product: Product) -> None:
    capture(pod(name="agreed"), pod(name="admitted", labels={"team": "a"}))
    done = run("--against", product.configuration(), "--yes")
    assert (done.exit_code, done.stderr) == (0, "2 reviews compared: 0 not equal\n")


def test_mutations_are_applied_and_the_objects_compared(product: Product) -> None:
    """The same field by other operations is equal; a denial ends the sequence."""
    added = "[JSONPatch{op: 'add', path: '/metadata/labels/team', value: 'a'}]"
    write("labels", "add", mutations=[json_patch(added)])

    def answers(path: str, request: JSONObject) -> JSONObject:
        metadata = request["object"]["metadata"]
        if path == "/validate":
            return {} if metadata["labels"]["team"] == "a" else kyverno(("teams", "team", "b"))
        if metadata["name"] == "same":
            return patched({"op": "replace", "path": "/metadata/labels", "value": {"team": "a"}})
        return patched({"op": "add", "path": "/metadata/labels/team", "value": "b"})

    product.answers = answers
    both = f"{product.configuration()} {product.configuration('mutate')}".split()
    Path("both").mkdir()
    for each in both:
        Path(each).rename(Path("both", Path(each).name))
    capture(pod(name="same", labels={}), pod(name="other", labels={}), webhook="")
    capture(pod(name="mutated", labels={}), webhook="mutate")
    assert [path for path, _ in product.requests] == []
    done = run("--against", "both", "--yes", "--format", "json", "--connections", "1")
    results = json.loads(done.stdout)["results"]
    assert [(each["outcome"], each["policy"], each["other"]) for each in results] == [
        ("other patch", "labels", '/metadata/labels/team: "b"'),
        ("looser", "teams", "denies: b"),
        ("other patch", "labels", '/metadata/labels/team: "b"'),
    ]
    paths = [path for path, _ in product.requests]
    assert paths == ["/mutate", "/validate", "/mutate", "/validate", "/mutate"]
    assert product.requests[3][1]["object"]["metadata"]["labels"] == {"team": "b"}


def test_what_is_only_audited_is_unknown(product: Product) -> None:
    write("teams", "team", validations=[TEAM], validationActions=["Audit"])
    capture(pod(name="silent"), pod(name="agreed"))
    assert outcomes("--against", product.configuration()) == {
        "silent": ("unknown", "teams/team"),
        "agreed": ("looser", "teams/team"),
    }


def test_rollouts_can_count_as_over(product: Product) -> None:
    write("teams", "team", validations=[TEAM], rollout={"enforce": {}})
    capture(pod(name="silent"), pod(name="agreed"))
    given = ("--against", product.configuration())
    assert outcomes(*given) == {
        "silent": ("unknown", "teams/team"),
        "agreed": ("looser", "teams/team"),
    }
    assert outcomes(*given, "--enforce-all") == {"silent": ("stricter", "teams/team")}


def test_a_failure_to_answer_is_not_equal(product: Product) -> None:
    def answers(path: str, request: JSONObject) -> JSONObject:
        return {"uid": "other"} if request["object"]["metadata"]["name"] == "lost" else {}

    product.answers = answers
    labels = {"team": "a"}
    capture(pod(name="fine", labels=labels), pod(name="lost", labels=labels))
    assert outcomes("--against", product.configuration()) == {"lost": ("no answer", "/")}
