"""The caBundle for a certificate in files, as its Secret is updated."""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from policyd.controllers.certificates.bundles import OVERLAP_SECONDS, MountedBundle
from policyd.observability.logs import Log
from policyd.tls.issuing import new_authority, new_leaf, self_signed
from policyd.tls.pem import KeyPair

NAMES = ("policyd.policyd.svc",)


@dataclass
class Mounted:
    """A folder with ca.crt, and a clock that stands still."""

    folder: Path
    now: float = 0.0

    def __post_init__(self) -> None:
        self.lines = BytesIO()
        cert = self.folder / "tls.crt"
        self.source = MountedBundle(cert, Log(self.lines), lambda: self.now)

    def write(self, authority: KeyPair) -> None:
        (self.folder / "ca.crt").write_bytes(authority.certificate)


def authority() -> KeyPair:
    return new_authority(1_800_000_000.0, 1e8)


def leaf(of: KeyPair) -> KeyPair:
    return new_leaf(of, NAMES, 1_800_000_000.0, 1e7)


def test_a_former_authority_stays_for_some_time(tmp_path: Path) -> None:
    mounted, old, new = Mounted(tmp_path), authority(), authority()
    mounted.write(old)
    assert mounted.source.bundle(leaf(old)) == old.certificate
    mounted.write(new)
    both = new.certificate + old.certificate
    assert mounted.source.bundle(leaf(new)) == both
    mounted.now += OVERLAP_SECONDS - 1
    assert mounted.source.bundle(leaf(new)) == both
    mounted.now += 1
    assert mounted.source.bundle(leaf(new)) == new.certificate


def test_without_a_file_there_is_no_bundle(tmp_path: Path) -> None:
    mounted = Mounted(tmp_path)
    assert mounted.source.bundle(leaf(authority())) == b""
    assert mounted.lines.getvalue() == b""


def test_an_authority_that_does_not_verify_is_reported_once(tmp_path: Path) -> None:
    mounted, other = Mounted(tmp_path), authority()
    mounted.write(other)
    for _ in range(3):
        assert mounted.source.bundle(leaf(authority())) == b""
    [line] = mounted.lines.getvalue().splitlines()
    assert b"ca.crt does not verify the certificate next to it: unable to get local" in line
    assert mounted.source.bundle(leaf(other)) == other.certificate


def test_what_is_no_certificate_is_reported(tmp_path: Path) -> None:
    mounted = Mounted(tmp_path)
    (tmp_path / "ca.crt").write_bytes(b"")
    assert mounted.source.bundle(self_signed()) == b""
    assert b"expected a certificate as PEM, got an empty file" in mounted.lines.getvalue()
