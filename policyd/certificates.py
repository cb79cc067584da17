"""The serving certificate: the TLS context, its reload from files, self-signed pairs, client names.

Knows nothing of sockets. A changed pair is tried in a scratch context from private copies first: a
mismatched pair would leave the live context unusable, and the files may change between two reads.
"""

import ipaddress
import socket
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from policyd.config import Settings
from policyd.errors import ConfigError

# TLS 1.2 suites with forward secrecy and authenticated encryption; TLS 1.3 has no others.
CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
SELF_SIGNED_DAYS = 365


class Certificates:
    """The context that the listener uses; ``reload`` changes what new connections are shown."""

    def __init__(self, settings: Settings) -> None:
        self._cert, self._key = settings.tls_cert, settings.tls_key
        self._client_ca = settings.client_ca
        self._own = self_signed() if settings.self_signed else None
        self.context = _context(settings.http2)
        self.expires_at = 0.0
        if self._own is None and (self._cert is None or self._key is None):
            raise ConfigError("a certificate is needed: --tls-cert and --tls-key, or --self-signed")
        self.reload()

    @property
    def files(self) -> tuple[Path, ...]:
        """The files whose change calls for a reload."""
        own = () if self._own else (self._cert, self._key)
        return tuple(file for file in (*own, self._client_ca) if file is not None)

    def reload(self) -> None:
        """Read the files and use them for new connections.

        Raises ConfigError for files that cannot be used; the pair in use then stays.
        """
        cert, key = self._own or (_read(self._cert, "certificate"), _read(self._key, "key"))
        authority = _read(self._client_ca, "client CA").decode() if self._client_ca else None
        with TemporaryDirectory(prefix="policyd-") as folder:
            copies = Path(folder, "cert.pem"), Path(folder, "key.pem")
            copies[0].write_bytes(cert)
            copies[1].touch(mode=0o600)
            copies[1].write_bytes(key)
            for context in (_context(http2=False), self.context):
                self._load(context, copies, authority)
        self.expires_at = expiry(cert)

    def _load(
        self, context: ssl.SSLContext, pair: tuple[Path, Path], authority: str | None
    ) -> None:
        try:
            context.load_cert_chain(*pair, password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(f"{self._cert} and {self._key}: not a usable pair: {error}") from None
        if authority is None:
            return
        try:
            # Adds to the authorities in use: one that was taken out is gone after a restart.
            context.load_verify_locations(cadata=authority)
        except ssl.SSLError as error:
            raise ConfigError(f"{self._client_ca}: not a certificate authority: {error}") from None
        context.verify_mode = ssl.CERT_REQUIRED


def _no_password() -> str:
    raise ValueError("the key is encrypted; policyd has nobody to ask for its password")


def _context(http2: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["h2", "http/1.1"] if http2 else ["http/1.1"])
    return context


def _read(file: Path | None, what: str) -> bytes:
    assert file is not None
    try:
        return file.read_bytes()
    except OSError as error:
        raise ConfigError(f"{what} {file}: {error.strerror}") from None


def expiry(cert: bytes) -> float:
    """When the first certificate of a PEM chain ends, as Unix time.

    Read straight from the DER (RFC 5280, 4.1): a server has no other use for ``cryptography``,
    which takes a tenth of its memory. OpenSSL has accepted the certificate before.
    """
    text = cert.decode("ascii", "replace")
    start, end = text.index(ssl.PEM_HEADER), text.index(ssl.PEM_FOOTER) + len(ssl.PEM_FOOTER)
    der = ssl.PEM_cert_to_DER_cert(text[start:end])
    (_, certificate), *_ = _elements(der)
    (_, to_be_signed), *_ = _elements(certificate)
    fields = [field for field in _elements(to_be_signed) if field[0] != _VERSION]
    _, (tag, not_after) = _elements(fields[3][1])  # serial, algorithm, issuer, validity
    form = "%y%m%d%H%M%SZ" if tag == _UTC_TIME else "%Y%m%d%H%M%SZ"
    return datetime.strptime(not_after.decode(), form).replace(tzinfo=UTC).timestamp()


_VERSION, _UTC_TIME = 0xA0, 0x17


def _elements(der: bytes) -> list[tuple[int, bytes]]:
    """The DER elements that stand side by side, as (tag, content)."""
    found = []
    while der:
        length, start = der[1], 2
        if length & 0x80:  # the length itself has this many bytes
            start += length & 0x7F
            length = int.from_bytes(der[2:start], "big")
        found.append((der[0], der[start : start + length]))
        der = der[start + length :]
    return found


def self_signed(names: Sequence[str] = ("localhost", "127.0.0.1", "::1")) -> tuple[bytes, bytes]:
    """A certificate and key (PEM) for ``names`` and this host, ECDSA P-256, valid for a year."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "policyd")])
    now = datetime.now(UTC)
    unique = dict.fromkeys([*names, socket.gethostname()])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))  # clocks differ
        .not_valid_after(now + timedelta(days=SELF_SIGNED_DAYS))
        .add_extension(x509.SubjectAlternativeName([_name(name) for name in unique]), False)
        # Its own authority: a caBundle of this certificate alone verifies it.
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
    )
    cert = builder.sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return cert.public_bytes(pem), private


def _key_usage() -> Any:
    from cryptography import x509

    unused = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
        **dict.fromkeys(unused, False),
    )


def _name(name: str) -> Any:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def has_name(certificate: dict[str, Any] | None, names: Sequence[str]) -> bool:
    """Whether a verified client certificate (``getpeercert``) bears one of ``names``."""
    if not certificate:
        return False
    borne = {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}
    for part in certificate.get("subject", ()):
        borne.update(value for kind, value in part if kind == "commonName")
    return not borne.isdisjoint(names)
