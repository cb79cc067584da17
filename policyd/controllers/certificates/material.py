"""The Secret of the managed certificates: reads and writes its content, and checks it. No I/O.

Its type is kubernetes.io/tls: tls.crt and tls.key are the serving certificate, ca.crt is the bundle
for clients with the current CA first, and ca.key the key of that CA.
"""

import base64
import binascii
import ssl
from dataclasses import dataclass

from policyd.json_types import JSONObject
from policyd.ownership import LABELS, POLICYD, labels_in, maker
from policyd.tls.pem import KeyPair, certificates_in, validity
from policyd.tls.verifying import belong, refusal

KEYS = ("tls.crt", "tls.key", "ca.crt", "ca.key")


@dataclass(frozen=True, slots=True)
class Material:
    """Usable certificates: the ``leaf`` to serve, if there is one; the ``authority`` that signs,
    the first of the ``bundle``, if its key exists. ``problems`` lists the damage.
    """

    leaf: KeyPair | None = None
    authority: KeyPair | None = None
    bundle: tuple[bytes, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def bundle_pem(self) -> bytes:
        """The bundle in the form of a caBundle."""
        return b"".join(self.bundle)

    @property
    def whole(self) -> bool:
        """Whether no part is missing."""
        return self.leaf is not None and self.authority is not None


def read(secret: JSONObject) -> Material:
    """The content of a Secret; an empty one has no problems."""
    found, problems = _decoded(secret)
    if not any(found.values()):
        return Material(problems=tuple(problems))
    bundle = _bundle(found["ca.crt"], problems)
    authority = leaf = None
    if found["ca.crt"] or found["ca.key"]:
        authority = _authority(bundle, found["ca.key"], problems)
    if found["tls.crt"] or found["tls.key"]:
        leaf = _leaf(bundle, KeyPair(found["tls.crt"], found["tls.key"]), problems)
    return Material(leaf, authority, bundle, tuple(problems))


def secret(material: Material, namespace: str, name: str, former: JSONObject | None) -> JSONObject:
    """The Secret to write; it replaces ``former``, if there is one."""
    leaf, authority = material.leaf or KeyPair(b"", b""), material.authority or KeyPair(b"", b"")
    contents = (leaf.certificate, leaf.key, material.bundle_pem, authority.key)
    known = (former or {}).get("metadata") or {}
    kept = {key: known[key] for key in ("resourceVersion", "annotations") if key in known}
    labels = {**labels_in(former or {}), **LABELS}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace, **kept, "labels": labels},
        "type": (former or {}).get("type") or "kubernetes.io/tls",
        "data": {
            key: base64.b64encode(content).decode()
            for key, content in zip(KEYS, contents, strict=True)
        },
    }


def is_ours(secret: JSONObject) -> bool:
    """Whether policyd may write the Secret: it has the label, or is empty."""
    return maker(secret) == POLICYD or not any((secret.get("data") or {}).values())


def certificates(bundle: bytes) -> tuple[bytes, ...]:
    """The certificates of a bundle, each as normalized PEM; ValueError if one cannot be read."""
    found = []
    for der in certificates_in(bundle):
        pem = ssl.DER_cert_to_PEM_cert(der).encode()
        try:
            validity(pem)
        except IndexError:
            raise ValueError("a certificate in it cannot be read") from None
        found.append(pem)
    return tuple(dict.fromkeys(found))


def _decoded(secret: JSONObject) -> tuple[dict[str, bytes], list[str]]:
    data = secret.get("data") or {}
    found, problems = dict.fromkeys(KEYS, b""), []
    for key in KEYS:
        try:
            found[key] = base64.b64decode(str(data.get(key) or ""), validate=True)
        except binascii.Error:
            problems.append(f"{key}: not base64")
    return found, problems


def _bundle(pem: bytes, problems: list[str]) -> tuple[bytes, ...]:
    try:
        return certificates(pem)
    except ValueError as error:
        problems.append(f"ca.crt: {error}")
        return ()


def _authority(bundle: tuple[bytes, ...], key: bytes, problems: list[str]) -> KeyPair | None:
    if not bundle:
        return None
    authority = KeyPair(bundle[0], key)
    if not belong(authority):
        problems.append("ca.key: not the key of the first certificate in ca.crt")
        return None
    return authority


def _leaf(bundle: tuple[bytes, ...], leaf: KeyPair, problems: list[str]) -> KeyPair | None:
    if not belong(leaf):
        problems.append("tls.crt and tls.key: not a usable pair of certificate and key")
        return None
    why = refusal(b"".join(bundle), leaf, ())
    if why:
        problems.append(f"tls.crt: ca.crt does not verify it: {why}")
        return None
    return leaf
