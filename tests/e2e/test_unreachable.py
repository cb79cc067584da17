"""What the API server says if it cannot call a webhook: the texts of docs/reference/messages.md."""

import base64
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.builders.objects import config_map
from tests.builders.policies import PODS, policy
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster, certificates
from tests.e2e.webhook import configuration, serving, write
from tests.server.process import Process, until
from tests.shared import ROOT

PAGE = ROOT / "docs" / "reference" / "messages.md"
BEGINS = "Internal error occurred: failed calling webhook "
ENDED = ("EOF", "connection reset by peer", "use of closed network connection")
TITLE = "## kubectl: the webhook cannot be called\n"


@pytest.fixture
def policyd(api: Cluster, tmp_path: Path) -> Iterator[Process]:
    source = write(tmp_path / "policies", [policy("none", PODS, validations=[])])
    # Also on 127.0.0.2, an address that its certificate does not name.
    with serving(api, [source], tmp_path / "log", bind="0.0.0.0:0") as server:
        yield server


@contextmanager
def socket_that(listens: bool) -> Iterator[int]:
    """A port that accepts connections and says nothing, or refuses them."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        if listens:
            bound.listen()
        yield bound.getsockname()[1]


def refusal(api: Cluster, client: Client, namespace: str, **to: str) -> str:
    """The message for a request in the namespace, once its webhook is called."""
    made = configuration("validate", api, 0, namespace, timeoutSeconds=1)
    made["webhooks"][0]["clientConfig"] |= to
    client.made(made)
    probe = config_map("probe", namespace)
    try:
        until(lambda: client.create(probe, dryRun="All").status != 201, "the webhook being called")
        answer = client.create(probe, dryRun="All")
    finally:
        client.deleted(made)
    assert answer.message.startswith(BEGINS)
    return answer.message


def check(message: str, text: str) -> None:
    """Check that the message has the text, and the page too."""
    rows = PAGE.read_text(encoding="utf-8").partition(TITLE)[2].partition("\n## ")[0]
    assert f"`{text}`" in rows
    pattern = ".+".join(re.escape(each) for each in text.split("…"))
    assert re.search(pattern, message), message


@pytest.mark.parametrize(
    ("listens", "text"),
    [(False, "connect: connection refused"), (True, "context deadline exceeded")],
)
def test_nobody_answers(
    listens: bool, text: str, api: Cluster, client: Client, namespace: str
) -> None:
    with socket_that(listens) as port:
        check(refusal(api, client, namespace, url=f"https://127.0.0.1:{port}/validate"), text)


def test_another_authority(
    api: Cluster, client: Client, namespace: str, policyd: Process, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    certificates(tmp_path / "other")
    bundle = base64.b64encode((tmp_path / "other/ca.crt").read_bytes()).decode()
    url = f"https://127.0.0.1:{policyd.port}/validate"
    check(
        refusal(api, client, namespace, url=url, caBundle=bundle),
        "tls: failed to verify certificate: x509: certificate signed by unknown authority",
    )


def test_another_name(api: Cluster, client: Client, namespace: str, policyd: Process) -> None:
    message = refusal(api, client, namespace, url=f"https://127.0.0.2:{policyd.port}/validate")
    name = "x509: certificate is valid for …, not policyd.policyd.svc"
    check(message.replace("not 127.0.0.2", "not policyd.policyd.svc"), name)


def test_the_admin_port(api: Cluster, client: Client, namespace: str, policyd: Process) -> None:
    message = refusal(
        api, client, namespace, url=f"https://127.0.0.1:{policyd.admin_port}/validate"
    )
    check(message, "http: server gave HTTP response to HTTPS client")


def test_no_certificate_of_the_api_server(
    api: Cluster, client: Client, namespace: str, tmp_path: Path
) -> None:
    source = write(tmp_path / "policies", [policy("none", PODS, validations=[])])
    authority = str(api.folder / "ca.crt")
    with serving(api, [source], tmp_path / "log", client_ca=authority) as server:
        message = refusal(api, client, namespace, url=f"https://127.0.0.1:{server.port}/validate")
        (line,) = until(lambda: server.lines("refused"), "the line about the refusal")
    assert line["reason"] == "no_certificate"
    # In TLS 1.3 the client has finished its handshake before it is refused: it depends on the moment
    # at which call of the client the connection has ended.
    (text,) = (each for each in ENDED if each in message)
    check(message, text)


def test_another_path(api: Cluster, client: Client, namespace: str, policyd: Process) -> None:
    message = refusal(api, client, namespace, url=f"https://127.0.0.1:{policyd.port}/validat")
    check(message, "the server could not find the requested resource")
