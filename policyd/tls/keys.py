"""Explains why OpenSSL refuses a certificate and key: its errors name neither the file nor its
content. Decides nothing: OpenSSL has.

Needs no ``cryptography``, which takes a tenth of a server's memory.
"""

import ssl
from base64 import b64decode
from collections.abc import Iterator

from policyd.tls.pem import KeyPair, certificates_in, elements

_EXPECTED = "expected a private key as PEM without a password"
_CONVERT = "convert it with: openssl pkey"
# The kind of a PEM block with this label, and the remedy.
_LABELS = {
    "ENCRYPTED PRIVATE KEY": f"an encrypted key; {_CONVERT} -in FILE",
    "OPENSSH PRIVATE KEY": "an OpenSSH key; convert a copy with: ssh-keygen -p -m PKCS8 -f FILE",
    "PUBLIC KEY": "a public key",
    "RSA PUBLIC KEY": "a public key",
    "EC PARAMETERS": "only the parameters of an EC key",
    "CERTIFICATE": "a certificate",
    "CERTIFICATE REQUEST": "a certificate request",
}
_OWN_FORM = {"RSA PRIVATE KEY": "RSA", "EC PRIVATE KEY": "EC", "DSA PRIVATE KEY": "DSA"}
_KEYS = ("PRIVATE KEY", *_OWN_FORM)
# DER of object identifiers (RFC 8017, 5480, 8410).
_ALGORITHMS = {
    bytes.fromhex("2a864886f70d010101"): "RSA",
    bytes.fromhex("2a864886f70d01010a"): "RSA-PSS",
    bytes.fromhex("2a8648ce3d0201"): "EC",
    bytes.fromhex("2a8648ce380401"): "DSA",
    bytes.fromhex("2b656e"): "X25519",
    bytes.fromhex("2b656f"): "X448",
    bytes.fromhex("2b6570"): "Ed25519",
    bytes.fromhex("2b6571"): "Ed448",
}
_SEQUENCE, _VERSION, _INTEGER = 0x30, 0xA0, 0x02
_PKCS12 = (_INTEGER, b"\x03")  # its first field, the version
_LONG = 0x80  # from this value on, a length has its own bytes
_SUBJECT_KEY = 5  # of serial, algorithm, issuer, validity, subject, subjectPublicKeyInfo


def mistake_in_key(pair: KeyPair, error: Exception) -> str:
    """Return the mistake in the key of a pair that OpenSSL refuses with ``error``; empty if the key
    seems correct.
    """
    mistake = _mistake_in(pair.key)
    if mistake:
        return mistake
    wanted, got = _kind_of_certificate(pair.certificate), _kind_of_key(pair.key)
    if wanted and got and wanted != got:
        return f"expected the {wanted} key of the certificate, got {_article(got)} key"
    if getattr(error, "reason", "") == "KEY_VALUES_MISMATCH":
        kind = f"{wanted} key" if wanted else "key"
        return f"expected the {kind} of the certificate, got another {kind}"
    return ""


def _mistake_in(pem: bytes) -> str:
    """Return why there is no usable private key; empty if there may be one."""
    if not pem.strip():
        return f"{_EXPECTED}, got an empty file"
    if pem[:1] == bytes([_SEQUENCE]):
        return f"{_EXPECTED}, got {_binary(pem)}"
    labels = [label for label, _ in _blocks(pem)]
    if not labels:
        return f"{_EXPECTED}, got no PEM block"
    found = [label for label in labels if label in _KEYS]
    if not found:
        known = [_LABELS[label] for label in labels if label in _LABELS]
        return f"{_EXPECTED}, got {known[0] if known else repr(f'BEGIN {labels[0]}')}"
    body = next(body for label, body in _blocks(pem) if label == found[0])
    if b"Proc-Type: 4,ENCRYPTED" in body:
        return f"{_EXPECTED}, got {_LABELS['ENCRYPTED PRIVATE KEY']}"
    if f"-----END {found[0]}-----".encode() not in pem:
        return f"{_EXPECTED}, got a PEM block without its end"
    return "" if _is_whole(body) else f"{_EXPECTED}, got a PEM block that is damaged"


def _binary(der: bytes) -> str:
    """Return the content of DER, and the remedy."""
    try:
        if elements(elements(der)[0][1])[0] == _PKCS12:
            return "PKCS #12; convert it with: openssl pkcs12 -nodes -nocerts -in FILE"
    except (ValueError, IndexError):
        pass  # DER of something else
    return f"DER; {_CONVERT} -inform DER -in FILE"


def _is_whole(body: bytes) -> bool:
    """Whether the body of a PEM block is one complete DER sequence."""
    try:
        der = b64decode(body)
        [(tag, content)] = elements(der)
    except (ValueError, IndexError):
        return False
    return tag == _SEQUENCE and der == _sequence(content)


def _sequence(content: bytes) -> bytes:
    length = len(content)
    size = (length.bit_length() + 7) // 8
    head = [length] if length < _LONG else [_LONG | size, *length.to_bytes(size, "big")]
    return bytes([_SEQUENCE, *head]) + content


def _blocks(pem: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the label and body of each PEM block."""
    for block in pem.split(b"-----BEGIN ")[1:]:
        label, _, rest = block.partition(b"-----")
        yield label.decode("ascii", "replace"), rest.partition(b"-----END ")[0]


def _kind_of_key(pem: bytes) -> str:
    """Return the algorithm of the first private key; empty if that cannot be read."""
    label, body = next(((a, b) for a, b in _blocks(pem) if a in _KEYS), ("", b""))
    try:
        (_, fields), *_ = elements(b64decode(body))
        if label == "PRIVATE KEY":
            return _algorithm(elements(fields)[1][1])
    except (ValueError, IndexError):
        return ""
    return _OWN_FORM.get(label, "")


def _kind_of_certificate(pem: bytes) -> str:
    """Return the algorithm of the first certificate's key; empty if that cannot be read."""
    try:
        (_, certificate), *_ = elements(certificates_in(pem)[0])
        (_, to_be_signed), *_ = elements(certificate)
        fields = [field for field in elements(to_be_signed) if field[0] != _VERSION]
        (_, algorithm), *_ = elements(fields[_SUBJECT_KEY][1])
        return _algorithm(algorithm)
    except (ValueError, IndexError, ssl.SSLError):
        return ""


def _algorithm(identifier: bytes) -> str:
    """Return the name in an AlgorithmIdentifier."""
    return _ALGORITHMS.get(elements(identifier)[0][1], "")


def _article(kind: str) -> str:
    return f"a {kind}" if kind == "DSA" else f"an {kind}"
