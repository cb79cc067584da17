"""Tokens as Kubernetes issues them for webhooks, and others. No tests here."""

import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from functools import cache
from time import time
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt import PyJWS
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from policyd.json_types import JSONObject
from policyd.tokens.issuer_keys import KeySet, read_keys

ISSUER = "https://kubernetes.default.svc"
AUDIENCE = "https://policyd.policyd.svc:443"
NAME = "policyd"
CURVES = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


@dataclass(frozen=True)
class SigningKey:
    """A key of the issuer."""

    name: str = "first"
    algorithm: str = "ES256"
    bits: int = 2048
    number: int = 0  # another one of the same kind
    private: PrivateKey = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "private", made(self.algorithm, self.bits, self.number))

    def published(self, **changes: object) -> JSONObject:
        """The entry of a key set; changing a field to None removes it."""
        public = self.private.public_key()
        entry: JSONObject
        if isinstance(public, rsa.RSAPublicKey):
            entry = RSAAlgorithm.to_jwk(public, as_dict=True)
        else:
            entry = ECAlgorithm.to_jwk(public, as_dict=True)
        entry = {name: entry[name] for name in ("kty", "n", "e", "crv", "x", "y") if name in entry}
        entry |= {"use": "sig", "kid": self.name, "alg": self.algorithm, **changes}
        return {name: value for name, value in entry.items() if value is not None}


@cache
def made(algorithm: str, bits: int, number: int) -> PrivateKey:
    """A private key. Those of RSA take time to make, so the same ones are used again."""
    if algorithm == "RS256":
        return rsa.generate_private_key(65537, bits)
    return ec.generate_private_key(CURVES[algorithm])


def key_set(*entries: JSONObject) -> bytes:
    """A JSON Web Key Set."""
    return json.dumps({"keys": entries}).encode()


def keys(*used: SigningKey) -> KeySet:
    """The keys as the verifier gets them."""
    return read_keys(key_set(*(each.published() for each in used)))


def claims(webhook: str = "validate", path: str = "/validate", **changes: Any) -> JSONObject:
    """The claims of a token of an API server; changing one to None removes it."""
    now = int(time())
    kind = {"validate": "validatingwebhookconfiguration", "mutate": "mutatingwebhookconfiguration"}
    found: dict[str, Any] = {
        "aud": [AUDIENCE + path],
        "exp": now + 86_400,  # many tokens are made when their module is imported
        "iat": now,
        "iss": ISSUER,
        "jti": "f2b1c7f6-0000-4000-8000-000000000000",
        "kubernetes.io": {
            "namespace": "kube-system",
            "serviceaccount": {"name": "webhook-auth", "uid": "u-1"},
            kind[webhook]: {"name": NAME, "uid": "u-2"},
            "attestations": {"admissionReviewAPIGroups": ["*"]},
        },
        "nbf": now,
        "sub": "system:serviceaccount:kube-system:webhook-auth",
        **changes,
    }
    return {name: value for name, value in found.items() if value is not None}


def private(**changes: Any) -> JSONObject:
    """The claims of Kubernetes with some changed; None removes one."""
    found = {**claims()["kubernetes.io"], **changes}
    return {name: value for name, value in found.items() if value is not None}


def token(
    key: SigningKey | None = None, header: JSONObject | None = None, /, **changes: Any
) -> bytes:
    """A token; ``header`` has more fields of its header, ``changes`` are those of ``claims``."""
    key = key or SigningKey()
    fields = {"kid": key.name, "typ": None, **(header or {})}
    return signed(json.dumps(claims(**changes)).encode(), key, fields)


def signed(payload: bytes, key: SigningKey, header: JSONObject) -> bytes:
    """A token with any payload."""
    return PyJWS().encode(payload, key.private, key.algorithm, header).encode()


def raw(header: object, payload: object, signature: bytes = b"x" * 64) -> bytes:
    """Three parts that are put together as they are; bytes are not encoded as JSON."""
    parts = (
        each if isinstance(each, bytes) else json.dumps(each).encode() for each in (header, payload)
    )
    encoded = (*parts, signature)
    return b".".join(urlsafe_b64encode(each).rstrip(b"=") for each in encoded)
