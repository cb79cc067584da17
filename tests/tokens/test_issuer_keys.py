"""Key sets: which keys verify tokens, with which algorithm, and which sets are refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.tokens.issuer_keys import MAX_KEYS, MAX_KEYS_BYTES, read_keys
from tests.tokens.issuing import SigningKey, key_set

FIRST = SigningKey()
RSA = SigningKey("rsa", "RS256")


@pytest.mark.parametrize(
    ("algorithm", "bits"),
    [("ES256", 2048), ("RS256", 2048), ("ES384", 2048), ("ES512", 2048), ("RS256", 3072)],
)
def test_each_kind_of_key_has_its_algorithm(algorithm: str, bits: int) -> None:
    key = SigningKey("a", algorithm, bits)
    (found,) = read_keys(key_set(key.published())).items()
    assert (found[0], found[1].algorithm) == (key.name, key.algorithm)
    assert found[1].key == key.private.public_key()
    assert read_keys(key_set(key.published(alg=None, use=None))) == dict([found])


SYMMETRIC: dict[str, Any] = {"kty": "oct", "kid": "first", "k": "c2VjcmV0", "alg": "HS256"}
USELESS: list[tuple[str, dict[str, Any]]] = [
    ("symmetric", SYMMETRIC),
    ("symmetric, called RSA", {**SYMMETRIC, "kty": "RSA"}),
    ("for encryption", FIRST.published(use="enc")),
    ("without a name", FIRST.published(kid=None)),
    ("with an empty name", FIRST.published(kid="")),
    ("with a name that is a number", FIRST.published(kid=1)),
    ("with a name that is long", FIRST.published(kid="k" * 2000)),
    ("with another algorithm", RSA.published(alg="PS256")),
    ("with an algorithm of others", RSA.published(alg="HS256")),
    ("with the algorithm none", RSA.published(alg="none")),
    ("private", FIRST.published(d="AQAB")),
    ("small", SigningKey("small", "RS256", 1024).published()),
    ("huge", RSA.published(n="_" * 1401)),
    ("too large", RSA.published(n="_" * 1400)),
    ("not on its curve", FIRST.published(x=SigningKey(number=1).published()["x"])),
    ("of another curve", FIRST.published(crv="secp256k1")),
    ("of a curve that is a list", FIRST.published(crv=["P-256"])),
    ("of no curve", FIRST.published(crv=None)),
    ("without numbers", FIRST.published(x=None)),
    ("with numbers that are none", RSA.published(n=[1])),
    ("of Edwards' curve", {"kty": "OKP", "crv": "Ed25519", "x": "AA", "kid": "a"}),
    ("of no kind", FIRST.published(kty=None)),
]


@pytest.mark.parametrize(
    "entry", [entry for _, entry in USELESS], ids=[name for name, _ in USELESS]
)
def test_other_keys_verify_nothing(entry: dict[str, Any]) -> None:
    usable = SigningKey("usable")
    assert read_keys(key_set(entry, usable.published())).keys() == {"usable"}
    with pytest.raises(ValueError, match="no key to verify tokens with"):
        read_keys(key_set(entry))


REFUSED: list[tuple[bytes, str]] = [
    (b"", "not JSON"),
    (b"<html>", "not JSON"),
    (b"\xff", "not JSON"),
    (b"[" * 5000, "not JSON"),
    (b"[]", "a list of keys"),
    (b"{}", "a list of keys"),
    (b'{"keys": {}}', "a list of keys"),
    (b'{"keys": []}', "no key to verify"),
    (b'{"keys": [1, null, []]}', "no key to verify"),
    (b" " * (MAX_KEYS_BYTES + 1), "larger than 64 KiB"),
    (key_set(*[FIRST.published()] * 2), "two keys of the key set have the name 'first'"),
    (json.dumps({"keys": [{}] * (MAX_KEYS + 1)}).encode(), "more than 32 keys"),
]


@pytest.mark.parametrize(("data", "problem"), REFUSED)
def test_sets_that_are_refused(data: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_keys(data)


def json_values() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3), max_leaves=4)


@given(
    st.dictionaries(
        st.sampled_from(["kty", "kid", "crv", "x", "y", "n", "e", "use", "alg", "d", "key_ops"]),
        st.sampled_from(["RSA", "EC", "P-256", "AQAB", "sig", "ES256", "RS256"]) | json_values(),
    )
)
def test_no_entry_raises_anything_else(entry: dict[str, Any]) -> None:
    usable = SigningKey("usable").published()
    assert "usable" in read_keys(json.dumps({"keys": [entry, usable]}).encode())
