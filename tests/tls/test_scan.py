"""TLS as a scanner grades it: at least Mozilla's "intermediate". `make tls-scan` prints it."""

from pathlib import Path

import pytest

from tools.supply import environments, tls_scan

CIPHERS = {
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
}


@pytest.mark.parametrize("configured", [True, False])
def test_tls_is_at_least_intermediate(tmp_path: Path, configured: bool) -> None:
    """Without the configuration of the image there are two more curves."""
    scanner = environments.program("sslyze")
    if not scanner.exists():
        pytest.skip("sslyze is not installed: run make tls-scan")
    configuration = tls_scan.OPENSSL_CONFIGURATION if configured else None
    with tls_scan.serving(tmp_path, configuration) as (reviews, admin):
        grade = tls_scan.scan(scanner, tmp_path, reviews)
        assert not tls_scan.speaks_tls(scanner, tmp_path, admin)
    assert grade.versions == ("tls_1_2", "tls_1_3")
    assert set(grade.ciphers) == CIPHERS
    unlisted = () if configured else (tls_scan.curve_problem(tls_scan.UNLISTED_CURVES),)
    assert grade.problems == unlisted
