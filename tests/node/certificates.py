"""Certificates made by hand, with openssl. No tests here."""

import subprocess
from pathlib import Path

NAMES = ("ca.crt", "tls.crt", "tls.key")


def certificate(folder: Path, name: str) -> dict[str, str]:
    """An authority and a serving certificate for a DNS name, as PEM by file name; made once."""
    folder.mkdir(exist_ok=True)
    if not all((folder / each).exists() for each in NAMES):
        authority = ["-subj", "/CN=policyd-ca", "-keyout", "ca.key", "-out", "ca.crt"]
        issuer = ["-CA", "ca.crt", "-CAkey", "ca.key"]
        extensions = [
            f"subjectAltName=DNS:{name}",
            "basicConstraints=critical,CA:false",
            "extendedKeyUsage=serverAuth",
        ]
        leaf = ["-subj", "/CN=policyd", "-keyout", "tls.key", "-out", "tls.crt", *issuer]
        _openssl(folder, *authority)
        _openssl(folder, *leaf, *(part for each in extensions for part in ("-addext", each)))
    return {each: (folder / each).read_text() for each in NAMES}


def _openssl(folder: Path, *arguments: str) -> None:
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
    command = ["openssl", "req", "-x509", *curve, *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
