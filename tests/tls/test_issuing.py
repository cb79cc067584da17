"""Certificates that policyd issues, as clients see them."""

import json
import ssl
import subprocess
import sys
from itertools import product

import pytest
from cryptography import x509

from policyd.tls.issuing import issue, new_authority, new_leaf, self_signed
from policyd.tls.pem import BACKDATED, KeyPair, validity
from policyd.tls.verifying import belong, refusal

NOW = 1_800_000_000.0
DAY = 86_400.0
NAMES = ("policyd.policyd.svc", "policyd.policyd.svc.cluster.local", "policyd.policyd")


def life(pair: KeyPair) -> tuple[float, float]:
    begins, ends = validity(pair.certificate)
    return begins + BACKDATED - NOW, ends - NOW


def test_a_leaf_is_accepted_under_each_of_its_names_and_no_other() -> None:
    authority = new_authority(NOW, DAY)
    leaf = new_leaf(authority, [*NAMES, "10.1.2.3", "::1"], NOW, DAY)
    for name in (*NAMES, "10.1.2.3", "::1"):
        assert refusal(authority.certificate, leaf, (name,)) == ""
    assert "Hostname mismatch" in refusal(authority.certificate, leaf, ("other.policyd.svc",))
    assert "IP address mismatch" in refusal(authority.certificate, leaf, ("10.1.2.4",))


def test_a_bundle_accepts_the_leaves_of_all_its_authorities() -> None:
    old, new, other = (new_authority(NOW, DAY) for _ in range(3))
    leaves = [new_leaf(each, NAMES, NOW, DAY) for each in (old, new)]
    bundle = new.certificate + old.certificate
    assert [refusal(bundle, each, NAMES) for each in leaves] == ["", ""]
    stranger = new_leaf(other, NAMES, NOW, DAY)
    assert refusal(bundle, stranger, NAMES) == "unable to get local issuer certificate"


# Seconds that an authority lives, how much later the leaf is issued, how long it is to live, and does.
LIVES = [
    (10 * DAY, 0.0, DAY, DAY),
    (10 * DAY, 0.0, 5 * DAY, DAY),
    (10 * DAY, 9.5 * DAY, DAY, DAY / 2),
    (60.0, 0.0, 6.0, 6.0),
]


@pytest.mark.parametrize(("whole", "later", "wanted", "lives"), LIVES)
def test_a_leaf_lives_a_tenth_of_its_authority_and_not_longer(
    whole: float, later: float, wanted: float, lives: float
) -> None:
    authority = new_authority(NOW, whole)
    assert life(authority) == (0.0, whole)
    assert life(new_leaf(authority, NAMES, NOW + later, wanted)) == (later, later + lives)


def test_a_leaf_signs_nothing_and_an_authority_serves_nothing() -> None:
    authority = new_authority(NOW, DAY)
    leaf = new_leaf(authority, NAMES, NOW, DAY)
    forged = new_leaf(leaf, NAMES, NOW, DAY)
    chain = KeyPair(forged.certificate + leaf.certificate, forged.key)
    assert refusal(authority.certificate, chain, NAMES) == "invalid CA certificate"
    assert refusal(authority.certificate, authority, NAMES)


def test_a_self_signed_certificate_is_its_own_bundle() -> None:
    pair = self_signed(["host.example"])
    assert refusal(pair.certificate, pair, ("localhost", "127.0.0.1", "host.example")) == ""


def test_a_key_belongs_to_its_certificate_only() -> None:
    pairs = [self_signed(), new_authority(NOW, DAY)]
    found = [belong(KeyPair(one.certificate, two.key)) for one, two in product(pairs, pairs)]
    assert found == [True, False, False, True]
    assert not belong(KeyPair(b"", b""))
    assert not belong(KeyPair(pairs[0].certificate, b"damaged"))


@pytest.mark.parametrize("content", [b"", b"-----BEGIN CERTIFICATE-----\n", b"x"])
def test_what_is_damaged_is_refused(content: bytes) -> None:
    good = self_signed()
    assert refusal(good.certificate, good, ("localhost",)) == ""
    assert refusal(good.certificate, KeyPair(content, good.key), ("localhost",))
    assert refusal(good.certificate, KeyPair(good.certificate, content), ("localhost",))
    assert refusal(content, good, ("localhost",))


def test_the_program_prints_what_was_ordered() -> None:
    order = json.dumps({"now": NOW, "lifetime": DAY, "names": NAMES})
    command = [sys.executable, "-m", "policyd.tls.issuing"]
    done = subprocess.run(command, input=order, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    authority, leaf = (
        KeyPair(*(part.encode() for part in found[each])) for each in ("authority", "leaf")
    )
    assert refusal(authority.certificate, leaf, NAMES) == ""
    again = issue(NOW, DAY, NAMES, found["authority"])
    assert again["authority"] is None
    assert again["leaf"] is not None
    assert refusal(authority.certificate, KeyPair(*map(str.encode, again["leaf"])), NAMES) == ""


def test_keys_are_of_the_curve_p_256() -> None:
    authority = new_authority(NOW, DAY)
    for pair in (authority, new_leaf(authority, NAMES, NOW, DAY), self_signed()):
        key = x509.load_pem_x509_certificate(pair.certificate).public_key()
        assert getattr(getattr(key, "curve", None), "name", "") == "secp256r1"
        assert ssl.PEM_cert_to_DER_cert(pair.certificate.decode())
