"""The metadata of exported documents: labels, annotations, and the hash of the source."""

import hashlib
import json
from collections.abc import Iterable

from policyd.json_types import JSONObject
from policyd.ownership import LABELS
from policyd.versions import KubernetesVersion

POLICY = "policyd.dev/policy"
SOURCE_HASH = "policyd.dev/source-hash"
DESCRIPTION = "policyd.dev/description"

# Fields that a cluster or kubectl writes into objects: they are not part of the source.
_WRITTEN_BY_CLUSTER = (
    "uid", "selfLink", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields",
)  # fmt: skip
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def source_hash(sources: Iterable[JSONObject], version: KubernetesVersion) -> str:
    """Return the hash of a policy and its bindings, as in their source, for a target version: an
    unchanged source gives an unchanged export.
    """
    given = {"documents": [as_written(each) for each in sources], "version": str(version)}
    text = json.dumps(given, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def metadata(source: JSONObject, name: str, policy: str, digest: str) -> JSONObject:
    """Return the metadata of an exported document with its own name.

    ``source`` is the document that it is made of, with its labels and annotations, ``policy`` the
    name of the source policy, and ``digest`` its ``source_hash``.
    """
    given = as_written(source).get("metadata") or {}
    annotations = {**(given.get("annotations") or {}), POLICY: policy, SOURCE_HASH: digest}
    description = (source.get("spec") or {}).get("description")
    if source.get("kind") == "Policy" and description:
        annotations.setdefault(DESCRIPTION, description)
    return {
        **{key: value for key, value in given.items() if value is not None},
        "name": name,
        "labels": {**(given.get("labels") or {}), **LABELS},
        "annotations": annotations,
    }


def as_written(document: JSONObject) -> JSONObject:
    """Return a document without what only a cluster writes."""
    found = {key: value for key, value in document.items() if key != "status"}
    given = found.get("metadata")
    if isinstance(given, dict):
        kept = {key: value for key, value in given.items() if key not in _WRITTEN_BY_CLUSTER}
        if isinstance(kept.get("annotations"), dict):
            shown = kept["annotations"].items()
            kept["annotations"] = {key: value for key, value in shown if key != _LAST_APPLIED}
        found["metadata"] = kept
    return found
