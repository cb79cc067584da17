"""Certificates of cert-manager: a renewal under load loses nothing, of the leaf and of the authority.

cert-manager's controllers and its cainjector run in one process, outside of the cluster.
"""

import json
import re
import time
from collections.abc import Iterator

import pytest

from tests.node.installation import NAMESPACE, Installation, Values, ensure, static
from tests.node.load import Load
from tests.node.machine import Node, until
from tests.node.report import Report

GATE = "FEATURE_GATES=CAInjectorMerging"


@pytest.fixture(scope="module", params=["true", "false"], ids=["merging", "replacing"])
def cert_manager(node: Node, request: pytest.FixtureRequest) -> Iterator[str]:
    """cert-manager, whose cainjector adds to caBundle, or replaces it as before version 1.19."""
    node.kubectl("apply", "--server-side", "-f", str(node.programs / "cert-manager-crds"))
    node.kubectl("wait", "--for=condition=Established", "crd", "--all")
    with (node.folder / "log/cert-manager.log").open("w") as log:
        child = node.start_process(["env", f"{GATE}={request.param}", "cert-manager"], log=log)
    yield "merging" if request.param == "true" else "replacing"
    child.terminate()
    child.wait(60)


@pytest.fixture
def policyd(node: Node, report: Report, cert_manager: str) -> Installation:
    return ensure(node, report, values(node), "cert-manager")


def values(node: Node) -> Values:
    """The profile without rights, with a certificate of cert-manager."""
    base = static(node)
    return {
        **base,
        "static": {**base["static"], "caBundle": ""},
        "certificates": {"secretName": "policyd-issued"},
        "certManager": {"enabled": True},
    }


def renew(policyd: Installation, certificate: str) -> None:
    """As ``cmctl renew`` does it."""
    condition = {
        "type": "Issuing",
        "status": "True",
        "reason": "ManuallyTriggered",
        "message": "renewed by a test",
        "lastTransitionTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    patch = {"status": {"conditions": [condition]}}
    policyd.kubectl(
        "patch",
        "certificate",
        certificate,
        "--subresource=status",
        "--type=merge",
        "-p",
        json.dumps(patch),
    )


def secret(policyd: Installation, name: str) -> str:
    found = policyd.node.get("secret", name, "-n", NAMESPACE)
    return str(found["data"]["tls.crt"])


def expiries(policyd: Installation) -> dict[str, str]:
    """When the certificate that each replica serves ends."""
    metric = re.compile(r"^policyd_certificate_expiry_timestamp_seconds(?:\{.*\})? (.*)$", re.M)
    found = {}
    for name in policyd.names():
        match = metric.search(policyd.page(name, "/metrics"))
        assert match
        found[name] = match[1]
    return found


def test_renewal_under_load(policyd: Installation, report: Report, cert_manager: str) -> None:
    with Load(policyd.node, 20) as load:
        for name, stored in (
            ("policyd", "policyd-issued"),
            ("policyd-ca", "policyd-ca"),
            ("policyd", "policyd-issued"),
        ):
            before, served = secret(policyd, stored), expiries(policyd)
            renew(policyd, name)
            until(lambda: secret(policyd, stored) != before, f"the new Secret {stored}")  # noqa: B023
            if name == "policyd":
                # The kubelet would take a minute to write the Secret into the Pods.
                policyd.kubectl(
                    "annotate", "pods", "--all", "--overwrite", f"renewed={time.time()}"
                )
                until(
                    lambda: not {*expiries(policyd).items()} & {*served.items()},  # noqa: B023
                    "the new certificate in every replica",
                    120,
                )
    report.disruption(f"cert-manager ({cert_manager}), three renewals", 20, load.outcome)
