"""``policyd compare --cluster``: what the other product only audits, from its reports."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from tests.builders.objects import pod
from tests.builders.policies import EVERYTHING, TEAM
from tests.cli.compare.product import Product, capture, outcomes, run, write
from tests.cluster.contents import SERVED, Contents
from tests.cluster.fake import api_server, refusal

WG = "/apis/wgpolicyk8s.io/v1alpha2/policyreports"
WG_CLUSTER = "/apis/wgpolicyk8s.io/v1alpha2/clusterpolicyreports"
OPEN = "/apis/openreports.io/v1alpha1/reports"
PODS = "/api/v1/pods"
NAMESPACES = "/api/v1/namespaces"
RESULT = {
    "policy": "teams",
    "rule": "autogen-team",
    "source": "kyverno",
    "message": "error: no team.",
}
CREATED = "2026-11-01T00:00:00Z"
LATER = 1793491200 + 3600
UNMANAGED: JSONObject = {"managedFields": []}
REPORTING = {
    **SERVED,
    ("openreports.io", "v1alpha1"): (("reports", "Report", True),),
    ("wgpolicyk8s.io", "v1alpha2"): (
        ("policyreports", "PolicyReport", True),
        ("clusterpolicyreports", "ClusterPolicyReport", False),
    ),
}


@pytest.fixture
def contents(product: Product, monkeypatch: pytest.MonkeyPatch) -> Iterator[Contents]:
    """A cluster beside the other product; the policy only audits."""
    write("teams", "team", validations=[TEAM], validationActions=["Audit"])
    made = Contents(served=REPORTING)
    with api_server(product.folder, made.answer) as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig()))
        yield made


def reviewed(contents: Contents, name: str, stored: JSONObject | None = None) -> None:
    """Capture the update of a Pod, and store it."""
    made = pod(name=name)
    made["metadata"] |= {"uid": f"uid-{name}", "resourceVersion": "1"}
    capture(made)
    fields = {key: value for key, value in made.items() if key != "metadata"} | (stored or {})
    more: JSONObject = {"creationTimestamp": CREATED, "generation": 2, **UNMANAGED}
    contents.add(
        PODS, name, "shop", **{**fields, "metadata": {**more, **fields.get("metadata", {})}}
    )


def reported(
    contents: Contents, path: str, name: str, result: str, namespace: str = "shop", **fields: Any
) -> None:
    """Add a report, whose name is the UID of its object."""
    each = {**RESULT, "result": result, "timestamp": {"seconds": LATER, "nanos": 0}, **fields}
    contents.add(path, f"uid-{name}", namespace, results=[each])


def test_reports_show_what_is_only_audited(product: Product, contents: Contents) -> None:
    for name in ("failed", "passed", "worded", "absent", "erred"):
        reviewed(contents, name)
    reported(contents, WG, "failed", "fail")
    reported(contents, OPEN, "passed", "pass")
    reported(contents, OPEN, "worded", "fail", message="who owns it?")
    reported(contents, WG, "erred", "error")
    unknown = ("unknown", "teams/team")
    given = ("--against", product.configuration())
    assert outcomes(*given, "--cluster") == {
        "passed": ("stricter", "teams/team"),
        "worded": ("other message", "teams/team"),
        "absent": unknown,
        "erred": unknown,
    }
    assert len(outcomes(*given)) == 5


def test_a_request_without_a_name_is_about_the_object_that_was_created(
    product: Product, contents: Contents
) -> None:
    reviewed(contents, "web")
    captured = Path("capture.jsonl")
    review = json.loads(captured.read_text())
    del review["request"]["name"]
    captured.write_text(json.dumps(review))
    reported(contents, WG, "web", "pass")
    done = run("--against", product.configuration(), "--yes", "--cluster", "--format", "json")
    assert [each["outcome"] for each in json.loads(done.stdout)["results"]] == ["stricter"]


def test_only_reports_of_reviewed_objects_are_read(product: Product, contents: Contents) -> None:
    reviewed(contents, "web")
    for name in ("web", "unrelated"):
        reported(contents, WG, name, "fail")
    read: list[str] = []
    contents.special = lambda call: read.append(call.path)
    assert outcomes("--against", product.configuration(), "--cluster") == {}
    assert sorted(each.partition("?")[0] for each in read) == [
        "/api/v1/namespaces/shop/pods/web",
        "/apis/openreports.io/v1alpha1/namespaces/shop/reports/uid-web",
        "/apis/wgpolicyk8s.io/v1alpha2/namespaces/shop/policyreports/uid-web",
    ]


def test_a_namespace_has_a_report_of_the_cluster(product: Product, contents: Contents) -> None:
    typed = {"apiVersion": "v1", "kind": "Namespace"}
    metadata = {"creationTimestamp": CREATED, **UNMANAGED}
    capture(contents.add(NAMESPACES, "shop", metadata=metadata, **typed))
    everything = {"resourceRules": [EVERYTHING]}
    write(
        "teams",
        "team",
        validations=[TEAM],
        validationActions=["Audit"],
        matchConstraints=everything,
    )
    reported(contents, WG_CLUSTER, "shop", "fail", namespace="")
    assert outcomes("--against", product.configuration(), "--cluster") == {}


def test_a_policy_in_cel_has_one_result_whatever_its_rule(
    product: Product, contents: Contents
) -> None:
    write("teams", "", validations=[TEAM], validationActions=["Audit"])
    for name, result in (("exempt", "skip"), ("failed", "fail")):
        reviewed(contents, name)
        rule = {"rule": "exception"} if result == "skip" else {}
        fields = {"source": "KyvernoValidatingPolicy", "rule": "", **rule}
        reported(contents, WG, name, result, **fields)
    found = outcomes("--against", product.configuration(), "--cluster")
    assert found == {"exempt": ("stricter", "teams/")}


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_the_last_report_of_a_policy_counts(
    product: Product, contents: Contents, order: tuple[int, int]
) -> None:
    reviewed(contents, "web")
    for path, hour in zip((OPEN, WG), order, strict=True):
        seconds = {"seconds": LATER + hour}
        reported(contents, path, "web", "fail" if hour == 2 else "pass", timestamp=seconds)
    assert outcomes("--against", product.configuration(), "--cluster") == {}


@pytest.mark.parametrize("policies", [("teams", "shop/teams"), ("shop/teams", "teams")])
def test_policies_of_one_name_have_a_result_each(
    product: Product, contents: Contents, policies: tuple[str, str]
) -> None:
    reviewed(contents, "web")
    for name, result in zip(policies, ("fail", "pass"), strict=True):
        reported(contents, WG, "web", result, policy=name)
    assert outcomes("--against", product.configuration(), "--cluster") == {}


STORED: dict[str, JSONObject] = {
    "another spec": {"spec": {"nodeName": "a"}},
    "other labels": {"metadata": {"labels": {"team": "b"}}},
    "another object of the name": {"metadata": {"uid": "uid-other"}},
    "changed since": {"metadata": {"managedFields": [{"time": "2026-11-02T00:00:00Z"}]}},
}


@pytest.mark.parametrize("stored", STORED.values(), ids=STORED)
def test_a_report_about_another_state_shows_nothing(
    product: Product, contents: Contents, stored: JSONObject
) -> None:
    reviewed(contents, "web", stored)
    reported(contents, WG, "web", "pass")
    found = outcomes("--against", product.configuration(), "--cluster")
    assert found == {"web": ("unknown", "teams/team")}


def test_a_change_of_the_status_is_none_of_the_object(product: Product, contents: Contents) -> None:
    status = [{"time": "2026-11-02T00:00:00Z", "subresource": "status"}]
    reviewed(
        contents, "web", {"status": {"phase": "Running"}, "metadata": {"managedFields": status}}
    )
    reported(contents, WG, "web", "fail")
    assert outcomes("--against", product.configuration(), "--cluster") == {}


@pytest.mark.parametrize(
    ("path", "what"), [(WG, "get policyreports.wgpolicyk8s.io"), (PODS, "get pods")]
)
def test_a_missing_permission_is_named(
    product: Product, contents: Contents, path: str, what: str
) -> None:
    reviewed(contents, "web")
    reported(contents, WG, "web", "fail")
    resource = Path(path).name
    contents.special = lambda call: refusal(403, "no") if f"/{resource}" in call.path else None
    done = run("--against", product.configuration(), "--yes", "--cluster")
    assert isinstance(done.exception, ConfigError)
    assert f"this needs the permission to {what}" in str(done.exception)
