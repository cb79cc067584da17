"""TLS handshakes: contexts that can be replaced under a listener, and why clients were refused.

A listener always uses the same ``SwitchableContext``, which passes each new connection to the
current ``Context``. A new certificate or CA means a new context with its own tickets, sessions and
CAs, because an SSLContext cannot forget a CA.
"""

import ssl
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, Literal, Self, get_args

# TLS 1.2 suites with forward secrecy and authenticated encryption; TLS 1.3 has no others.
CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"

Refusal = Literal[
    "no_certificate",  # the client presented none
    "expired",  # or not valid yet
    "unknown_authority",  # not issued by a CA in use
    "purpose",  # not a client certificate
    "bad_certificate",  # another problem with the client's certificate
    "name",  # valid, but without a name of --client-name
    "server_certificate",  # the client refused ours
    "protocol",  # no TLS, or no common version
]
REFUSALS: tuple[Refusal, ...] = get_args(Refusal)

# X509_V_ERR_... in x509_vfy.h of OpenSSL.
_NOT_YET_VALID, _EXPIRED, _UNTRUSTED_PURPOSE = 9, 10, 26
_NO_ISSUER = (2, 18, 19, 20, 21, 27)

# The alerts with which a client refuses the server certificate (RFC 8446, 6.2).
_OF_OURS = (
    "BAD_CERTIFICATE",
    "UNSUPPORTED_CERTIFICATE",
    "CERTIFICATE_REVOKED",
    "CERTIFICATE_EXPIRED",
    "CERTIFICATE_UNKNOWN",
    "UNKNOWN_CA",
)
# These errors mean that the client disconnected during the handshake: no client was refused.
_LEFT = (ssl.SSLWantReadError, ssl.SSLWantWriteError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


class ClientRefused(ssl.SSLCertVerificationError):
    """The client certificate is valid, but policyd does not accept it."""

    def __init__(self, refusal: Refusal, message: str) -> None:
        super().__init__(1, message)
        self.refusal = refusal


class SwitchableContext(ssl.SSLContext):
    """The context of the listener. ``current`` is the context of new connections."""

    current: "Context"

    def __new__(cls) -> Self:
        """Create the context without a certificate: no handshake uses it."""
        return super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)

    def wrap_bio(self, *arguments: Any, **named: Any) -> ssl.SSLObject:
        """Start a handshake; event loops call this."""
        return self.current.wrap_bio(*arguments, **named)


class Context(ssl.SSLContext):
    """A context that never changes once it is in use.

    ``authorities`` are hashes of the CA certificates that verify clients; empty if clients need no
    certificate. ``trusts`` returns whether such a hash is currently in use. ``names``: a client
    certificate needs one of them; empty if it needs none.
    """

    authorities: frozenset[bytes]
    names: tuple[str, ...]
    trusts: Callable[[bytes], bool]
    refused: Callable[[Refusal, str], None]

    def __new__(
        cls,
        http2: bool,
        trusts: Callable[[bytes], bool] = lambda _: True,
        refused: Callable[[Refusal, str], None] = lambda *_: None,
        names: tuple[str, ...] = (),
    ) -> Self:
        """Create a context with policyd's protocols and ciphers, without a certificate."""
        context = super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(CIPHERS)
        context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
        # Prefer HTTP/1.1: an API server would use a single HTTP/2 connection, which Hypercorn does
        # not close when the server stops.
        context.set_alpn_protocols(["http/1.1", "h2"] if http2 else ["http/1.1"])
        context.sslobject_class = Handshake
        context.authorities = frozenset()
        context.trusts = trusts
        context.refused = refused
        context.names = names
        return context

    def require_clients(self, authorities: Sequence[bytes]) -> None:
        """Refuse clients without a certificate of these CAs (DER). Raises SSLError."""
        self.load_verify_locations(cadata=b"".join(authorities))
        self.verify_mode = ssl.CERT_REQUIRED
        self.authorities = frozenset(map(_hash, authorities))
        # A ticket would admit a client whose certificate has expired since.
        self.options |= ssl.OP_NO_TICKET
        self.num_tickets = 0


class Handshake(ssl.SSLObject):
    """The TLS of one connection. ``authority`` is the hash of the CA that verified the client
    certificate; None without a client certificate, and for a resumed TLS 1.2 session, which has no
    chain.
    """

    authority: bytes | None = None

    def do_handshake(self) -> None:
        """Continue the handshake; report the error if it fails."""
        context = self.context
        assert isinstance(context, Context)
        try:
            super().do_handshake()
            if context.authorities:
                chain = _verified_chain(self)
                self.authority = _hash(chain[-1]) if chain else None
                if not is_trusted(self):
                    raise ClientRefused(
                        "unknown_authority", "the CA of the client certificate was removed"
                    )
            if context.names and not has_name(self.getpeercert(), context.names):
                raise ClientRefused("name", "the client certificate has no name of --client-name")
        except _LEFT:
            raise
        except ssl.SSLError as error:
            context.refused(*_refusal(error))
            raise


def is_trusted(connection: ssl.SSLObject | None) -> bool:
    """Whether the current CAs would still accept the client."""
    if not isinstance(connection, Handshake):
        return True
    context = connection.context
    assert isinstance(context, Context)
    if not context.authorities:
        return True
    if (
        connection.authority is None
    ):  # a resumed session: any CA of its context may have verified it
        return all(map(context.trusts, context.authorities))
    return context.trusts(connection.authority)


def has_name(certificate: dict[str, Any] | None, names: Sequence[str]) -> bool:
    """Whether a verified client certificate (``getpeercert``) has one of ``names``."""
    if not certificate:
        return False
    present = {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}
    for part in certificate.get("subject", ()):
        present.update(value for kind, value in part if kind == "commonName")
    return not present.isdisjoint(names)


def _hash(certificate: bytes) -> bytes:
    return sha256(certificate).digest()


def _verified_chain(connection: ssl.SSLObject) -> list[bytes]:
    """The verified chain as DER; the CA is last. Public API from Python 3.13 on."""
    if hasattr(connection, "get_verified_chain"):
        return list(connection.get_verified_chain())
    inner: Any = connection._sslobj  # type: ignore[attr-defined]
    return [each.public_bytes(_DER) for each in inner.get_verified_chain() or ()]


_DER = 2  # _ssl.ENCODING_DER


def _refusal(error: ssl.SSLError) -> tuple[Refusal, str]:
    """Why a handshake failed: the reason and a message."""
    if isinstance(error, ClientRefused):
        return error.refusal, str(error.strerror)
    reason = str(error.reason or "")
    if isinstance(error, ssl.SSLCertVerificationError):
        code, message = error.verify_code, str(error.verify_message)
        if code in (_EXPIRED, _NOT_YET_VALID):
            return "expired", message
        if code in _NO_ISSUER:
            return "unknown_authority", message
        return ("purpose" if code == _UNTRUSTED_PURPOSE else "bad_certificate"), message
    if reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE":
        return "no_certificate", "the client presented no certificate"
    if "ALERT" in reason and reason.endswith(_OF_OURS):
        return "server_certificate", f"the client refused the serving certificate: {reason}"
    return "protocol", reason or str(error)
