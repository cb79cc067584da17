"""Where an imported policy comes from: its annotations, written and read. Converts nothing.

A policy of a cluster has the UID and resourceVersion of its source, and a digest of what was
converted: the resourceVersion also changes with every status that its engine writes.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from policyd.json_types import JSONObject, object_in
from policyd.policy.source.loaded_documents import Document

FROM = "policyd.dev/imported-from"
RULE = "policyd.dev/imported-rule"
_UID, _VERSION, _CONTENT = " uid=", " resourceVersion=", " content="
# Fields that say nothing about the meaning of a source: the API server, an engine or kubectl writes
# it.
_NOTED = ("apiVersion", "metadata", "status")
_KUBECTL = "kubectl.kubernetes.io/"
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Provenance:
    """The source of a policy. ``source`` is ``KIND/NAME`` or ``KIND/NAMESPACE/NAME``; the others
    are empty if it was read from a file.
    """

    source: str
    uid: str = ""
    version: str = ""
    content: str = ""

    def __str__(self) -> str:
        if not self.uid:
            return self.source
        return f"{self.source}{_UID}{self.uid}{_VERSION}{self.version}{_CONTENT}{self.content}"


def provenance(source: Document, merged: Iterable[Document] = ()) -> Provenance:
    """Return where the policies of a source come from; ``merged`` are the objects that became part
    of them, such as exceptions.
    """
    metadata = object_in(source.raw, "metadata")
    uid = str(metadata.get("uid") or "")
    if not uid:
        return Provenance(origin(source))
    contents = [_content(source), *sorted(map(_content, merged))]
    digest = hashlib.sha256("\n".join(contents).encode("utf-8", "surrogatepass")).hexdigest()
    version = str(metadata.get("resourceVersion") or "")
    return Provenance(origin(source), uid, version, digest[:_DIGITS])


def origin(source: Document) -> str:
    """Return ``KIND/NAME`` of a policy, or ``KIND/NAMESPACE/NAME``."""
    return "/".join(each for each in (source.kind, source.namespace, source.name) if each)


def annotated(metadata: JSONObject, source: Provenance, rule: str) -> JSONObject:
    """Return metadata that names the source, and the rule if the source has rules."""
    annotations = {**(metadata.get("annotations") or {}), FROM: str(source)}
    if rule:
        annotations[RULE] = rule
    return {**metadata, "annotations": annotations}


def provenance_of(policy: Document) -> tuple[Provenance, str]:
    """Return what a policy was imported from, and the rule; empty if it does not say so."""
    annotations = object_in(policy.raw, "metadata", "annotations")
    source, _, rest = str(annotations.get(FROM, "")).partition(_UID)
    uid, _, rest = rest.partition(_VERSION)
    version, _, content = rest.partition(_CONTENT)
    return Provenance(source, uid, version, content), str(annotations.get(RULE, ""))


def _content(document: Document) -> str:
    """Return what decides the meaning of a source, the same however it is read."""
    metadata = object_in(document.raw, "metadata")
    kept = {key: value for key, value in document.raw.items() if key not in _NOTED}
    labels, annotations = (object_in(metadata, each) for each in ("labels", "annotations"))
    own = {key: value for key, value in annotations.items() if not key.startswith(_KUBECTL)}
    return json.dumps([origin(document), kept, labels, own], sort_keys=True)
