"""Issues certificates: a self-signed one for development, a CA, and its leaves.

Imports ``cryptography``, whose 12 MB a server needs for only a tenth of a second. So it runs as a
program, which reads the arguments of ``issue`` as JSON and prints the issued pairs. After
``--self-signed`` the arguments are the names of a self-signed pair.
"""

import ipaddress
import json
import math
import socket
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from time import time
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from policyd.tls.pem import BACKDATED, LIVES, KeyPair, validity

SELF_SIGNED_SECONDS = 365 * 86_400.0
LOCAL = ("localhost", "127.0.0.1", "::1")


# Certificate and key of the CA, if it is new, and of the leaf.
Issued = dict[Literal["authority", "leaf"], tuple[str, str] | None]


def issue(
    now: float, lifetime: float, names: Sequence[str] = (), authority: Sequence[str] | None = None
) -> Issued:
    """Issue a leaf for ``names``, if there are any, that lives ``lifetime`` seconds from ``now``,
    signed by ``authority`` (certificate and key) or a new CA.
    """
    new = new_authority(now, LIVES * lifetime) if authority is None else None
    signer = new or KeyPair(*(part.encode() for part in authority or ()))
    leaf = new_leaf(signer, names, now, lifetime) if names else None
    return {"authority": _strings(new), "leaf": _strings(leaf)}


def self_signed(names: Sequence[str] = ()) -> KeyPair:
    """A certificate and key for this host and ``names``, ECDSA P-256, valid for a year.

    It is its own CA: a caBundle with this certificate alone verifies it.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    named = _named("policyd")
    unique = dict.fromkeys([*LOCAL, *names, socket.gethostname()])
    builder = (
        _builder(named, named, key, time(), time() + SELF_SIGNED_SECONDS)
        .add_extension(_alternatives(list(unique)), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True, serves=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
    )
    return _pair(builder, key, key)


def new_authority(now: float, lifetime: float) -> KeyPair:
    """A CA. Each has its own name, so that clients find the correct one in a bundle."""
    key = ec.generate_private_key(ec.SECP256R1())
    named = _named(f"policyd CA {x509.random_serial_number():040x}"[:40])
    builder = (
        _builder(named, named, key, now, now + lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True, serves=False), critical=True)
    )
    return _pair(builder, key, key)


def new_leaf(authority: KeyPair, names: Sequence[str], now: float, lifetime: float) -> KeyPair:
    """A serving certificate. It lives at most a tenth (``LIVES``) of the CA's life, and not longer
    than the CA: ``controllers/certificates/rotation.py`` relies on both.
    """
    begins, ends = validity(authority.certificate)
    lifetime = min(lifetime, (ends - begins - BACKDATED) / LIVES, ends - now)
    signer = x509.load_pem_x509_certificate(authority.certificate)
    signing_key = serialization.load_pem_private_key(authority.key, None)
    assert isinstance(signing_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder(_named("policyd"), signer.subject, key, now, now + lifetime)
        .add_extension(_alternatives(names), False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False, serves=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), False
        )
    )
    return _pair(builder, key, signing_key)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    begins: float,
    ends: float,
) -> x509.CertificateBuilder:
    begin = datetime.fromtimestamp(int(begins), UTC) - timedelta(seconds=BACKDATED)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(datetime.fromtimestamp(math.ceil(ends), UTC))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
    )


def _pair(
    builder: x509.CertificateBuilder,
    key: ec.EllipticCurvePrivateKey,
    signing_key: ec.EllipticCurvePrivateKey,
) -> KeyPair:
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return KeyPair(builder.sign(signing_key, hashes.SHA256()).public_bytes(pem), private)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _alternatives(names: Sequence[str]) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([_name(name) for name in names])


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, signs: bool, serves: bool) -> x509.KeyUsage:
    unused = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    return x509.KeyUsage(
        digital_signature=serves,
        key_cert_sign=signs,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
        **dict.fromkeys(unused, False),
    )


def _strings(pair: KeyPair | None) -> tuple[str, str] | None:
    return None if pair is None else (pair.certificate.decode(), pair.key.decode())


def main() -> None:
    """Read arguments from standard input, or names from the command line; print the pairs."""
    if sys.argv[1:2] == ["--self-signed"]:
        issued: Issued = {"authority": None, "leaf": _strings(self_signed(sys.argv[2:]))}
    else:
        issued = issue(**json.load(sys.stdin))
    json.dump(issued, sys.stdout)


if __name__ == "__main__":
    main()
