"""Which compiled policies the next set may use again: those made of the same texts.

A reload mostly changes few of many policies, and what did not change is neither checked nor
compiled again while requests wait. Compiles nothing itself.
"""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256

from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.documents import Document
from policyd.policy.source.places import Chunk
from policyd.versions import KubernetesVersion


def made_of(document: Document, bindings: Iterable[Document], version: KubernetesVersion) -> bytes:
    """What a compiled policy depends on, as a hash: its file's name, its text, those of its
    bindings, the Kubernetes version. Their place in the file is no part of it: only problems tell
    places. Empty for a document with problems.
    """
    if document.model is None:
        return b""
    whole = sha256(f"{version}\0{document.file}".encode("utf-8", "surrogatepass"))
    for each in (document, *bindings):
        origin = each.origin
        whole.update(_hash(origin.chunk))
        # A text may hold several documents, and a List may give its items their kind.
        whole.update(f"{origin.root} {origin.within}\0{each.api_version} {each.kind}\0".encode())
    return whole.digest()


def reusable(former: CompiledPolicySet | None) -> dict[bytes, CompiledPolicy]:
    """The policies of the former set by what they were made of, less those in quarantine."""
    policies = former.policies if former is not None else ()
    return {policy.made_of: policy for policy in policies if policy.made_of}


@lru_cache(maxsize=8)
def _hash(chunk: Chunk) -> bytes:
    """Kept for a few texts: all items of a List have the same."""
    return sha256(chunk.text.encode("utf-8", "surrogatepass")).digest()
