"""Find compiled policies that the next set can reuse: those with unchanged sources.

Most reloads change few of many policies; the unchanged ones are neither checked nor compiled again
while requests wait. Compiles nothing.
"""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256

from policyd.policy.compile.compiled import CompiledPolicy
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.loaded_documents import Document
from policyd.policy.source.places import Chunk
from policyd.versions import KubernetesVersion


def made_of(document: Document, bindings: Iterable[Document], version: KubernetesVersion) -> bytes:
    """Return a hash of everything a compiled policy depends on: its file name, its text and those
    of its bindings, the Kubernetes version. Places in the file are not included: only problems
    have places. Empty for a document with problems.
    """
    if document.model is None:
        return b""
    whole = sha256(f"{version}\0{document.file}".encode("utf-8", "surrogatepass"))
    for each in (document, *bindings):
        origin = each.origin
        whole.update(_hash(origin.chunk))
        # A text may have several documents, and a List may set the kind of its items.
        whole.update(f"{origin.root} {origin.within}\0{each.api_version} {each.kind}\0".encode())
    return whole.digest()


def reusable(former: CompiledPolicySet | None) -> dict[bytes, CompiledPolicy]:
    """Return the policies of the former set by ``made_of``, without those in quarantine."""
    policies = former.policies if former is not None else ()
    return {policy.made_of: policy for policy in policies if policy.made_of}


@lru_cache(maxsize=8)
def _hash(chunk: Chunk) -> bytes:
    """Hash a chunk. Cached for a few chunks: all items of a List share one."""
    return sha256(chunk.text.encode("utf-8", "surrogatepass")).digest()
