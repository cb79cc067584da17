"""Certificates as PEM: reads their content and validity, and passes them to OpenSSL.

Needs no ``cryptography``, which takes a tenth of a server's memory.
"""

import os
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

# How long before its issue a certificate becomes valid, for clients whose clock is behind.
BACKDATED = 300.0
# The lifetime of a CA, as a multiple of a leaf's.
LIVES = 10


class KeyPair(NamedTuple):
    """A certificate, or a chain, and its private key."""

    certificate: bytes
    key: bytes


@contextmanager
def as_files(*contents: bytes) -> Iterator[list[str]]:
    """Paths where OpenSSL, which reads keys only from files, can read these contents. The files are
    in memory if the system supports that, and never readable by other users.
    """
    with ExitStack() as stack:
        yield [_as_file(content, stack) for content in contents]


def load_pair(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Serve this pair with a context. Raises OSError and ValueError."""
    with as_files(*pair) as (chain, private):
        context.load_cert_chain(chain, private, password=_no_password)


def _no_password() -> str:
    raise ValueError("expected a key without a password; this key is encrypted")


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
    found, others = [], []
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
        else:
            others.append(f'"BEGIN {label}"')
    if not found:
        form = others[0] if others else "none"
        if not pem:
            form = "an empty file"
        elif pem[:1] == b"\x30":
            form = "DER; convert it with: openssl x509 -inform DER -in FILE"
        raise ValueError(f"expected a certificate as PEM, got {form}")
    return found


def _armoured(encoded: bytes) -> str:
    return f"{ssl.PEM_HEADER}\n{encoded.decode('ascii').strip()}\n{ssl.PEM_FOOTER}"


def validity(cert: bytes) -> tuple[float, float]:
    """The start and end of the validity of the first certificate of a PEM chain, as Unix times.

    Parsed from the DER (RFC 5280, 4.1), after OpenSSL has accepted the certificate.
    """
    (_, certificate), *_ = elements(certificates_in(cert)[0])
    (_, to_be_signed), *_ = elements(certificate)
    fields = [field for field in elements(to_be_signed) if field[0] != _VERSION]
    begin, end, *_ = elements(fields[3][1])  # serial, algorithm, issuer, validity
    return _time(*begin), _time(*end)


def _time(tag: int, value: bytes) -> float:
    """Return a UTCTime or GeneralizedTime as Unix time: YYMMDDHHMMSSZ or YYYYMMDDHHMMSSZ (RFC 5280,
    4.1.2.5).
    """
    digits = value.decode()
    if tag == _UTC_TIME:
        digits = ("19" if digits >= "50" else "20") + digits
    if len(digits) != len("YYYYMMDDHHMMSSZ") or not digits[:-1].isdecimal() or digits[-1] != "Z":
        raise ValueError(f"not a time of a certificate: {digits!r}")
    return datetime.fromisoformat(f"{digits[:8]}T{digits[8:]}").timestamp()


_VERSION, _UTC_TIME = 0xA0, 0x17


def elements(der: bytes) -> list[tuple[int, bytes]]:
    """The DER elements of a sequence, as (tag, content)."""
    found = []
    while der:
        length, start = der[1], 2
        if length & 0x80:  # the low bits are the number of bytes of the length
            start += length & 0x7F
            length = int.from_bytes(der[2:start], "big")
        found.append((der[0], der[start : start + length]))
        der = der[start + length :]
    return found
