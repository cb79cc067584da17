"""What is said of a certificate and key that cannot be used: the file, what is in it, what is
expected.
"""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

from policyd.config import Settings
from policyd.errors import ConfigError
from policyd.tls.certificates import Certificates, HeldPair, PairFiles
from policyd.tls.issuing import self_signed
from policyd.tls.pem import KeyPair

CERTIFICATE, OWN = self_signed()
PKCS8, OPENSSL = PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL
EC = ec.generate_private_key(ec.SECP256R1())
RSA = rsa.generate_private_key(65537, 2048)
ED = ed25519.Ed25519PrivateKey.generate()
PASSWORD = BestAvailableEncryption(b"secret")


def of(key: object, form: PrivateFormat = PKCS8, encoding: Encoding = Encoding.PEM) -> bytes:
    made: bytes = key.private_bytes(encoding, form, NoEncryption())  # type: ignore[attr-defined]
    return made


PUBLIC = EC.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
WANTED = "expected a private key as PEM without a password, got "
MISTAKES: list[tuple[str, bytes, str]] = [
    ("another key", of(EC), "expected the EC key of the certificate, got another EC key"),
    ("in its own form", of(EC, OPENSSL), "expected the EC key of the certificate, got another EC"),
    ("RSA", of(RSA), "expected the EC key of the certificate, got an RSA key"),
    ("RSA in its own form", of(RSA, OPENSSL), "of the certificate, got an RSA key"),
    ("Ed25519", of(ED), "expected the EC key of the certificate, got an Ed25519 key"),
    ("behind parameters", b"-----BEGIN EC PARAMETERS-----\nBgg=\n-----END EC PARAMETERS-----\n"
     + of(RSA), "got an RSA key"),
    ("only parameters", b"-----BEGIN EC PARAMETERS-----\nBgg=\n-----END EC PARAMETERS-----\n",
     WANTED + "only the parameters of an EC key"),
    ("encrypted", EC.private_bytes(Encoding.PEM, PKCS8, PASSWORD), WANTED + "an encrypted key"),
    ("encrypted in its own form", EC.private_bytes(Encoding.PEM, OPENSSL, PASSWORD),
     WANTED + "an encrypted key; convert it with: openssl pkey -in FILE"),
    ("OpenSSH", of(EC, PrivateFormat.OpenSSH), WANTED + "an OpenSSH key; convert a copy with: ssh"),
    ("DER", of(EC, encoding=Encoding.DER), WANTED + "DER; convert it with: openssl pkey -inform"),
    ("PKCS #12", serialize_key_and_certificates(b"a", EC, None, None, NoEncryption()),
     WANTED + "PKCS #12; convert it with: openssl pkcs12 -nodes -nocerts -in FILE"),
    ("X25519", of(x25519.X25519PrivateKey.generate()), "certificate, got an X25519 key"),
    ("cut off", of(RSA)[:600], WANTED + "a PEM block without its end"),
    ("damaged", of(RSA)[:400] + of(RSA)[500:], WANTED + "a PEM block that is damaged"),
    ("public", PUBLIC, WANTED + "a public key"),
    ("certificate", CERTIFICATE, WANTED + "a certificate"),
    ("unknown", b"-----BEGIN X-----\n-----END X-----\n", WANTED + "'BEGIN X'"),
    ("empty", b"", WANTED + "an empty file"),
    ("blank", b" \n", WANTED + "an empty file"),
    ("text", b"hello", WANTED + "no PEM block"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "message"), [pytest.param(*row[1:], id=row[0]) for row in MISTAKES]
)
def test_a_key_that_does_not_load(tmp_path: Path, key: bytes, message: str) -> None:
    files = tmp_path / "a.crt", tmp_path / "a.key"
    files[0].write_bytes(CERTIFICATE)
    files[1].write_bytes(key)
    with pytest.raises(ConfigError) as refused:
        Certificates(Settings(), source=PairFiles(*files))
    assert f"not a usable pair of certificate and key: {files[1]}: " in str(refused.value)
    assert message in str(refused.value)
    with pytest.raises(ConfigError, match=r"^the Secret s: not a usable pair.*: key: expected "):
        Certificates(Settings(), source=HeldPair("the Secret s", KeyPair(CERTIFICATE, key)))


BROKEN = b"-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----\n"


@pytest.mark.parametrize("body", [b"", b"MA==", b"MIIB", b"!", b"MAMCAQA=", b"MIL/////"])
def test_a_key_that_cannot_be_parsed_is_an_error_too(body: bytes) -> None:
    source = HeldPair("s", KeyPair(CERTIFICATE, BROKEN % body))
    with pytest.raises(ConfigError, match="not a usable pair"):
        Certificates(Settings(), source=source)


def test_a_certificate_that_is_none_names_its_file(tmp_path: Path) -> None:
    files = tmp_path / "a.crt", tmp_path / "a.key"
    for file in files:
        file.write_bytes(OWN)
    with pytest.raises(ConfigError, match="expected a certificate as PEM, got") as refused:
        Certificates(Settings(), source=PairFiles(*files))
    assert f": {files[0]}: expected" in str(refused.value)
    assert "PRIVATE KEY" in str(refused.value)


def test_the_right_pair_is_used() -> None:
    assert Certificates(Settings(), source=HeldPair("s", KeyPair(CERTIFICATE, OWN))).served
