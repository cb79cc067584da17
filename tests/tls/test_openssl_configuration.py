"""The OpenSSL configuration of the image: which curves a server agrees to."""

import socket
import ssl
from contextlib import closing
from pathlib import Path

import pytest

from tests.server.process import Process, trusting
from tests.server.serve import DENY, serving, write_policy
from tests.shared import ROOT

LISTED = ("X25519", "prime256v1", "secp384r1")


def agrees(server: Process, curve: str) -> bool:
    """Whether the server shakes hands with a client that has no other curve. By TLS 1.3: in TLS 1.2
    the curve of the certificate counts, too.
    """
    context = trusting()
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_ecdh_curve(curve)
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=300)) as raw:
        try:
            context.wrap_socket(raw).close()
        except ssl.SSLError:  # the server closes
            return False
    return True


@pytest.mark.parametrize("configured", [True, False])
def test_the_image_agrees_to_listed_curves_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, configured: bool
) -> None:
    monkeypatch.delenv("OPENSSL_CONF", raising=False)
    if configured:
        monkeypatch.setenv("OPENSSL_CONF", str(ROOT / "deploy" / "openssl.cnf"))
    policies = write_policy(tmp_path / "policies", "p", DENY).parent
    with serving(tmp_path, policies) as server:
        assert [agrees(server, curve) for curve in LISTED] == [True] * len(LISTED)
        assert agrees(server, "secp521r1") is not configured
