"""Checks with a TLS handshake in memory whether clients that trust a bundle accept a certificate.

OpenSSL decides, as in a client: signatures, names, usages. Needs neither sockets nor the time.
"""

import ssl
from functools import lru_cache

from policyd.tls.pem import KeyPair, certificates_in, load_pair

# X509_V_FLAG_NO_CHECK_TIME of OpenSSL: expiry is checked by the caller, with its own clock.
_NO_CHECK_TIME = 0x200000


@lru_cache(maxsize=32)
def refusal(bundle: bytes, pair: KeyPair, names: tuple[str, ...]) -> str:
    """Why a client that trusts ``bundle`` (PEM) refuses ``pair`` under one of ``names``, or under
    any if there are none; empty if it does not. Dates are not compared.
    """
    try:
        server = _server(pair)
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.load_verify_locations(cadata=b"".join(certificates_in(bundle)))
        client.verify_flags |= ssl.VerifyFlags(_NO_CHECK_TIME)
        client.check_hostname = bool(names)
        for name in names or ("",):
            _shake(server, client, name)
    except (OSError, ValueError) as error:
        return getattr(error, "verify_message", "") or str(error)
    return ""


def belong(pair: KeyPair) -> bool:
    """Whether the key belongs to the certificate."""
    try:
        _server(pair)
    except (OSError, ValueError):
        return False
    return True


def _server(pair: KeyPair) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_pair(context, pair)
    return context


def _shake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> None:
    """Perform the handshake; raises SSLError like the client."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(back, there, server_hostname=name or None)
    serving = server.wrap_bio(there, back, server_side=True)
    waiting = {asking, serving}
    while waiting:
        for each in tuple(waiting):
            try:
                each.do_handshake()
                waiting.discard(each)
            except ssl.SSLWantReadError:
                continue
