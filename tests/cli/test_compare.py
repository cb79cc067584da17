"""``policyd compare``: the answers of another product, from an HTTPS server that answers in its form,
beside the decisions of policies.
"""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from policyd.tls.issuing import self_signed
from tests.builders.objects import pod
from tests.builders.policies import ADMISSION, EVERYTHING, TEAM, json_patch, policy
from tests.cluster.fake import Call, Reply, api_server
from tests.webhook_server import webhook_server

ORIGIN, RULE = "policyd.dev/imported-from", "policyd.dev/imported-rule"
KINDS = {"validate": "ValidatingWebhookConfiguration", "mutate": "MutatingWebhookConfiguration"}
NOBODY: JSONObject = {"username": "nobody", "groups": ["some"]}


def kyverno(*found: tuple[str, str, str]) -> JSONObject:
    """The denial of Kyverno for (policy, rule, message)."""
    lines = [f"{policy}:\n  {rule}: '{message}'\n" for policy, rule, message in found]
    head = "\n\nresource Pod/shop/x was blocked due to the following policies \n\n"
    message = f"{head}{''.join(lines)}"
    return {"allowed": False, "status": {"status": "Failure", "message": message}}


def said(text: str) -> JSONObject:
    """How Kyverno quotes the message of a pattern."""
    return kyverno(
        ("teams", "autogen-team", f"validation error: {text}. rule team failed at path /metadata/")
    )


def patched(operation: JSONObject) -> JSONObject:
    data = base64.b64encode(json.dumps([operation]).encode()).decode()
    return {"patch": data, "patchType": "JSONPatch"}


# By the name of a Pod.
ANSWERS: dict[str, JSONObject] = {
    "agreed": said("no team"),
    "another": said("who owns this?"),
    "looser": said("no team"),
    "unnamed": {"allowed": False, "status": {"message": "no"}},
    "warned": {"warnings": ["policy teams.team: no team", "v1 is deprecated"]},
}


class Product:
    """What the server was sent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.requests: list[tuple[str, JSONObject]] = []
        self.answers: Callable[[str, JSONObject], JSONObject] = self.by_name

    def by_name(self, path: str, request: JSONObject) -> JSONObject:
        return ANSWERS.get(request["object"]["metadata"]["name"], {})

    def answer(self, path: str, request: JSONObject) -> JSONObject:
        self.requests.append((path, request))
        return self.answers(path, request)

    def configuration(self, webhook: str = "validate", **fields: Any) -> str:
        """Write a configuration of its webhook, and return the file."""
        authority = base64.b64encode((self.folder / "tls.crt").read_bytes()).decode()
        url = f"https://127.0.0.1:{self.port}/{webhook}"
        entry = {
            "name": f"{webhook}.kyverno.svc", "admissionReviewVersions": ["v1"],
            "sideEffects": "NoneOnDryRun", "rules": [EVERYTHING],
            "clientConfig": {"url": url, "caBundle": authority}, **fields,
        }  # fmt: skip
        made = {"apiVersion": ADMISSION, "kind": KINDS[webhook], "webhooks": [entry]}
        file = self.folder / f"{webhook}.json"
        file.write_text(json.dumps({**made, "metadata": {"name": "kyverno"}}))
        return str(file)


@pytest.fixture
def product(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Product]:
    monkeypatch.chdir(tmp_path)
    pair = self_signed(["127.0.0.1"])
    (tmp_path / "tls.crt").write_bytes(pair.certificate)
    (tmp_path / "tls.key").write_bytes(pair.key)
    write("teams", "team", validations=[TEAM])
    made = Product(tmp_path)
    with webhook_server(tmp_path / "tls.crt", tmp_path / "tls.key", made.answer) as made.port:
        yield made


def write(name: str, rule: str, **spec: Any) -> None:
    """Write a policy that was imported from a ClusterPolicy."""
    document = policy(f"{name}-{rule}", **spec)
    document["metadata"]["annotations"] = {ORIGIN: f"ClusterPolicy/{name}", RULE: rule}
    Path("policies").mkdir(exist_ok=True)
    Path("policies", f"{name}.json").write_text(json.dumps(document))


def capture(*pods: JSONObject, webhook: str = "validate", **captured: Any) -> None:
    """Add reviews to the capture."""
    with Path("capture.jsonl").open("a") as file:
        for each in pods:
            review = build_review(each, overrides={"userInfo": NOBODY})
            review["captured"] = {"webhook": webhook, "redacted": False, **captured}
            file.write(json.dumps(review) + "\n")


def run(*arguments: str, text: str | None = None) -> Result:
    words = ["compare", "--captures", "capture.jsonl", "-p", "policies", *arguments]
    return CliRunner().invoke(policyd, words, input=text)


def outcomes(*arguments: str) -> dict[str, tuple[str, str]]:
    """The outcome of each Pod, and its rule."""
    done = run(*arguments, "--yes", "--format", "json")
    report = json.loads(done.stdout)
    assert done.exit_code == int(any(each["outcome"] != "unknown" for each in report["results"]))
    return {
        each["request"].split("/")[1].split()[0]: (
            each["outcome"],
            f"{each['policy']}/{each['rule']}",
        )
        for each in report["results"]
    }


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


def test_requests_are_dry_runs_of_the_same_user_with_new_uids(product: Product) -> None:
    capture(pod(name="agreed"))
    run("--against", product.configuration(), "--yes")
    recorded = json.loads(Path("capture.jsonl").read_text())["request"]
    ((path, sent),) = product.requests
    assert path == "/validate"
    assert sent.pop("uid") != recorded.pop("uid")
    assert sent == {**recorded, "dryRun": True}
    assert sent["userInfo"] == NOBODY


def test_without_yes_it_prints_what_would_be_sent(product: Product) -> None:
    capture(pod(name="agreed"), pod(name="another"))
    capture(pod(name="secret"), redacted=True)
    done = run("--against", product.configuration())
    where = f"kyverno / validate.kyverno.svc at https://127.0.0.1:{product.port}/validate"
    assert (done.exit_code, done.stdout) == (0, f"would send 2 requests to {where}\n")
    assert done.stderr == (
        "2 reviews to compare, 1 redacted and skipped; nothing was sent: add --yes\n"
    )
    report = json.loads(run("--against", product.configuration(), "--format", "json").stdout)
    assert report["wouldSend"][0]["requests"] == 2
    assert product.requests == []


def test_redacted_reviews_alone_are_an_error(product: Product) -> None:
    capture(pod(name="agreed"), redacted=True)
    done = run("--against", product.configuration(), "--yes")
    assert product.requests == []
    assert "no reviews to compare in capture.jsonl; all are redacted" in str(done.exception)


def test_a_limit_chooses_reviews_evenly(product: Product) -> None:
    capture(*(pod(name=f"n{number}", labels={"team": "a"}) for number in range(10)))
    done = run("--against", product.configuration(), "--yes", "--limit", "4", "--connections", "1")
    assert done.stderr == "4 reviews compared, 6 left out by --limit: 0 not equal\n"
    names = [sent["object"]["metadata"]["name"] for _, sent in product.requests]
    assert names == ["n0", "n3", "n6", "n9"]


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


def test_the_rules_of_the_configuration_decide_what_is_sent(product: Product) -> None:
    selector = {"matchExpressions": [{"key": "env", "operator": "Exists"}]}
    capture(pod(name="agreed"))
    against = product.configuration(namespaceSelector=selector)
    assert outcomes("--against", against) == {"agreed": ("stricter", "teams/team")}
    assert product.requests == []
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    namespace["metadata"] = {"name": "shop", "labels": {"env": "prod"}}
    Path("policies/shop.json").write_text(json.dumps(namespace))
    assert outcomes("--against", against) == {}
    assert len(product.requests) == 1


UNKNOWN: list[tuple[JSONObject, str]] = [
    ({"sideEffects": "Some"}, "does not support dry run"),
    (
        {
            "matchConditions": [
                {"name": "a", "expression": "authorizer.path('/x').check('get').allowed()"}
            ]
        },
        "checks permissions of the user",
    ),
    ({"rules": [{**EVERYTHING, "apiVersions": ["v2"]}]}, ""),
]


@pytest.mark.parametrize(("fields", "reason"), UNKNOWN, ids=["effects", "authorizer", "no rule"])
def test_a_webhook_that_cannot_be_asked_is_unknown(
    product: Product, fields: JSONObject, reason: str
) -> None:
    capture(pod(name="looser", labels={"team": "a"}))
    done = run("--against", product.configuration(**fields), "--yes", "--format", "json")
    results = json.loads(done.stdout)["results"]
    assert [each["outcome"] for each in results] == ["unknown"] * bool(reason)
    assert all(reason in each["other"] for each in results)
    assert (done.exit_code, product.requests) == (0, [])


def test_an_object_in_another_version_is_not_sent(product: Product) -> None:
    review = build_review(pod(name="x"))
    review["request"]["requestResource"] = {"group": "", "version": "v2", "resource": "pods"}
    Path("capture.jsonl").write_text(json.dumps(review))
    rules = [{**EVERYTHING, "apiVersions": ["v2"]}]
    done = run("--against", product.configuration(rules=rules), "--yes")
    assert "sees the object in v2, which was not recorded" in done.stdout
    assert product.requests == []


def test_a_failure_to_answer_is_not_equal(product: Product) -> None:
    def answers(path: str, request: JSONObject) -> JSONObject:
        return {"uid": "other"} if request["object"]["metadata"]["name"] == "lost" else {}

    product.answers = answers
    labels = {"team": "a"}
    capture(pod(name="fine", labels=labels), pod(name="lost", labels=labels))
    assert outcomes("--against", product.configuration()) == {"lost": ("no answer", "/")}


def test_a_product_that_never_answers_is_an_error(product: Product) -> None:
    product.answers = lambda path, request: {"uid": "other"}
    capture(*(pod(name=f"n{number}") for number in range(10)))
    done = run("--against", product.configuration(), "--yes", "--connections", "1")
    why = "validate.kyverno.svc: the answer to another request"
    assert str(done.exception) == f"the other product does not answer: {why}"


def test_answers_have_a_largest_size(product: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("policyd.benchmark.client.MAX_RESPONSE_BYTES", 2**20)
    product.answers = lambda path, request: {"warnings": ["x" * 2**20]}
    capture(pod(name="agreed"))
    done = run("--against", product.configuration(), "--yes")
    assert "a response of more than 1 MiB" in str(done.exception)


def test_a_url_is_a_validating_webhook_of_everything(product: Product) -> None:
    capture(pod(name="another"))
    url = f"https://127.0.0.1:{product.port}/v1/admit"
    found = outcomes("--against", url, "--ca-file", "tls.crt")
    assert found == {"another": ("other message", "teams/team")}
    assert [path for path, _ in product.requests] == ["/v1/admit"]
    done = run("--against", url, "--yes")
    assert "self-signed certificate" in str(done.exception)


def test_a_service_is_reached_through_the_api_server(product: Product, tmp_path: Path) -> None:
    capture(pod(name="agreed"))
    service = {"namespace": "kyverno", "name": "kyverno-svc", "path": "/validate/fail"}

    def answer(call: Call) -> Reply:
        request = call.body["request"]
        response = {"uid": request["uid"], **said("no team")}
        return Reply({**call.body, "response": response})

    against = product.configuration(clientConfig={"service": service})
    with api_server(tmp_path, answer) as api:
        config = str(api.kubeconfig())
        done = run("--against", against, "--yes", "--kubeconfig", config)
        assert (done.exit_code, done.stderr) == (0, "1 review compared: 0 not equal\n")
        (call,) = api.calls
        path = "/api/v1/namespaces/kyverno/services/https:kyverno-svc:443/proxy/validate/fail"
        assert (call.method, call.path) == ("POST", path)
        api.answer = lambda call: Reply({"message": "no endpoints available"}, 503)
        done = run("--against", against, "--yes", "--kubeconfig", config)
        assert "the API server answered 503: no endpoints available" in str(done.exception)


BAD = [
    (["--against", "nowhere"], "--against: expected a file of webhook configurations, a URL"),
    (["--against", "policies"], "no webhook configurations in policies"),
    (["--against", "validate.json", "--ca-file", "tls.crt"], "--ca-file requires a URL"),
    (["--against", "-", "--captures", "-"], "cannot both be standard input"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[row[1][:20] for row in BAD])
def test_bad_input(product: Product, arguments: list[str], message: str) -> None:
    product.configuration()
    capture(pod(name="agreed"))
    done = run(*arguments)
    assert done.exit_code != 0
    assert message in f"{done.stderr} {done.exception}"


def test_a_line_that_is_no_review_has_its_place(product: Product) -> None:
    Path("capture.jsonl").write_text("{}\n")
    done = run("--against", product.configuration())
    assert str(done.exception).startswith("capture.jsonl:1: expected an AdmissionReview")
