"""Which tokens are those of an API server: signature, times, issuer, audience, claims, caching."""

import json
from base64 import urlsafe_b64encode
from hashlib import sha256
from time import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from hypothesis import given
from hypothesis import strategies as st

from policyd.errors import CallerRefused, UnknownIssuerKey
from policyd.tokens.verifier import LEEWAY_SECONDS, MAX_TOKEN_BYTES, MAX_VERIFIED, TokenVerifier
from tests.tokens.issuing import (
    AUDIENCE,
    ISSUER,
    NAME,
    SigningKey,
    claims,
    keys,
    private,
    raw,
    signed,
    token,
)

EC = SigningKey()
RSA = SigningKey("rsa", "RS256")


def verifier(*used: SigningKey, clock: Any = time) -> TokenVerifier:
    made = TokenVerifier([AUDIENCE], [NAME], clock)
    made.use(ISSUER, keys(*(used or (EC, RSA))))
    return made


@pytest.mark.parametrize("key", [EC, RSA, SigningKey("c", "ES384"), SigningKey("d", "ES512")])
@pytest.mark.parametrize("typ", [None, "JWT"])
def test_a_token_of_the_api_server_is_accepted(key: SigningKey, typ: str | None) -> None:
    found = verifier(key)
    assert found.verify(token(key, {"typ": typ}), "validate", "/validate") == "*"
    mutating = token(key, webhook="mutate", path="/mutate/fail")
    assert found.verify(mutating, "mutate", "/mutate/fail") == "*"


def test_a_token_may_be_for_one_group() -> None:
    attested = private(attestations={"admissionReviewAPIGroups": ["apps"]})
    found = token(**{"kubernetes.io": attested})
    assert verifier().verify(found, "validate", "/validate") == "apps"


NOW = int(time())
TIMES: list[tuple[str, dict[str, int]]] = [
    ("expired", {"exp": NOW - 61}),
    ("expired", {"exp": 0}),
    ("not_yet_valid", {"nbf": NOW + 80_000}),
    ("not_yet_valid", {"iat": NOW + 80_000, "exp": NOW + 2 * 80_000}),
]


@pytest.mark.parametrize(("cause", "changes"), TIMES)
def test_times_are_checked(cause: str, changes: dict[str, int]) -> None:
    assert refused(token(**changes)) == cause


def test_clocks_may_differ() -> None:
    now, half = int(time()), int(LEEWAY_SECONDS) // 2
    late, early = token(exp=now - half), token(nbf=now + half, iat=now + half)
    for each in (late, early):
        assert verifier().verify(each, "validate", "/validate") == "*"


def refused(given: bytes, webhook: str = "validate", path: str = "/validate") -> str:
    """Why a token is not accepted; the error never has the token."""
    with pytest.raises(CallerRefused) as caught:
        verifier().verify(given, webhook, path)
    assert caught.value.status == 401
    assert len(given) < 20 or given.decode("latin-1") not in str(caught.value)
    assert len(str(caught.value)) < 1000
    return caught.value.cause


OTHER = {"namespace": None, "name": "other", "uid": "u"}
REFERENCE = {"name": NAME, "uid": "u-2"}
MUTATING = {"mutatingwebhookconfiguration": REFERENCE}
VALIDATING = "validatingwebhookconfiguration"
CLAIMS: list[tuple[str, dict[str, Any]]] = [
    ("issuer", {"iss": "https://other.example"}),
    ("issuer", {"iss": ISSUER + "/"}),
    ("issuer", {"iss": [ISSUER]}),
    ("malformed", {"iss": None}),
    ("malformed", {"exp": None}),
    ("malformed", {"nbf": None}),
    ("malformed", {"iat": None}),
    ("malformed", {"sub": None}),
    ("malformed", {"sub": 1}),
    ("malformed", {"aud": None}),
    ("malformed", {"exp": "soon"}),
    ("malformed", {"nbf": []}),
    ("audience", {"aud": ["https://kubernetes.default.svc"]}),
    ("audience", {"aud": [AUDIENCE]}),
    ("audience", {"aud": [f"{AUDIENCE}/mutate"]}),
    ("audience", {"aud": [f"{AUDIENCE}/validate/fail"]}),
    ("audience", {"aud": [f"{AUDIENCE}/validate/"]}),
    ("audience", {"aud": ["https://policyd.policyd.svc/validate"]}),
    ("audience", {"aud": [f"{AUDIENCE}/validate", "https://kubernetes.default.svc"]}),
    ("audience", {"aud": []}),
    ("audience", {"aud": [[f"{AUDIENCE}/validate"]]}),
    ("audience", {"aud": {f"{AUDIENCE}/validate": 1}}),
    ("audience", {"aud": "x" * 3000}),
    ("configuration", {"kubernetes.io": None}),
    ("configuration", {"kubernetes.io": []}),
    ("configuration", {"kubernetes.io": private(**{VALIDATING: None})}),
    ("configuration", {"kubernetes.io": private(**{VALIDATING: OTHER})}),
    ("configuration", {"kubernetes.io": private(**{VALIDATING: [REFERENCE]})}),
    ("configuration", {"kubernetes.io": private(**{VALIDATING: NAME})}),
    ("configuration", {"kubernetes.io": private(**{VALIDATING: {"name": [NAME]}})}),
    ("configuration", {"kubernetes.io": private(**{VALIDATING: None}, **MUTATING)}),
    ("configuration", {"kubernetes.io": private(**MUTATING)}),
    ("configuration", {"kubernetes.io": private(**{VALIDATING: None}, pod=REFERENCE)}),
    # The names that drafts of the KEP had.
    (
        "configuration",
        {"kubernetes.io": private(**{VALIDATING: None}, validatingWebhookConfiguration=REFERENCE)},
    ),
    ("attestation", {"kubernetes.io": private(attestations=None)}),
    ("attestation", {"kubernetes.io": private(attestations=["*"])}),
    ("attestation", {"kubernetes.io": private(attestations={})}),
    ("attestation", {"kubernetes.io": private(attestations={"admissionReviewAPIGroups": []})}),
    ("attestation", {"kubernetes.io": private(attestations={"admissionReviewAPIGroups": "*"})}),
    ("attestation", {"kubernetes.io": private(attestations={"admissionReviewAPIGroups": [""]})}),
    ("attestation", {"kubernetes.io": private(attestations={"admissionReviewAPIGroups": [1]})}),
    (
        "attestation",
        {"kubernetes.io": private(attestations={"admissionReviewAPIGroups": ["a", "*"]})},
    ),
]


@pytest.mark.parametrize(("cause", "changes"), CLAIMS)
def test_claims_are_checked(cause: str, changes: dict[str, Any]) -> None:
    assert refused(token(**changes)) == cause


def test_a_token_is_for_one_webhook_and_one_path() -> None:
    given = token()
    found = verifier()
    assert found.verify(given, "validate", "/validate") == "*"
    for webhook, path in (("mutate", "/validate"), ("validate", "/validate/fail")):
        with pytest.raises(CallerRefused):
            found.verify(given, webhook, path)  # although the token is known
    assert refused(given, "mutate", "/validate") == "configuration"
    assert refused(given, "mutate", "/mutate") == "audience"


def test_any_of_several_addresses_and_configurations_will_do() -> None:
    found = TokenVerifier([AUDIENCE, "https://10.0.0.1:8443"], [NAME, "other"])
    found.use(ISSUER, keys(EC))
    bound = private(**{VALIDATING: {"name": "other", "uid": "u"}})
    given = token(aud=["https://10.0.0.1:8443/validate"], **{"kubernetes.io": bound})
    assert found.verify(given, "validate", "/validate") == "*"


def test_a_uid_names_one_configuration() -> None:
    found = TokenVerifier([AUDIENCE], [f"{NAME}/u-2"])
    found.use(ISSUER, keys(EC))
    assert found.verify(token(), "validate", "/validate") == "*"
    for reference in ({"name": NAME, "uid": "u-3"}, {"name": NAME}, {"uid": "u-2"}):
        given = token(**{"kubernetes.io": private(**{VALIDATING: reference})})
        with pytest.raises(CallerRefused, match="got one bound to"):
            found.verify(given, "validate", "/validate")


def test_a_forged_signature_is_refused() -> None:
    head, body, signature = token().split(b".")
    other = token(exp=NOW + 86_399).split(b".")
    assert refused(b".".join((head, body, other[2]))) == "signature"
    assert refused(b".".join((head, other[1], signature))) == "signature"
    assert refused(token(SigningKey("first", number=1))) == "signature"
    assert refused(token(SigningKey("rsa", "RS256", number=1))) == "signature"
    assert refused(b".".join((head, body, b"AA"))) == "signature"


def hmac_with(key: SigningKey, algorithm: str) -> bytes:
    """The classic confusion: the public key is taken for a shared secret."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    pem = key.private.public_key().public_bytes(serialization.Encoding.PEM, form)
    header = {"alg": algorithm, "kid": key.name}
    head, body = raw(header, claims()).split(b".")[:2]
    hashing = jwt.PyJWS().get_algorithm_by_name(algorithm)
    digest = hashing.sign(head + b"." + body, pem)
    return b".".join((head, body, urlsafe_b64encode(digest).rstrip(b"=")))


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
@pytest.mark.parametrize("key", [EC, RSA])
def test_a_public_key_is_no_secret(key: SigningKey, algorithm: str) -> None:
    assert refused(hmac_with(key, algorithm)) == "malformed"


@pytest.mark.parametrize(
    "algorithm",
    ["none", "None", "NONE", "", "RS256", "PS256", "ES384", "EdDSA", None, 1, ["ES256"]],
)
def test_the_key_decides_the_algorithm(algorithm: object) -> None:
    assert refused(raw({"alg": algorithm, "kid": "first"}, claims())) == "malformed"
    assert refused(raw({"alg": algorithm, "kid": "first"}, claims(), b"")) == "malformed"


HEADERS: list[dict[str, Any]] = [
    {"jku": "https://attacker.example/keys"},
    {"x5u": "https://attacker.example/cert"},
    {"jwk": EC.published()},
    {"x5c": ["MIIB"]},
    {"crit": ["exp"]},
    {"b64": False},
    {"zip": "DEF"},
    {"cty": "JWT"},
    {"kid": None},
    {"kid": 1},
    {"kid": ["first"]},
    {"kid": {"first": 1}},
    {"kid": "k" * 1025},
]


@pytest.mark.parametrize("header", HEADERS)
def test_a_token_names_its_key_and_nothing_else(header: dict[str, Any]) -> None:
    made = raw({"alg": "ES256", "kid": "first", **header}, claims())
    assert refused(made) == "malformed"


@pytest.mark.parametrize("name", ["", "second", "../first", "first\0", "FIRST", "💥" * 300])
def test_an_unknown_key_may_be_a_new_one(name: str) -> None:
    made = raw({"alg": "ES256", "kid": name}, claims())
    assert refused(made) == "unknown_key"
    with pytest.raises(UnknownIssuerKey):
        verifier().verify(made, "validate", "/validate")


GARBAGE = [
    b"", b".", b"..", b"...", b"a.b", b"a.b.c", b"a.b.c.d", b"\xff.\xff.\xff", b"bearer", b"=.=.=",
    b"e30.e30.", b"e30.e30.e30", b"W10.e30.e30", b"bnVsbA.e30.e30", b" " * 99, b"\0" * 99,
    raw(b"[" * 3000, {}), raw(b'{"a":' * 1000, {}), raw(b"\xed\xa0\x80", {}),
    raw(b'{"alg":"ES256","kid":"\\ud800"}', {}), raw(b"1" * 5000, {}),
    raw(b'{"kid":' + b"9" * 5000 + b"}", {}), raw({"alg": "ES256", "kid": "first"}, b"[" * 4000),
    raw({"alg": "ES256", "kid": "first"}, b"not JSON"), token() + b"\n", token() + b"=",
    token()[:-1] + b"*", token() + b"." + token(), b"a" * (MAX_TOKEN_BYTES + 1),
]  # fmt: skip


@pytest.mark.parametrize("given", GARBAGE)
def test_garbage_is_refused(given: bytes) -> None:
    assert refused(given) in ("malformed", "signature")


def test_a_long_token_is_not_even_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("policyd.tokens.verifier.sha256", None)
    assert refused(token(padding="x" * MAX_TOKEN_BYTES)) == "malformed"


def test_a_payload_that_is_no_claims_is_refused_although_it_is_signed() -> None:
    for payload in (b"[]", b"null", b"[" * 2000, b"1" * 5000, b"\xff"):
        assert refused(signed(payload, EC, {"kid": "first", "typ": None})) == "malformed"


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    assert refused(data) == "malformed"


@given(st.data())
def test_no_changed_byte_is_accepted(data: st.DataObject) -> None:
    """One bit of the last character may be no part of the signature: the encoding is canonical."""
    whole = token()
    at = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[at]))
    refused(whole[:at] + bytes([byte]) + whole[at + 1 :])


# What is remembered.


class Counted:
    """Counts how often signatures are verified."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        decode = jwt.decode

        def counted(*given: Any, **more: Any) -> Any:
            self.count += 1
            return decode(*given, **more)

        monkeypatch.setattr(jwt, "decode", counted)


def test_a_token_is_verified_once_for_each_path(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    found, given = verifier(), token()
    for _ in range(3):
        assert found.verify(given, "validate", "/validate") == "*"
    assert counted.count == 1
    for _ in range(2):
        with pytest.raises(CallerRefused):
            found.verify(given, "validate", "/validate/fail")
    assert counted.count == 3, "what was refused is not remembered"


def test_verification_needs_a_permit_and_what_is_known_needs_none() -> None:
    found, given = verifier(), token()
    permits = iter([False, True])
    with pytest.raises(CallerRefused) as caught:
        found.verify(given, "validate", "/validate", lambda: next(permits))
    assert (caught.value.cause, caught.value.status) == ("flood", 503)
    for _ in range(2):  # the second time nobody is asked
        assert found.verify(given, "validate", "/validate", lambda: next(permits)) == "*"
    for cheap in (b"x.y.z", raw({"alg": "ES256", "kid": "unknown"}, claims())):
        with pytest.raises(CallerRefused):
            found.verify(cheap, "validate", "/validate", lambda: next(permits))


def test_a_token_that_is_remembered_expires() -> None:
    now = [time()]
    found, given = verifier(clock=lambda: now[0]), token(exp=int(now[0]) - 30)
    assert found.verify(given, "validate", "/validate") == "*"
    now[0] += 31  # the library looks at the real time, and would accept it still
    assert found._verified.get(("validate", "/validate", digest(given))) is None


def digest(given: bytes) -> bytes:
    return sha256(given).digest()


def test_a_removed_key_ends_what_it_signed() -> None:
    found, given = verifier(EC), token()
    assert found.verify(given, "validate", "/validate") == "*"
    assert not found.use(ISSUER, keys(EC)), "the same ones"
    assert found.use(ISSUER, keys(RSA))
    with pytest.raises(UnknownIssuerKey):
        found.verify(given, "validate", "/validate")
    assert found.use(ISSUER, keys(SigningKey("first", number=1)))  # the name of another key
    with pytest.raises(CallerRefused, match="signature"):
        found.verify(given, "validate", "/validate")


def test_another_issuer_ends_what_the_former_one_signed() -> None:
    found, given = verifier(EC), token()
    assert found.verify(given, "validate", "/validate") == "*"
    assert found.use("https://new.example", keys(EC))
    with pytest.raises(CallerRefused, match=r"issuer https://new\.example"):
        found.verify(given, "validate", "/validate")


def test_without_keys_nothing_is_accepted() -> None:
    found = TokenVerifier([AUDIENCE], [NAME])
    with pytest.raises(UnknownIssuerKey):
        found.verify(token(), "validate", "/validate")


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jwt, "decode", lambda *_, **__: claims())
    found = verifier()
    for number in range(MAX_VERIFIED + 10):
        found.verify(raw({"alg": "ES256", "kid": "first"}, number), "validate", "/validate")
    assert len(found._verified) == MAX_VERIFIED


def test_claims_are_those_of_kubernetes() -> None:
    """The JSON names are those of pkg/serviceaccount/claims.go."""
    assert json.loads(json.dumps(claims()))["kubernetes.io"].keys() == {
        "namespace", "serviceaccount", VALIDATING, "attestations",
    }  # fmt: skip
