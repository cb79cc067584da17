"""``policyd serve`` logs the webhooks of others that block the cluster it starts in."""

from pathlib import Path

from tests.cluster.contents import Contents
from tests.cluster.fake import Call, Reply, api_server, refusal
from tests.leftovers.installed import VALIDATING, webhook
from tests.server.process import Process, until
from tests.server.serve import command, write_policy

SPEC = 'validations: [{expression: "true", message: never}]'


def test_it_needs_no_permission_for_services_where_the_namespace_is_gone(tmp_path: Path) -> None:
    contents = Contents()
    contents.add("/api/v1/namespaces", "there")
    for name, service, policy in (
        ("policyd", "gone/policyd", "Fail"),  # its own
        ("blocks", "gone/svc", "Fail"),
        ("ignored", "gone/svc", "Ignore"),
        ("unknown", "there/svc", "Fail"),
    ):
        contents.add(VALIDATING, name, webhooks=[webhook("a", service, policy)])

    def answer(call: Call) -> Reply:
        return refusal(403, "no") if "/services/" in call.path else contents.answer(call)

    policies = write_policy(tmp_path / "policies", "any", SPEC).parent
    with api_server(tmp_path, answer) as cluster:
        cluster.hides_webhooks = False
        arguments = command(policies, "--kubeconfig", str(cluster.kubeconfig()))
        with Process(arguments, tmp_path / "server.log") as server:
            (line,) = until(lambda: server.lines("leftover"), "the line")
            assert server.terminate() == 0
    assert line["level"] == "warning"
    assert line["message"].startswith(
        "validatingwebhookconfigurations/blocks: the Service gone/svc does not exist, nor does its "
        "namespace, and failurePolicy Fail denies requests that its webhooks match: CREATE/UPDATE pods"
    )
    assert line["hint"].endswith("kubectl delete validatingwebhookconfigurations blocks")
    assert not server.lines("defect")
