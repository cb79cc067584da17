"""The API server is away, slow, or lies: answers come in time, and nothing else is hurt."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from policyd.json_types import JSON, JSONObject
from tests.builders.reviews import body
from tests.cluster.lies import LIES, hang, lying
from tests.faults.asking import Asked, ask
from tests.server.process import Process, until
from tests.server.serve import DENY, serving, write_policy

ASKING = "validations: [{expression: \"authorizer.group('').resource('secrets').check('get').allowed()\"}]"
TIMEOUT = 2.0
KINDS = (
    "hang",
    "endless body",
    "drip",
    "500",
    "another kind",
    "wrong types",
    "very deep",
    "gzip bomb",
    "hung up",
    "no HTTP",
)
GROWTH = 64 * 2**20


@contextmanager
def asking(folder: Path, kubeconfig: Path, failure: str) -> Iterator[Process]:
    """A server with a policy that asks the cluster and one that does not."""
    write_policy(folder / "policies", "asks", ASKING, failure)
    policies = write_policy(folder / "policies", "plain", DENY).parent
    with serving(folder, policies, "--kubeconfig", str(kubeconfig)) as server:
        yield server


def in_time(server: Process, **fields: JSON) -> Asked:
    asked = ask(server, f"/validate?timeout={TIMEOUT}s", body(**fields))
    assert asked.took < TIMEOUT
    return asked


@pytest.mark.parametrize("failure", ["Fail", "Ignore"])
def test_whatever_an_api_server_sends_the_failure_policy_decides_in_time(
    tmp_path: Path, failure: str
) -> None:
    """One server sees all of it, one after the other."""
    with lying(LIES["500"]) as liar, asking(tmp_path, liar.kubeconfig(tmp_path), failure) as server:
        start = server.resident()
        for name in KINDS:
            liar.lie = LIES[name]
            asked = in_time(server)
            assert asked.response["allowed"] is (failure == "Ignore"), name
            if failure == "Fail":
                assert "policy 'asks' denied request" in asked.message
            held: JSONObject = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"forbidden": "x"}}
            denied = in_time(server, object=held)
            assert "policy 'plain' denied request: no TEXT" in denied.message
        assert server.get("/readyz") == (200, "ok")
        assert server.resident("VmHWM") - start < GROWTH
        assert not server.lines("defect")
        lookups = 'policyd_cluster_lookups_total{question="authorizer",result="%s"}'
        assert sum(server.metric(lookups % each) for each in ("error", "timeout")) >= len(KINDS)


def test_the_name_of_the_api_server_cannot_be_resolved(tmp_path: Path) -> None:
    """No DNS: the start does not wait for it, and answers come in time."""
    with lying(hang) as liar:
        file = liar.kubeconfig(tmp_path)
        file.write_text(file.read_text().replace("127.0.0.1:", "no-such-host.invalid:"))
        with asking(tmp_path, file, "Fail") as server:
            assert "policy 'asks' denied request: " in in_time(server).message
            assert server.get("/livez") == (200, "ok")
            said = until(
                lambda: [each for each in server.lines("error") if "policy" in each],
                "what the log says",
            )
            assert "the API server cannot be reached" in said[0]["message"]
