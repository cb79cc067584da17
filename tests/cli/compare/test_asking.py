"""What ``policyd compare`` sends, and where; and what becomes of answers that are none."""

import json
from pathlib import Path

import pytest

from policyd.json_types import JSONObject
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import pod
from tests.builders.policies import EVERYTHING
from tests.cli.compare.product import (
    NOBODY,
    Product,
    capture,
    outcomes,
    run,
    said,
)
from tests.cluster.fake import Call, Reply, api_server


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
    (
        ["--against", "http://a/", "--ca-file", "tls.crt"],
        "--against http://a/: a webhook is called",
    ),
    (["--against", "HTTP://a/"], "is called over https only"),
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
