"""The serving certificate and the client authorities: reads and reloads their files, creates
self-signed pairs, checks client names.

Independent of sockets, and writes nothing to disk. Each reload creates a new context
(``handshakes.py``), so that errors in new files leave the current context as it is.
"""

import ipaddress
import os
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from policyd.config import Settings
from policyd.errors import ConfigError
from policyd.regular_files import read_regular
from policyd.tls.handshakes import Context, Refusal, SwitchableContext

SELF_SIGNED_DAYS = 365
# Bytes of one file. All public authorities of a browser take a quarter of this.
MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class CertificateReload:
    """What a reload changed: whether the certificate, and how many authorities were added and
    removed; and which files could not be used.
    """

    certificate: bool = False
    added: int = 0
    removed: int = 0
    problems: tuple[str, ...] = ()


class Certificates:
    """The context that the listener uses; ``reload`` changes what new connections use.

    ``refused`` is called for each failed handshake with the reason, one of ``REFUSALS``, and a
    message.
    """

    def __init__(
        self, settings: Settings, refused: Callable[[Refusal, str], None] = lambda *_: None
    ) -> None:
        self._cert, self._key = settings.tls_cert, settings.tls_key
        self._client_ca = settings.client_ca
        self._http2 = settings.http2
        self._refused = refused
        self._own = self_signed() if settings.self_signed else None
        self._pair = (b"", b"")
        self.context = SwitchableContext()
        self.valid = (0.0, 0.0)  # from and until, as Unix times
        if self._own is None and (self._cert is None or self._key is None):
            raise ConfigError(
                "a certificate is needed: set --tls-cert and --tls-key, or --self-signed"
            )
        self._authorities: list[bytes] = []
        problems = self.reload().problems
        if problems:
            raise ConfigError("; ".join(problems))

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are watched for changes."""
        own = () if self._own else (self._cert, self._key)
        return tuple(file for file in (*own, self._client_ca) if file is not None)

    def reload(self) -> CertificateReload:
        """Read the files and use them for new connections.

        Problems with the files are returned; the previous files then stay in use. A broken
        authority does not prevent the use of a new certificate, and vice versa.
        """
        problems: list[str] = []
        pair, valid, authorities = self._pair, self.valid, self._authorities
        try:
            pair = self._own or (_read(self._cert, "certificate"), _read(self._key, "key"))
            self._load_pair(Context(self._http2), pair)
            valid = self._validity(pair[0])
        except ConfigError as error:
            problems.append(str(error))
            pair, valid = self._pair, self.valid
        try:
            if self._client_ca is not None:
                authorities = _authorities(self._client_ca)
        except ConfigError as error:
            problems.append(str(error))
        before, after = set(self._authorities), set(authorities)
        change = CertificateReload(
            pair != self._pair, len(after - before), len(before - after), tuple(problems)
        )
        if pair[0] and (pair, after) != (self._pair, before):
            # Only after a change: a new context invalidates tickets and sessions.
            self.context.switch_to(self._new_context(pair, authorities))
            self._pair, self.valid, self._authorities = pair, valid, authorities
        return change

    def _new_context(self, pair: tuple[bytes, bytes], authorities: Sequence[bytes]) -> Context:
        context = Context(self._http2, self._trusts, self._refused)
        self._load_pair(context, pair)
        if authorities:
            context.require_clients(authorities)
        return context

    @property
    def expires_at(self) -> float:
        """When the current certificate expires, as Unix time."""
        return self.valid[1]

    def _validity(self, cert: bytes) -> tuple[float, float]:
        try:
            return validity(cert)
        except (ValueError, IndexError) as error:
            raise ConfigError(
                f"{self._cert}: cannot read the validity of the certificate: {error}"
            ) from None

    def _trusts(self, authority: bytes) -> bool:
        return authority in self.context.current.authorities

    def _load_pair(self, context: Context, pair: tuple[bytes, bytes]) -> None:
        try:
            certificates_in(pair[0])
            with _as_files(*pair) as (chain, private):
                context.load_cert_chain(chain, private, password=_no_password)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{self._cert} and {self._key}: not a usable pair of certificate and key: {error}"
            ) from None


def _authorities(file: Path) -> list[bytes]:
    """The authorities in a file as DER. Raises ConfigError if a context refuses them."""
    try:
        found = certificates_in(_read(file, "client CA"))
        Context(http2=False).require_clients(found)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"--client-ca {file}: not a certificate authority: {error}") from None
    return found


def _no_password() -> str:
    raise ValueError("expected a key without a password; this key is encrypted")


def _read(file: Path | None, what: str) -> bytes:
    assert file is not None
    try:
        return read_regular(file, MAX_BYTES)
    except OSError as error:
        raise ConfigError(f"{what} {file}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{what} {file}: {error}") from None


@contextmanager
def _as_files(*contents: bytes) -> Iterator[list[str]]:
    """Paths where OpenSSL can read these contents: it reads keys only from files. The files are in
    memory if the system supports that, and never readable by other users.
    """
    with ExitStack() as stack:
        yield [_as_file(content, stack) for content in contents]


def _as_file(content: bytes, stack: ExitStack) -> str:
    if hasattr(os, "memfd_create") and Path(_DESCRIPTORS).is_dir():
        opened = os.memfd_create("policyd")
        path = f"{_DESCRIPTORS}/{opened}"
    else:
        path = str(Path(stack.enter_context(TemporaryDirectory(prefix="policyd-")), "pem"))
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    stack.enter_context(os.fdopen(opened, "wb", buffering=0)).write(content)
    return path


_DESCRIPTORS = "/proc/self/fd"
_BEGIN, _END = b"-----BEGIN ", b"-----END "


def certificates_in(pem: bytes) -> list[bytes]:
    """The certificates in a PEM file as DER; keys and other content are skipped.

    Raises ValueError if there is none, or one with a label that not every program reads.
    """
    found = []
    for block in pem.split(_BEGIN)[1:]:
        label = block.partition(b"-----")[0].decode("ascii", "replace")
        if label == "CERTIFICATE":
            encoded = block.partition(_END)[0].partition(b"-----")[2]
            found.append(ssl.PEM_cert_to_DER_cert(_armoured(encoded)))
        elif label.endswith("CERTIFICATE"):
            raise ValueError(
                f'expected "BEGIN CERTIFICATE", got "BEGIN {label}";'
                " convert it with: openssl x509 -in FILE"
            )
    if not found:
        form = "none"
        if not pem:
            form = "an empty file"
        elif pem[:1] == b"\x30":
            form = "DER; convert it with: openssl x509 -inform DER -in FILE"
        raise ValueError(f"expected a certificate as PEM, got {form}")
    return found


def _armoured(encoded: bytes) -> str:
    return f"{ssl.PEM_HEADER}\n{encoded.decode('ascii').strip()}\n{ssl.PEM_FOOTER}"


def expiry(cert: bytes) -> float:
    """When the first certificate of a PEM chain expires, as Unix time."""
    return validity(cert)[1]


def validity(cert: bytes) -> tuple[float, float]:
    """From when until when the first certificate of a PEM chain is valid, as Unix times.

    Parsed from the DER (RFC 5280, 4.1): nothing else in a server needs ``cryptography``, which
    takes a tenth of its memory. OpenSSL has accepted the certificate before.
    """
    (_, certificate), *_ = _elements(certificates_in(cert)[0])
    (_, to_be_signed), *_ = _elements(certificate)
    fields = [field for field in _elements(to_be_signed) if field[0] != _VERSION]
    begin, end, *_ = _elements(fields[3][1])  # serial, algorithm, issuer, validity
    return _time(*begin), _time(*end)


def _time(tag: int, value: bytes) -> float:
    form = "%y%m%d%H%M%SZ" if tag == _UTC_TIME else "%Y%m%d%H%M%SZ"
    return datetime.strptime(value.decode(), form).replace(tzinfo=UTC).timestamp()


_VERSION, _UTC_TIME = 0xA0, 0x17


def _elements(der: bytes) -> list[tuple[int, bytes]]:
    """The DER elements of a sequence, as (tag, content)."""
    found = []
    while der:
        length, start = der[1], 2
        if length & 0x80:  # the length has this many bytes
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
        .not_valid_before(now - timedelta(minutes=5))  # for clients whose clock is behind
        .not_valid_after(now + timedelta(days=SELF_SIGNED_DAYS))
        .add_extension(x509.SubjectAlternativeName([_name(name) for name in unique]), False)
        # It is its own authority: a caBundle with this certificate alone verifies it.
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
    """Whether a verified client certificate (``getpeercert``) has one of ``names``."""
    if not certificate:
        return False
    present = {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}
    for part in certificate.get("subject", ()):
        present.update(value for kind, value in part if kind == "commonName")
    return not present.isdisjoint(names)
