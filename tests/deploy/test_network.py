"""How the Pods of the chart are reached: ports, the network of nodes, spread, and `helm test`."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from policyd.json_types import JSONObject
from tests.deploy.rendering import CHART, chart, container, flags, named, pods_of_the_test, refused
from tests.server.serve import DENY, serving, write_policy
from tests.tokens.issuing import ISSUER, SigningKey, key_set


def server_pod(objects: list[JSONObject]) -> dict[str, Any]:
    spec: dict[str, Any] = named(objects, "Deployment")["spec"]["template"]["spec"]
    return spec


def test_without_values_pods_have_a_network_of_their_own() -> None:
    made = chart()
    assert not {"hostNetwork", "dnsPolicy"} & server_pod(made).keys()
    strategy = named(made, "Deployment")["spec"]["strategy"]["rollingUpdate"]
    assert strategy == {"maxUnavailable": 0, "maxSurge": 1}


def test_pods_on_the_network_of_nodes_resolve_services_and_wait_for_a_free_port() -> None:
    made = chart("hostNetwork=true", "ports.webhook=18443", "ports.admin=18080")
    assert (server_pod(made)["hostNetwork"], server_pod(made)["dnsPolicy"]) == (
        True,
        "ClusterFirstWithHostNet",
    )
    strategy = named(made, "Deployment")["spec"]["strategy"]["rollingUpdate"]
    assert strategy == {"maxUnavailable": 1, "maxSurge": 0}


def test_ports_are_those_that_policyd_binds() -> None:
    made = chart("ports.webhook=18443", "ports.admin=18080")
    assert (flags(made)["bind"], flags(made)["admin-bind"]) == ("0.0.0.0:18443", "0.0.0.0:18080")
    assert {each["name"]: each["containerPort"] for each in container(made)["ports"]} == {
        "webhook": 18443,
        "admin": 18080,
    }
    # What connects names the port.
    service = {each["port"]: each["targetPort"] for each in named(made, "Service")["spec"]["ports"]}
    assert service == {443: "webhook", 8080: "admin"}
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        assert container(made)[probe]["httpGet"]["port"] == "admin"


def test_the_dns_policy_that_is_set_is_used() -> None:
    assert server_pod(chart("hostNetwork=true", "dnsPolicy=Default"))["dnsPolicy"] == "Default"
    assert server_pod(chart("dnsPolicy=Default"))["dnsPolicy"] == "Default"


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("dnsPolicy=None", "value must be one of '', 'ClusterFirst'"),
        ("ports.webhook=443", "minimum: got 443, want 1,024"),
        ("hostNetwork=yes", "got string, want boolean"),
        ("topologySpreadConstraints[0].maxSkew=1", "missing properties 'topologyKey'"),
    ],
)
def test_what_is_refused(value: str, complaint: str) -> None:
    assert complaint in refused(value)


def test_constraints_replace_the_spread_and_select_the_pods() -> None:
    own = "topologySpreadConstraints[1].labelSelector.matchLabels.a=b"
    each = [
        part
        for index in (0, 1)
        for part in (
            f"topologySpreadConstraints[{index}].maxSkew=1",
            f"topologySpreadConstraints[{index}].topologyKey=zone-{index}",
            f"topologySpreadConstraints[{index}].whenUnsatisfiable=DoNotSchedule",
        )
    ]
    made = chart(*each, own)
    first, second = server_pod(made)["topologySpreadConstraints"]
    assert (first["topologyKey"], second["topologyKey"]) == ("zone-0", "zone-1")
    selector = named(made, "Deployment")["spec"]["selector"]
    assert first["labelSelector"] == selector
    assert second["labelSelector"]["matchLabels"]["a"] == "b"


def test_the_test_is_a_pod_that_no_service_selects() -> None:
    made = chart("networkPolicy.apiServerCIDRs={10.0.0.1/32}", "image.digest=sha256:" + "0" * 64)
    (test,) = pods_of_the_test("image.digest=sha256:" + "0" * 64, release="policyd")
    labels = test["metadata"]["labels"]
    assert labels["app.kubernetes.io/name"] == "policyd-test"
    assert test["metadata"]["annotations"]["helm.sh/hook"] == "test"
    (inside,) = test["spec"]["containers"]
    assert inside["image"] == container(made)["image"]
    assert inside["securityContext"] == container(made)["securityContext"]
    reviews = named(made, "NetworkPolicy")["spec"]["ingress"][0]
    allowed = [
        each["podSelector"]["matchLabels"] for each in reviews["from"] if "podSelector" in each
    ]
    assert allowed and all(each.items() <= labels.items() for each in allowed)


@pytest.mark.parametrize(
    ("release", "variable"),
    [("policyd", "POLICYD_SERVICE_HOST"), ("my.gate", "MY_GATE_POLICYD_SERVICE_HOST")],
)
def test_the_test_finds_the_service_without_dns(release: str, variable: str) -> None:
    (test,) = pods_of_the_test(release=release)
    (inside,) = test["spec"]["containers"]
    assert inside["args"] == [
        (CHART / "files/answers.py").read_text(),
        f"https://$({variable}):443/validate",
    ]


def tried(url: str) -> "subprocess.CompletedProcess[str]":
    program = (CHART / "files/answers.py").read_text()
    return subprocess.run(
        [sys.executable, "-c", program, url], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("plain", "policyd answers: allowed is True"),
        ("token", "policyd wants a token of the API server"),
    ],
)
def test_the_program_of_the_test_knows_every_answer(
    tmp_path: Path, kind: str, expected: str
) -> None:
    (tmp_path / "keys.json").write_bytes(key_set(SigningKey().published()))
    token = ("--require-api-server-token", f"--token-issuer={ISSUER}", "--namespace=policyd")
    more = {"plain": (), "token": (*token, f"--token-keys={tmp_path / 'keys.json'}")}
    policies = tmp_path / "policies"
    write_policy(policies, "deny", DENY)
    with serving(tmp_path, policies, *more[kind]) as server:
        done = tried(f"https://127.0.0.1:{server.port}/validate")
    assert (done.returncode, done.stdout.strip()) == (0, expected), done.stderr


def test_the_program_of_the_test_fails_without_an_answer() -> None:
    done = tried("https://127.0.0.1:1/validate")
    assert done.returncode == 1
    assert "Connection refused" in done.stderr
