"""Reads the public keys of a token issuer from a JSON Web Key Set (RFC 7517). Fetches nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK
from jwt.exceptions import PyJWTError

# Bytes of a set. An API server publishes one or two keys of about 400 bytes.
MAX_KEYS_BYTES = 64 * 2**10
MAX_KEYS = 32
# Characters of a key's name.
MAX_NAME_CHARS = 1024
# Bits of an RSA key. A verification takes some 10 µs with the smallest, 0.2 ms with the largest.
RSA_BITS = range(2048, 8192 + 1)
# Base64 characters of one number of a key: the length of the largest modulus.
_MAX_NUMBER_CHARS = 1400
# The algorithms that Kubernetes signs with (pkg/serviceaccount/jwt.go), by kind of key. A token
# cannot choose: each key has one algorithm.
_RSA_ALGORITHM = "RS256"
_CURVES = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A public key and the one algorithm that it verifies."""

    algorithm: str
    key: RSAPublicKey | EllipticCurvePublicKey


# By the name of the key: ``kid``.
KeySet = Mapping[str, VerificationKey]


def read_keys(data: bytes) -> KeySet:
    """Return the keys of a JSON Web Key Set that verify tokens. Raises ValueError.

    Entries for other purposes, of other kinds or sizes, and private keys are left out and verify
    nothing.
    """
    if len(data) > MAX_KEYS_BYTES:
        raise ValueError(f"the key set is larger than {MAX_KEYS_BYTES >> 10} KiB")
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise ValueError("the key set is not JSON") from None
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ValueError("expected a JSON Web Key Set with a list of keys")
    if len(listed) > MAX_KEYS:
        raise ValueError(f"the key set has more than {MAX_KEYS} keys")
    found: dict[str, VerificationKey] = {}
    for each in listed:
        key = _key(each) if isinstance(each, dict) else None
        if key is None:
            continue
        if each["kid"] in found:
            raise ValueError(f"two keys of the key set have the name {each['kid'][:80]!r}")
        found[each["kid"]] = key
    if not found:
        raise ValueError(
            "the key set has no key to verify tokens with: expected RSA keys of "
            f"{RSA_BITS.start} to {RSA_BITS.stop - 1} bits, or EC keys, with a kid"
        )
    return found


def _key(entry: dict[str, Any]) -> VerificationKey | None:
    """The key of an entry; None if it verifies no tokens."""
    name = entry.get("kid")
    named = isinstance(name, str) and 0 < len(name) <= MAX_NAME_CHARS
    algorithm = _algorithm(entry)
    if not named or not algorithm or entry.get("use", "sig") != "sig" or "d" in entry:
        return None
    if entry.get("alg", algorithm) != algorithm:
        return None
    numbers = (entry.get(each, "") for each in ("n", "e", "x", "y"))
    if not all(isinstance(each, str) and len(each) <= _MAX_NUMBER_CHARS for each in numbers):
        return None
    try:
        key = PyJWK(entry, algorithm).key
    except PyJWTError:
        return None
    if isinstance(key, RSAPublicKey):
        return VerificationKey(algorithm, key) if key.key_size in RSA_BITS else None
    return VerificationKey(algorithm, key) if isinstance(key, EllipticCurvePublicKey) else None


def _algorithm(entry: dict[str, Any]) -> str | None:
    """The algorithm of a key of this kind; None for a kind that signs no tokens."""
    if entry.get("kty") == "RSA":
        return _RSA_ALGORITHM
    curve = entry.get("crv")
    return _CURVES.get(curve) if entry.get("kty") == "EC" and isinstance(curve, str) else None
