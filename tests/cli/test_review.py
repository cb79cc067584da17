"""``policyd review``: reviews and manifests in, the answers of the webhook out."""

import json
from base64 import b64decode
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from tests.builders.policies import add_label, policy
from tests.policy_sets import POD

MANIFEST = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {}}
TWO = json.dumps(MANIFEST) + json.dumps(
    {**MANIFEST, "metadata": {"name": "db", "namespace": "shop"}}
)
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
NO_NAMESPACE = json.dumps(build_review(NODE))


@pytest.fixture
def policies(tmp_path: Path) -> str:
    """A policy whose message tells who asks for what, and one that mutates."""
    tells = {
        "expression": "false",
        "messageExpression": "request.operation + ' ' + object.metadata.namespace + ' by ' + "
        "request.userInfo.username + ' of ' + request.userInfo.groups.join(',')"
        " + (oldObject == null ? '' : ' after ' + oldObject.metadata.name)",
    }
    documents = [policy("tells", validations=[tells]), policy("adds", mutations=[add_label("'1'")])]
    path = tmp_path / "policies.yaml"
    path.write_text("\n---\n".join(map(json.dumps, documents)))
    return str(path)


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(policyd, ["review", *arguments], input=given)


def response(result: Result) -> JSONObject:
    assert result.exit_code == 0, result.output
    found: JSONObject = json.loads(result.stdout)["response"]
    return found


def test_a_review_is_answered_as_the_webhook_would(policies: str) -> None:
    review = json.dumps(build_review(POD, overrides={"uid": "u-1"}))
    for webhook in ("validate", "mutate"):
        answer = response(run("-p", policies, "--webhook", webhook, given=review))
        assert answer["uid"] == "u-1"
        assert answer["allowed"] is (webhook == "mutate")
    assert json.loads(b64decode(answer["patch"]))[0]["op"] == "add"


@pytest.mark.parametrize("flag", [("--object",), ()])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "CREATE default by policyd of system:authenticated"),
        (("--operation", "UPDATE"), "UPDATE default by policyd of system:authenticated after web"),
        (("--user", "bob", "--group", "a", "--group", "b"), "CREATE default by bob of a,b"),
        (("--old", "OLD"), "UPDATE default by policyd of system:authenticated after before"),
    ],
)
def test_a_manifest_becomes_a_review(
    policies: str, tmp_path: Path, options: tuple[str, ...], said: str, flag: tuple[str, ...]
) -> None:
    old = tmp_path / "old.yaml"
    old.write_text(json.dumps({**MANIFEST, "metadata": {"name": "before"}}))
    options = tuple(str(old) if option == "OLD" else option for option in options)
    answer = response(run("-p", policies, *flag, *options, given=json.dumps(MANIFEST)))
    assert answer["status"]["message"] == f"policy 'tells' denied request: {said}".rstrip()


def test_lines_are_answered_by_lines_and_a_bad_one_is_told(policies: str) -> None:
    review = json.dumps(build_review(POD))
    result = run("-p", policies, "--jsonl", given=f"{review}\n\nnonsense\n{review}\n")
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [list(each) for each in answers if "error" in each] == [["error"]]
    assert [each["response"]["allowed"] for each in answers if "response" in each] == [False] * 2


def test_one_object_of_several_is_chosen(policies: str) -> None:
    for name, said in (("pod/web", "default"), ("Pod/db", "shop"), ("Pod/shop/db", "shop")):
        answer = response(run("-p", policies, "--object", "--select", name, given=TWO))
        assert f"denied request: CREATE {said} by" in answer["status"]["message"]


def test_the_namespace_of_objects_without_one_is_given(policies: str) -> None:
    answer = response(run("-p", policies, "--object", "-n", "mail", given=json.dumps(MANIFEST)))
    assert "CREATE mail by" in answer["status"]["message"]
    chosen = ("--select", "Pod/db", "-n", "mail")
    answer = response(run("-p", policies, "--object", *chosen, given=TWO))
    assert "CREATE shop by" in answer["status"]["message"]


def test_labels_of_the_namespace_are_given(tmp_path: Path) -> None:
    rules = {"namespaceSelector": {"matchLabels": {"env": "prod"}}}
    prod = policy("prod", validations=[{"expression": "false"}])
    prod["spec"]["matchConstraints"] |= rules
    file = tmp_path / "policies.yaml"
    file.write_text(json.dumps(prod))
    review = json.dumps(build_review(MANIFEST))
    namespace = {"apiVersion": "v1", "kind": "Namespace",
                 "metadata": {"name": "default", "labels": {"env": "prod"}}}  # fmt: skip
    labels = ("--namespace-labels", "env=prod")
    chosen = ("--object", "--select", "Pod/web")
    both = json.dumps(namespace) + json.dumps(MANIFEST)
    for options, given, allowed in (
        (("--object",), json.dumps(MANIFEST), True),
        (("--object", *labels), json.dumps(MANIFEST), False),
        ((), review, True),
        (labels, review, False),
        (("--jsonl", *labels), review, False),
        (chosen, both, False),
    ):
        answer = response(run("-p", str(file), *options, given=given))
        assert answer["allowed"] is allowed, options


@pytest.mark.parametrize(
    ("options", "given", "told"),
    [
        (("--object",), "[1]", "-:1:1: a document must be an object with apiVersion and kind"),
        (("--object",), "a: [", "-:1:4: the [ of line 1 is never closed"),
        (
            ("--object",),
            TWO,
            "- contains 2 objects; choose one with --select: Pod/web, Pod/shop/db",
        ),
        (("--namespace-labels", "a=b"), NO_NAMESPACE, "the request has no namespace"),
        ((), TWO, "- contains 2 objects; choose one with --select: Pod/web, Pod/shop/db"),
        (
            (),
            json.dumps({**MANIFEST, "kind": 1}),
            "kind is a number",
        ),
        ((), json.dumps({"request": {}}), "apiVersion is missing, kind is missing"),
        (("--user", "bob"), "{}", "-:1:1: Required value: a document needs apiVersion and kind"),
        (("--user", "bob"), NO_NAMESPACE, "apply to manifests only: - contains an AdmissionReview"),
        (("--object", "--jsonl"), "{}", "apply to manifests, and --jsonl reads reviews"),
        (("--user", "bob", "--jsonl"), "{}", "apply to manifests, and --jsonl reads reviews"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    policies: str, options: tuple[str, ...], given: str, told: str
) -> None:
    result = run("-p", policies, *options, given=given)
    assert result.exit_code != 0
    assert told in f"{result.output}{result.exception}"
    assert result.stdout == ""
