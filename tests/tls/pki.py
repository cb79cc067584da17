"""Certificates of tests."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Issued:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def write(self, folder: Path) -> tuple[Path, Path]:
        """As PEM files, named by serial number."""
        files = [folder / f"{self.certificate.serial_number}.{end}" for end in ("crt", "key")]
        pem = serialization.Encoding.PEM
        files[0].write_bytes(self.certificate.public_bytes(pem))
        files[1].write_bytes(
            self.key.private_bytes(
                pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return files[0], files[1]


def issue(name: str, signer: Issued | None = None, days: float = 1) -> Issued:
    """A certificate called ``name``; without a signer, an authority of its own. With less than no
    days it has expired.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(
        subject_name=subject,
        issuer_name=signer.certificate.subject if signer else subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=min(now, now + timedelta(days=days)) - timedelta(minutes=1),
        not_valid_after=now + timedelta(days=days),
    )
    if signer is None:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
    return Issued(builder.sign(signer.key if signer else key, hashes.SHA256()), key)


def pem(*issued: Issued) -> bytes:
    """Several certificates as one file."""
    form = serialization.Encoding.PEM
    return b"".join(each.certificate.public_bytes(form) for each in issued)


def put(file: Path, data: bytes) -> None:
    """Write a file in one step."""
    new = file.with_name(f".{file.name}.new")
    new.write_bytes(data)
    new.rename(file)
